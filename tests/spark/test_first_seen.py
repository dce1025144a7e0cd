"""When a query that begins would have seen the tuples of a stream."""

from __future__ import annotations

import pyarrow as pa

from panes.delta.delta import BEGINNING
from panes.history.query_clocks import QueryClocks
from panes.runtime.first_seen import FirstSeen

HISTORY = pa.table({"_ts": [1, 2, 3], "_came": [BEGINNING, 5, 9], "_epoch": [0, 1, 2]})


def test_what_comes_now_is_seen_after_the_clock():
    seen = FirstSeen(frozenset({1}), 8).with_came(pa.table({"_ts": [1, 20]}))
    assert seen.to_pydict() == {"_ts": [1, 20], "_came": [8, 8]}


def test_what_came_before_was_seen_when_it_came_and_not_after_the_clock():
    seen = FirstSeen(frozenset({1}), 8).with_came(HISTORY)
    assert seen.to_pydict() == {"_ts": [1, 2, 3], "_came": [BEGINNING, 5, 8]}


def test_a_query_over_several_streams_goes_by_its_own_clocks_where_they_are_known():
    clocks = QueryClocks({1: 3, 2: 7})
    seen = FirstSeen(frozenset({1, 2}), 8, clocks).with_came(HISTORY)
    assert seen.column("_came").to_pylist() == [BEGINNING, 5, 4]


def test_queries_over_the_same_streams_see_alike():
    streams = frozenset({1, 2})
    assert FirstSeen(streams, 8, QueryClocks({1: 3})) == FirstSeen(streams, 8, QueryClocks({1: 3}))
    assert FirstSeen(streams, 8) != FirstSeen(frozenset({1}), 8)
