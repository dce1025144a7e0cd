"""Whether the answer of a query can be computed again from what its streams keep."""

from __future__ import annotations

import pytest

from panes.history.history_file import HistoryFile
from panes.history.manifests import Manifest
from panes.history.why_not_rebuilt import why_not_rebuilt
from panes.plan.walk import streams_of
from tests.history.test_retention import CATALOG, SECOND

CLOCK = 100 * SECOND


def history(dropped_to: int | None) -> Manifest:
    """Fifty rows of the last fifty seconds, with or without others that were there before them."""
    files = (HistoryFile(None, "written", 50, 51 * SECOND, CLOCK, 1, 0, 0),)  # type: ignore[arg-type]  # never read
    return Manifest(files) if dropped_to is None else Manifest(files, 50, dropped_to * SECOND)


def reason(query: str, dropped_to: int | None = 50) -> str:
    plan = CATALOG.plan(query)
    streams = streams_of(plan)
    kept = dict.fromkeys(streams, history(dropped_to))
    found = why_not_rebuilt(plan, kept, dict.fromkeys(streams, 50 if dropped_to is None else 100), CLOCK)
    return "" if found is None else found.split(" that are")[0].split(" go by")[0]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k FROM s [RANGE 50 SECONDS]",
        "SELECT k, count(*) FROM s [RANGE 30 SECONDS SLIDE 10 SECONDS] GROUP BY k",
        "SELECT k FROM s [RANGE 20 SECONDS] EXCEPT SELECT k FROM s [RANGE 10 SECONDS]",
        "SELECT k FROM s [ROWS 50]",
        "SELECT x.k FROM Istream(SELECT k FROM s [RANGE 10 SECONDS]) [RANGE 20 SECONDS] AS x",
    ],
)
def test_what_windows_hold_now_is_enough_for_a_relation(query: str):
    assert reason(query) == ""
    assert reason(query, None) == ""


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k FROM s [RANGE 51 SECONDS]",
        "SELECT k, count(*) FROM s GROUP BY k",
        "SELECT k FROM s [ROWS 51]",
        "SELECT k FROM s [PARTITION BY k ROWS 2]",
        "SELECT k, count(*) FROM s [PARTITION BY k SESSION 5 SECONDS] GROUP BY k",
        "SELECT x.k FROM Istream(SELECT k FROM s [RANGE 40 SECONDS]) [RANGE 20 SECONDS] AS x",
    ],
)
def test_windows_that_reach_back_further_than_the_history_are_refused(query: str):
    assert reason(query) == "its windows reach back to tuples of 's'"
    assert reason(query, None) == ""


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k FROM s",
        "SELECT k FROM s [RANGE UNBOUNDED]",
        "SELECT Istream(k) FROM s [RANGE 10 SECONDS]",
        "Dstream(SELECT k FROM s [ROWS 2])",
        "SELECT k FROM s [RANGE 10 SECONDS INTERNAL]",
        "SELECT k FROM s [ROWS 10 SLIDE 3]",
        "SELECT k, count(*) FROM Istream(SELECT k FROM s [RANGE 10 SECONDS]) AS x GROUP BY k",
        "SELECT y.k FROM Istream(SELECT k, max(ts) FROM Istream(SELECT k, ts FROM s [NOW]) GROUP BY k) [NOW] AS y",
    ],
)
def test_answers_that_hold_something_of_every_tuple_need_all_of_them(query: str):
    assert reason(query) == "its answer holds what came of tuples of 's'"
    assert reason(query, None) == ""


@pytest.mark.parametrize(
    "query",
    [
        "SELECT Istream(s.k) FROM s [RANGE 10 SECONDS], t [RANGE 10 SECONDS] WHERE s.k = t.k",
        "SELECT s.k FROM s [ROWS 2], t [RANGE 10 SECONDS] WHERE s.k = t.k",
    ],
)
def test_the_order_in_which_tuples_came_is_known_for_one_stream_alone(query: str):
    assert reason(query, None) == "count windows, session windows and output streams"


def test_a_join_of_windows_in_time_is_rebuilt_over_several_streams():
    assert reason("SELECT s.k FROM s [RANGE 10 SECONDS], t [RANGE 10 SECONDS] WHERE s.k = t.k") == ""
