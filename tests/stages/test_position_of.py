"""Where a query stands before an epoch."""

from __future__ import annotations

from dataclasses import replace

from panes.plan.nodes import StreamScan, Window
from panes.plan.schema import Schema
from panes.plan.types import BIGINT
from panes.plan.windows import RangeWindow
from panes.stages.clock_rule import Position
from panes.stages.make_plan import make_plan
from panes.stages.position_of import position_of
from panes.stages.running_query import RunningQuery
from panes.state.storage.epoch_log import NOTHING, QueryProgress, StreamProgress

PLAN = make_plan(Window(StreamScan("s", "s", Schema.of([("s.k", BIGINT)])), RangeWindow(10)))
QUERY = RunningQuery(id=7, plan=PLAN, shards=2, first_epoch=0)
RAN = QueryProgress(2, 0, 0, 0, epoch=4, clock=50, spread=3, answer=QUERY.place_of(0))
BEFORE = replace(NOTHING, epoch=5, queries={7: RAN}, streams={1: StreamProgress(clock=40)})
STREAMS = frozenset({1})


def position(query: RunningQuery, before=BEFORE) -> Position:
    return position_of(query, STREAMS, before, frozenset({"hosts"}))


def test_a_query_goes_on_from_its_own_clock():
    assert position(QUERY) == Position(STREAMS, 50, 4, 3)


def test_a_query_that_begins_has_the_clock_of_its_streams():
    assert position(replace(QUERY, id=8, first_epoch=6)) == Position(STREAMS, 40, -1, begins=True)
    # One that was resumed may have run before.
    assert position(replace(QUERY, first_epoch=6)) == Position(STREAMS, 40, -1, begins=True)


def test_a_plan_that_replaces_another_begins_with_the_clock_of_the_query():
    successor = replace(QUERY, id=9, of=7, replaces=7, first_epoch=6)
    assert position(successor) == Position(STREAMS, 50, -1, begins=True)


def test_a_plan_that_has_taken_over_goes_on_from_where_it_is():
    successor = replace(QUERY, id=9, of=7)
    progress = replace(RAN, clock=60, answer=successor.place_of(0))
    # In the record of its first epoch it stands beside the one that it replaced, later in its place.
    for queries in ({7: RAN, 9: progress}, {7: progress}):
        assert position(successor, replace(BEFORE, queries=queries)) == Position(STREAMS, 60, 4, 3)
