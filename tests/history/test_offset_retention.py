"""What streams keep for windows with an offset."""

from __future__ import annotations

from panes.history.completeness import oldest_needed
from panes.history.retention import Retained, needed
from panes.plan.nodes import StreamScan, Window
from panes.plan.schema import Schema
from panes.plan.types import BIGINT
from panes.plan.windows import RangeWindow, RowsWindow

SCAN = StreamScan("s", "s", Schema.of([("s.k", BIGINT)]))


def test_the_range_and_the_offset_are_kept():
    assert needed(Window(SCAN, RangeWindow(10, None, 60)), "s") == Retained(70)
    assert needed(Window(SCAN, RangeWindow(10, 5, 60)), "s") == Retained(75)


def test_a_window_an_hour_ago_reaches_back_that_far():
    assert oldest_needed(Window(SCAN, RangeWindow(10, None, 60)), "s", 100) == 31


def test_any_row_may_be_among_the_youngest_of_a_window_that_slides_in_time():
    assert needed(Window(SCAN, RowsWindow(10, slide_us=60)), "s").us is None
