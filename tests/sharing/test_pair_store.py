"""What a join is answered from the store is what SQL gives over its windows, for queries that come and go."""

from __future__ import annotations

import os
from collections.abc import Sequence
from random import Random

import pyarrow as pa

from panes.delta.consolidate import AT
from panes.delta.delta import BEGINNING, TS, WEIGHT
from panes.history.retention import Retained
from panes.plan.expressions import Literal
from panes.plan.nodes import Join, Node, Project, Select, StreamScan, Window
from panes.plan.schema import Field, Schema
from panes.plan.types import DOUBLE
from panes.plan.windows import RangeWindow, WindowSpec
from panes.testing import Oracle, counted, same_rows
from tests.properties.running import connection
from tests.properties.streams import COLUMNS, Arrivals
from tests.sharing.drawn import drawn
from tests.sharing.drawn_joins import SHORT, Joined, call, column
from tests.sharing.shared_pairs import Member, SharedPairs, reading_of

CASES = int(os.environ.get("PANES_JOIN_CASES", "20"))
"""Sets of queries that are drawn."""
LONG = (RangeWindow(20), RangeWindow(30))


@drawn(CASES)
def test_joins_are_answered_as_sql_does_while_queries_come_and_go(random: Random) -> None:
    run(random)


def run(random: Random, *, is_growing: bool = False) -> None:
    """Epochs of tuples, some of which come late or early; joins that come and go; shards that are cut anew. Where
    it grows, the first joins have short windows, and longer ones come when tuples have left those."""
    arrivals = Arrivals.drawn(random, 40, 5)
    if random.random() < 0.6:
        arrivals = arrivals.out_of_order(random)
    joined = Joined.drawn(random)
    retain = Retained(random.choice((None, None, 1000, 1000)))
    join = reading_of(joined.query(random)).join
    store = SharedPairs(join, random.choice((1, 1, 3)) if join.left_keys else 1, retain)
    oracle = Oracle(arrivals.streams, connection())
    for number, (came, since, clock) in enumerate(arrivals.spans()):
        windows = (SHORT if number < 2 else LONG) if is_growing else None
        new = drawn_members(random, joined, number, windows)
        for query in random.sample(list(store.members), min(len(store.members), random.choice((0, 0, 1, 2)))):
            del store.members[query]
        store.run(came, since, new)
        if random.random() < 0.3:
            store.restart()
        if join.left_keys and random.random() < 0.3:
            store.spread(random.choice((1, 2, 4)))
        for query in random.sample(list(store.members), min(2, len(store.members))):
            check(random, store, oracle, query, since, clock)


def drawn_members(
    random: Random, joined: Joined, epoch: int, windows: Sequence[WindowSpec] | None
) -> dict[int, Member]:
    plans = [joined.query(random, windows) for _ in range(random.randint(0 if epoch else 1, 3))]
    return {100 * epoch + n: Member.of(plan) for n, plan in enumerate(plans)}


def check(random: Random, store: SharedPairs, oracle: Oracle, query: int, since: int, clock: int) -> None:
    member = store.members[query]
    difference = same_rows(store.answer(query, clock), oracle.answer_at(member.plan, clock))
    assert difference is None, f"{member.plan} at {clock}: {difference}"
    begin = max(since, clock - 25)
    changes = store.changes(query, begin, clock)
    contents = counted(oracle.answer_at(member.plan, begin))
    at = changes.column(AT).to_numpy()
    instants = {random.randint(begin + 1, clock), clock}
    for now in range(begin + 1, clock + 1):
        mine = changes.filter(pa.array(at == now))
        for weight in (1, -1):
            part = mine.filter(pa.array(mine.column(WEIGHT).to_numpy() == weight)).drop_columns([AT, WEIGHT])
            contents.update({row: weight * count for row, count in counted(part).items()})
        if now in instants:
            assert +contents == counted(oracle.answer_at(member.plan, now)), f"{member.plan} at {now}"


def pushed(*rows: tuple[int, int, float]) -> pa.Table:
    """Tuples of a time, a key and a value."""
    ts, k, v = zip(*rows, strict=True) if rows else ((), (), ())
    columns = {"k": pa.array(k, pa.int64()), "v": pa.array(v, pa.float64())}
    return pa.table({**columns, "w": pa.array([None] * len(ts), pa.string()), TS: pa.array(ts, pa.int64())})


def plain_join(left: WindowSpec, right: WindowSpec, most: float | None = None) -> Member:
    """The left values of pairs with equal keys, those up to `most`."""
    sides = [
        StreamScan(stream, name, Schema(tuple(Field(f"{name}.{f.name}", f.type) for f in COLUMNS)))
        for stream, name in (("s", "a"), ("t", "b"))
    ]
    plan: Node = Join(Window(sides[0], left), Window(sides[1], right), ("a.k",), ("b.k",))
    if most is not None:
        plan = Select(plan, call("le", column("a", "v"), Literal(DOUBLE, most)))
    return Member.of(Project(plan, (("v", column("a", "v")),)))


