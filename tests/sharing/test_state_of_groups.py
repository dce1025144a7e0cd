"""What is kept for the queries of a group is what they need, however many there were before."""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa
import pytest

from panes.delta.delta import BEGINNING, TS
from panes.history.retention import Retained
from panes.language import bind, parse
from panes.language import statements as st
from panes.optimizer.optimizer import optimize
from panes.plan.nodes import Node
from panes.sharing.begin_end_store import BeginEndStore
from panes.sharing.group import Group
from panes.sharing.index_slice import IndexSlice
from panes.sharing.query_index import SliceKey
from panes.sharing.selection_store import SelectionStore
from panes.sharing.store import Arrivals
from panes.sharing.stream_indexes import StreamIndexes
from panes.sharing.template import templates_of
from panes.stages.fragment_run import FragmentRun
from panes.stages.make_plan import make_plan

STREAM = "CREATE STREAM s (k BIGINT, v BIGINT)"
EPOCHS, SPAN, STAYS = 1000, 10, 3
"""Every epoch a query comes, and goes after some epochs."""


class Shelf:
    """A catalog of one stream."""

    def __init__(self) -> None:
        (self._stream,) = parse(STREAM)

    def stream(self, name: str) -> st.CreateStream | None:
        assert isinstance(self._stream, st.CreateStream)
        return self._stream if name == "s" else None

    def table(self, _name: str) -> None:
        return None

    def names(self) -> list[str]:
        return ["s"]

    def is_query(self, _name: str) -> bool:
        return False


SHELF = Shelf()


@lru_cache
def plan_of(sql: str) -> Node:
    (query,) = parse(sql)
    assert isinstance(query, st.SelectQuery)
    return optimize(bind(query, SHELF))


def snapshot(epoch: int) -> str:
    """A BEGIN … END aggregate of the span before an epoch, whatever the time is; other aggregates from time to
    time."""
    begin, end = (f"TIMESTAMP '1970-01-01 00:00:00.{SPAN * (epoch + n):06}'" for n in (0, 1))
    shown = ("count(*) AS n", "sum(v) AS n", "max(v) AS n")[epoch % 3]
    return f"SELECT k, {shown} FROM s BEGIN ({begin}) END ({end}) GROUP BY k"


def selection(epoch: int) -> str:
    return f"SELECT k, v FROM s [RANGE {20 + epoch % 7} MICROSECONDS] WHERE v = {epoch % 7}"


@pytest.mark.parametrize("kind", ["snapshots", "selections"])
def test_state_does_not_grow_from_queries_that_were_dropped(kind: str):
    sql = snapshot if kind == "snapshots" else selection
    first = plan_of(sql(0))
    (template,) = templates_of(first)
    group = Group.of(first, template.key)
    (stage,) = make_plan(template.plan).stages
    (source,) = stage.inputs
    chunks: dict[str, list] = {}
    sizes = []
    plans: dict[int, Node] = {}
    indexes = StreamIndexes()
    for epoch in range(EPOCHS):
        since, clock = (SPAN * epoch if epoch else BEGINNING), SPAN * (epoch + 1)
        plans[epoch] = plan_of(sql(epoch))
        plans.pop(epoch - STAYS, None)
        group.update(plans)
        everyone = tuple(indexes.update(_keyed(group.slices)).values())
        fresh = tuple(indexes.some(_keyed(group.fresh_slices({epoch}))).values())
        members = group.members(everyone, fresh, {"s": Retained()})
        rows = pa.table({"k": [1, 2], "v": [epoch % 50, epoch % 7], TS: [clock - 1, clock]})
        computed, _ = FragmentRun(rows).input(source, since)
        store = (
            BeginEndStore(template.plan.schema.names, template.plan.keys, chunks)
            if kind == "snapshots"
            else SelectionStore(chunks)
        )
        store.advance(Arrivals({source.name: computed}, members, since, clock, is_first=epoch == 0))
        chunks = store.chunks
        kept = sum(chunk.table.nbytes for some in chunks.values() for chunk in some)
        sizes.append((kept, sum(len(one.all.spans) for one in members.kept)))
        assert sum(map(len, chunks.values())) <= 16
    for size, before in zip(_most(sizes[EPOCHS // 2 :]), _most(sizes[: EPOCHS // 2]), strict=True):
        assert size <= 1.1 * before
    assert (len(group.queries), len(group.measures)) == (STAYS, STAYS)
    assert store.rows < 20 * STAYS, "and small"


def _keyed(slices: list[IndexSlice]) -> dict[SliceKey, IndexSlice]:
    return {SliceKey(0, number): mine for number, mine in enumerate(slices)}


def _most(sizes: list[tuple[int, int]]) -> list[int]:
    """The greatest value of each."""
    return [max(values) for values in zip(*sizes, strict=True)]
