"""Whether the windows of a query hold all that they should."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.delta.delta import BEGINNING, FOREVER
from panes.history.completeness import complete_from, missing_in_store, oldest_needed
from panes.history.history_file import HistoryFile
from panes.history.manifests import Manifest
from panes.history.retention import Retained
from panes.plan.nodes import StreamScan, Window
from panes.plan.schema import Schema
from panes.plan.types import BIGINT
from panes.plan.windows import WindowSpec
from panes.state.storage.epoch_log import MissingRows
from tests.history.test_retention import CATALOG, SECOND
from tests.plan.test_windows import timed

SCAN = StreamScan("s", "s", Schema.of([("s.k", BIGINT)]))
TIMES = np.arange(-60, 61)


@given(spec=timed, now=st.integers(-20, 20))
def test_the_oldest_row_that_is_needed_is_the_oldest_in_the_window(spec: WindowSpec, now: int):
    enters, leaves = spec.lifetime(TIMES, TIMES)
    held = TIMES[(enters <= now) & (now < leaves)]
    oldest = oldest_needed(Window(SCAN, spec), "s", now)
    assert max(oldest, -60) <= held.min(initial=60)
    if len(held) and held.min() > -60:
        assert oldest == held.min()


@pytest.mark.parametrize(
    ("query", "seconds"),
    [
        ("SELECT k FROM s [RANGE 5 SECONDS]", 95),
        ("SELECT k FROM s [RANGE 5 SECONDS SLIDE 30 SECONDS]", 86),  # after 85 s
        (
            "SELECT k FROM counts [RANGE 5 SECONDS]",
            31,
        ),  # just before 95 s: the minute up to the slide at 90 s
    ],
)
def test_windows_reach_back_from_the_last_slide_and_through_each_other(query: str, seconds: int):
    oldest = oldest_needed(CATALOG.plan(query), "s", 100 * SECOND - 1)
    assert -(-oldest // SECOND) == seconds


@pytest.mark.parametrize(
    ("query", "oldest"),
    [
        ("SELECT k FROM s", BEGINNING),
        ("SELECT k FROM s [RANGE UNBOUNDED]", BEGINNING),
        ("SELECT k FROM s [PARTITION BY k ROWS 3]", BEGINNING),
        ("SELECT k FROM few [ROWS 3]", BEGINNING),
        ("SELECT k FROM s [ROWS 3]", FOREVER),
        ("SELECT k FROM t [RANGE 5 SECONDS]", FOREVER),
        ("SELECT k FROM s BEGIN ('1970-01-01 00:00:07') END (NOW)", 7 * SECOND),
    ],
)
def test_the_oldest_row_that_a_query_needs(query: str, oldest: int):
    assert oldest_needed(CATALOG.plan(query), "s", 100 * SECOND) == oldest


def since(query: str, gap: MissingRows, now: int, brought: int = 0) -> int | None:
    return complete_from(CATALOG.plan(query), {"s": gap}, now * SECOND, {"s": brought})


def test_an_answer_is_complete_when_the_window_has_moved_past_what_is_missing():
    #  10 s               missing up to here
    #      ...     15 s   the window of five seconds has left it behind
    gap = MissingRows(10 * SECOND, 0, 0)
    assert since("SELECT k FROM s [RANGE 5 SECONDS]", gap, 14) == 10 * SECOND + 1
    assert since("SELECT k FROM s [RANGE 5 SECONDS]", gap, 15) is None


def test_a_query_without_a_window_is_never_complete_again():
    assert since("SELECT count(*) FROM s", MissingRows(10 * SECOND, 0, 0), 10**6) == 10 * SECOND + 1


def test_a_count_window_is_complete_when_so_many_rows_have_come():
    gap = MissingRows(10 * SECOND, rows=2, brought=50)
    assert since("SELECT k FROM s [ROWS 5]", gap, 90, brought=52) == 10 * SECOND + 1
    assert since("SELECT k FROM s [ROWS 5]", gap, 90, brought=53) is None


def kept(*bounds: tuple[int, int], dropped_to: int | None = None) -> Manifest:
    files = tuple(HistoryFile("f", "written", 1, low, high, 0, low, low) for low, high in bounds)  # type: ignore[arg-type]
    return Manifest(files) if dropped_to is None else Manifest(files, 1, dropped_to)


@pytest.mark.parametrize(
    ("wanted", "guaranteed", "history", "to"),
    [
        pytest.param(Retained(10), {(Retained(20), 0)}, kept((0, 99)), 80, id="kept for a longer window"),
        pytest.param(Retained(30), {(Retained(20), 95)}, kept((0, 99)), 94, id="kept since lately"),
        pytest.param(Retained(30), {(Retained(20), 0)}, kept((81, 99)), None, id="nothing came before"),
        pytest.param(Retained(30), {(Retained(20), 0)}, kept((81, 99), dropped_to=70), 70, id="the history knows"),
        pytest.param(
            Retained(spans=((40, FOREVER),)), {(Retained(spans=((30, FOREVER),)), 0)}, kept((0, 99)), None,
            id="landmark",
        ),
        pytest.param(
            Retained(spans=((40, 50),)), {(Retained(5), 0), (Retained(spans=((30, 60),)), 0)}, kept((0, 99)), None,
            id="snapshot",
        ),
        pytest.param(
            Retained(spans=((40, 70),)), {(Retained(5), 0), (Retained(spans=((30, 60),)), 0)}, kept((0, 99)), 95,
            id="longer snapshot",
        ),
    ],
)  # fmt: skip
def test_what_a_selection_lacks_that_joins_others(
    wanted: Retained, guaranteed: set[tuple[Retained, int]], history: Manifest, to: int | None
):
    found = missing_in_store(wanted, guaranteed, history, 100, 7)
    assert found == (None if to is None else MissingRows(to, 0, 7))
