"""When answers change, and when they are known."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from panes.answers.instants import instant_of, last_slide, whole_from
from panes.errors import PanesError
from panes.plan.nodes import Dstream, Istream, Join, Rstream, StreamScan, TableScan, Union, Window
from panes.plan.schema import Schema
from panes.plan.types import BIGINT
from panes.plan.windows import RangeWindow

SCAN = StreamScan("s", "s", Schema.of([("s.a", BIGINT)]))
PLAIN, BY_THREE, BY_FIVE = (Window(SCAN, RangeWindow(20, slide)) for slide in (None, 3, 5))


def test_the_last_slide_is_that_of_any_window():
    assert last_slide(PLAIN, 17) == 17
    assert last_slide(BY_FIVE, 17) == 15
    assert last_slide(Union(BY_THREE, BY_FIVE), 18) == 18
    assert last_slide(Union(BY_THREE, PLAIN), 17) == 17
    assert last_slide(BY_FIVE, -3) == -5


def test_a_relation_changes_answers_between_slides_and_a_lookup_does_not():
    relation = TableScan("r", "r", Schema.of([("r.a", BIGINT)]), retroactive=True)
    assert last_slide(Join(BY_FIVE, relation, ("s.a",), ("r.a",)), 17) == 17
    timed = Window(
        StreamScan("s", "s", Schema.of([("s.a", BIGINT), ("s._time", BIGINT)])), RangeWindow(20, 5)
    )
    table = TableScan("n", "n", Schema.of([("n.a", BIGINT)]), retroactive=False, stream="s")
    assert last_slide(Join(timed, table, ("s.a",), ("n.a",), time="s._time"), 17) == 15


@pytest.mark.parametrize("output", [Istream, Dstream, Rstream])
def test_windows_and_relations_of_a_derived_stream_are_seen_at_the_slides_of_the_window_over_it(output):
    relation = TableScan("r", "r", Schema.of([("r.a", BIGINT)]), retroactive=True)
    for inner in (PLAIN, BY_THREE, Join(PLAIN, relation, ("s.a",), ("r.a",))):
        over = Window(output(inner), RangeWindow(20, 5))
        assert last_slide(over, 18) == 15
        assert last_slide(Union(over, Window(output(inner), RangeWindow(20))), 18) == 18
    assert last_slide(output(BY_FIVE), 18) == 15


def test_windows_are_whole_when_the_last_of_them_has_moved_on():
    assert whole_from(PLAIN, 17) == 18
    assert whole_from(BY_FIVE, 17) == 20
    assert whole_from(BY_FIVE, 15) == 20
    assert whole_from(Union(BY_THREE, BY_FIVE), 17) == 20
    assert whole_from(Union(BY_THREE, PLAIN), 17) == 18


def test_moments_are_read_in_utc_unless_they_say_otherwise():
    east = timezone(timedelta(hours=1))
    expected = 3_600_000_001
    assert instant_of("1970-01-01T01:00:00.000001") == expected
    assert instant_of("1970-01-01T02:00:00.000001+01:00") == expected
    assert instant_of(datetime(1970, 1, 1, 1, 0, 0, 1)) == expected
    assert instant_of(datetime(1970, 1, 1, 2, 0, 0, 1, east)) == expected
    assert instant_of(datetime(1970, 1, 1, 1, 0, 0, 1, UTC)) == expected
    with pytest.raises(PanesError, match="'soon' is no instant"):
        instant_of("soon")