def values(store: SharedPairs, query: int, now: int) -> list[float]:
    return sorted(store.answer(query, now).column("v").to_pylist())


def test_one_join_answers_windows_of_different_lengths() -> None:
    #  0    10   20   30   40
    #  s----|    |    |         s at 10, t at 22: apart by 12
    #            t    |
    store = SharedPairs(plain_join(RangeWindow(5), RangeWindow(5)).reading.join, 1, Retained())
    members = {
        1: plain_join(RangeWindow(10), RangeWindow(10)),
        2: plain_join(RangeWindow(30), RangeWindow(10)),
        3: plain_join(RangeWindow(10), RangeWindow(30)),
        4: plain_join(RangeWindow(20, 5), RangeWindow(20, 5)),
    }
    store.run({"s": pushed((10, 1, 7.0)), "t": pushed((22, 1, 0.0))}, BEGINNING, members)
    assert store.stores[0].rows == 1
    held = {query: [now for now in range(20, 50) if values(store, query, now)] for query in members}
    assert held == {1: [], 2: list(range(22, 32)), 3: [], 4: list(range(25, 30))}


def test_a_pair_that_is_for_nobody_is_not_kept_and_is_found_when_somebody_asks_for_it() -> None:
    members = {1: plain_join(RangeWindow(50), RangeWindow(50), most=1.0)}
    store = SharedPairs(members[1].reading.join, 1, Retained())
    rows = {"s": pushed((1, 1, 0.5), (2, 1, 7.0)), "t": pushed((3, 1, 0.0))}
    store.run(rows, BEGINNING, members)
    assert store.stores[0].rows == 1
    nothing = {"s": pushed(), "t": pushed()}
    store.run(nothing, 10, {2: plain_join(RangeWindow(50), RangeWindow(50))})
    assert values(store, 2, 12) == [0.5, 7.0]
    assert store.stores[0].rows == 2, "the pair that was there is not kept twice"
    assert values(store, 1, 12) == [0.5]


def test_a_longer_window_finds_the_tuples_that_the_streams_keep() -> None:
    store = SharedPairs(plain_join(RangeWindow(5), RangeWindow(5)).reading.join, 1, Retained(1000))
    nothing = {"s": pushed(), "t": pushed()}
    store.run(
        {"s": pushed((1, 1, 0.5)), "t": pushed((2, 1, 0.0))},
        BEGINNING,
        {1: plain_join(RangeWindow(5), RangeWindow(5))},
    )
    for since in (10, 20, 30):
        store.run(nothing, since, {})
    assert store.stores[0].rows == 0
    store.run(
        {"s": pushed((45, 1, 0.25)), "t": pushed()}, 40, {2: plain_join(RangeWindow(100), RangeWindow(100))}
    )
    assert values(store, 2, 45) == [0.25, 0.5]
    assert values(store, 1, 45) == []


def test_nothing_grows_while_queries_and_tuples_come_and_go() -> None:
    join = plain_join(RangeWindow(5), RangeWindow(5)).reading.join
    store = SharedPairs(join, 1, Retained())
    sizes = []
    for epoch in range(60):
        since = 10 * epoch if epoch else BEGINNING
        rows = {"s": pushed((10 * epoch + 3, 1, 0.5)), "t": pushed((10 * epoch + 4, 1, 0.0))}
        store.run(rows, since, {epoch: plain_join(RangeWindow(20), RangeWindow(20))})
        store.members.pop(epoch - 2, None)
        sizes.append(sum(chunk.rows for chunks in store.stores[0].chunks.values() for chunk in chunks))
        assert len(values(store, epoch, 10 * epoch + 9)) == min(epoch + 1, 2) ** 2
    assert max(sizes[30:]) <= max(sizes[5:30])


def test_a_new_query_finds_a_pair_once_after_shards_were_cut_anew() -> None:
    join = plain_join(RangeWindow(5), RangeWindow(5)).reading.join
    store = SharedPairs(join, 3, Retained())
    rows = {"s": pushed(*((1, k, k / 2) for k in range(9))), "t": pushed(*((2, k, 0.0) for k in range(9)))}
    store.run(rows, BEGINNING, {1: plain_join(RangeWindow(50), RangeWindow(50))})
    for shards in (2, 5, 1, 4):
        store.spread(shards)
        store.run(
            {"s": pushed(), "t": pushed()}, 10, {1 + shards: plain_join(RangeWindow(50), RangeWindow(50))}
        )
        assert values(store, 1 + shards, 12) == [k / 2 for k in range(9)]
        assert sum(part.rows for part in store.stores) == 9
