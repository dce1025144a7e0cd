"""Indexes and plans reach tasks by Spark broadcasts, which are kept, replaced and let go of with their queries."""

from __future__ import annotations

import gc
import os
import sys
import weakref
from collections import OrderedDict

import pyarrow as pa

import panes
from panes.plan.nodes import StreamScan, Window
from panes.plan.schema import Schema
from panes.plan.windows import NowWindow
from panes.runtime.task_plans import StageTask, TaskPlans
from panes.sharing.query_index import QueryIndex, SliceKey
from panes.sharing.shared_indexes import Indexed, Members, SharedSlice, Slices
from panes.spark import sent as module
from panes.spark.broadcasts import Broadcasts
from panes.spark.sent import Sent
from panes.stages.make_plan import make_plan
from panes.stages.running_query import RunningQuery

STREAM = "CREATE STREAM r (ts BIGINT, a BIGINT) TIMESTAMP BY ts SECONDS"


class Variable:
    """A broadcast that remembers whether it was destroyed."""

    def __init__(self, value) -> None:
        self.value = value
        self.is_destroyed = False

    def destroy(self) -> None:
        self.is_destroyed = True


class Context:
    """A Spark context that only broadcasts."""

    def __init__(self) -> None:
        self._jsc = object()
        self.sent: list[Variable] = []

    def broadcast(self, value) -> Variable:
        self.sent.append(Variable(value))
        return self.sent[-1]

    @property
    def alive(self) -> list[Variable]:
        return [sent for sent in self.sent if not sent.is_destroyed]


PLAN = make_plan(Window(StreamScan("s", "s", Schema(())), NowWindow()))


KEY = SliceKey(1, 0)


def indexed(source: str = "s") -> Indexed:
    """The index of a stream, another one each time."""
    return Indexed(QueryIndex(source, {}))


def group(everyone: Indexed, fresh: Indexed | None = None, number: int = -1) -> RunningQuery:
    some = None if fresh is None else slices(fresh)
    return RunningQuery(number, PLAN, 1, 0, Members(slices(everyone), some))


def slices(index: Indexed) -> Slices:
    return (SharedSlice(index, KEY),)


def test_a_set_of_queries_is_broadcast_once_for_all_its_epochs() -> None:
    context, broadcasts, everyone = Context(), Broadcasts(), indexed()
    first = broadcasts.shipped(context, [group(everyone)])
    second = broadcasts.shipped(context, [group(everyone)])
    assert first == second
    assert [query.members.all[0].index.broadcast for query in first] == context.sent
    assert len(context.sent) == 1


def test_queries_on_their_own_are_left_as_they_are() -> None:
    context = Context()
    alone = RunningQuery(1, PLAN, 1, 0)
    assert Broadcasts().shipped(context, [alone]) == [alone]
    assert context.sent == []


def test_all_and_fresh_queries_that_are_the_same_share_a_broadcast() -> None:
    context, everyone = Context(), indexed()
    (shipped,) = Broadcasts().shipped(context, [group(everyone, everyone)])
    assert shipped.members.all == shipped.members.fresh
    assert len(context.sent) == 1


def test_the_groups_of_a_stream_share_its_broadcast() -> None:
    context, everyone, other = Context(), indexed("s"), indexed("t")
    plans = [group(everyone, number=number) for number in range(-100, 0)]
    shipped = Broadcasts().shipped(context, [*plans, group(other, everyone, number=1)])
    assert len(context.sent) == 2
    assert len({query.members.all[0].index for query in shipped}) == 2


def test_a_worker_remembers_the_new_queries_of_a_stream_beside_all() -> None:
    (shipped,) = Broadcasts().shipped(Context(), [group(indexed(), indexed())])
    names = [some[0].index.name[1] for some in (shipped.members.all, shipped.members.fresh)]
    assert names == ["queries of s", "new queries of s"]


def test_a_broadcast_is_destroyed_when_its_queries_change_or_their_group_goes() -> None:
    context, broadcasts, other = Context(), Broadcasts(), indexed("t")
    for _ in range(100):
        broadcasts.shipped(context, [group(indexed(), indexed()), group(other, number=-2)])
        assert len(context.alive) == 3
    broadcasts.shipped(context, [group(other, number=-2)])
    assert len(context.alive) == 1
    broadcasts.close()
    assert context.alive == []


def test_another_context_gets_broadcasts_of_its_own_and_the_old_ones_are_left_alone() -> None:
    old, new, broadcasts, everyone = Context(), Context(), Broadcasts(), indexed()
    broadcasts.shipped(old, [group(everyone)])
    old._jsc = None  # it was stopped
    (shipped,) = broadcasts.shipped(new, [group(everyone)])
    assert [shipped.members.all[0].index.broadcast] == new.sent
    # Its number may be that of a broadcast in the new context.
    assert len(old.alive) == 1
    new._jsc = None
    broadcasts.close()
    assert len(new.alive) == 1


def plans_of(*queries: RunningQuery) -> TaskPlans:
    return TaskPlans(tuple(StageTask(query, 0, (), (), None) for query in queries), (), ())


def test_plans_are_broadcast_when_the_queries_change_and_those_not_used_lately_go() -> None:
    context, broadcasts = Context(), Broadcasts()
    one, two = (RunningQuery(number, PLAN, 1, 0) for number in (1, 2))
    first = broadcasts.plans(context, plans_of(one))
    assert broadcasts.plans(context, plans_of(one)) is first
    assert first.value == plans_of(one)
    second = broadcasts.plans(context, plans_of(one, two))
    assert second.number == first.number + 1
    assert second.name != first.name, "workers remember both"
    assert broadcasts.plans(context, plans_of(one)) is first, "queries that wake do not cost one each time"
    third = broadcasts.plans(context, plans_of(two))
    assert context.alive == [first.broadcast, second.broadcast, third.broadcast]
    fourth = broadcasts.plans(context, plans_of())
    assert context.alive == [first.broadcast, third.broadcast, fourth.broadcast]
    broadcasts.close()
    assert context.alive == []


def test_indexes_that_change_leave_the_plans_where_they_are() -> None:
    context, broadcasts = Context(), Broadcasts()
    sent = broadcasts.plans(context, plans_of())
    for _ in range(10):
        broadcasts.shipped(context, [group(indexed())])
        assert broadcasts.plans(context, plans_of()) is sent
    assert len(context.alive) == 2


def broadcast_files(spark) -> list[str]:
    return sorted(os.listdir(spark.sparkContext._temp_dir))


def test_a_hundred_changes_of_a_group_leave_one_file_and_a_closed_database_none(spark) -> None:
    context, broadcasts = spark.sparkContext, Broadcasts()
    before = broadcast_files(spark)
    for _ in range(100):
        broadcasts.shipped(context, [group(indexed())])
    assert len(broadcast_files(spark)) == len(before) + 1
    broadcasts.close()
    assert broadcast_files(spark) == before


def test_a_worker_reads_a_broadcast_once_though_it_runs_other_tasks_in_between(spark) -> None:
    broadcasts, everyone = Broadcasts(), indexed()

    def look(indexes: Sent | None) -> set[int]:
        """Gives how often each worker has read the broadcast so far."""

        def read(_batches):
            reads = sys.__dict__.setdefault("reads_of_the_broadcast", [0])
            if indexes is not None:
                was_read = indexes.name in module._read
                assert indexes.value.queries == 0
                reads[0] += not was_read
            yield pa.RecordBatch.from_pydict({"reads": [reads[0]]})

        rows = spark.range(0, 2, 1, 2).mapInArrow(read, "reads long").collect()
        return {row["reads"] for row in rows}

    for _ in range(3):
        (shipped,) = broadcasts.shipped(spark.sparkContext, [group(everyone)])
        assert look(shipped.members.all[0].index) == {1}
        look(None)
    broadcasts.close()


def test_a_worker_keeps_the_last_indexes_of_a_group_alone(monkeypatch) -> None:
    monkeypatch.setattr(module, "_read", OrderedDict())
    monkeypatch.setattr(module, "_set_apart", lambda: None)
    for number in range(100):
        assert Sent(("db", "1"), number, Variable([number])).value == [number]
        assert Sent(("db", "1"), number, Variable(["not read"])).value == [number]
    assert list(module._read.values()) == [(99, [99])]
    for number in range(1000):
        assert Sent(("db", str(number)), 0, Variable([number])).value == [number]
    assert len(module._read) == module._IN_MEMORY


class Cycle:
    """What only the search for garbage finds."""

    def __init__(self) -> None:
        self.itself = self


def test_what_a_worker_has_read_is_left_out_of_its_search_for_garbage(monkeypatch) -> None:
    monkeypatch.setattr(module, "_read", OrderedDict())
    monkeypatch.setattr(module, "_READ_BETWEEN_LOOKS", 2)
    monkeypatch.setattr(module, "_reads", 0)
    try:
        read = Sent(("db", "1"), 0, Variable([Cycle()])).value
        assert gc.get_freeze_count() > 0
        assert not [found for found in gc.get_objects() if found is read]
        lost = weakref.ref(read.pop())
        gc.collect()
        assert lost() is not None
        assert Sent(("db", "1"), 1, Variable([1])).value == [1]
        assert lost() is None, "every now and then it looks at everything"
    finally:
        gc.unfreeze()


def test_indexes_of_shared_queries_are_nowhere_in_the_database(spark, tmp_path) -> None:
    before = broadcast_files(spark)
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.sql(f"SET share_from = 1; {STREAM}")
        queries = [
            db.register(f"SELECT ts, a FROM r [RANGE 10 SECONDS] WHERE a >= {least}") for least in range(3)
        ]
        db.push("r", [{"ts": ts, "a": ts} for ts in range(4)])
        db.run()
        queries.append(db.register("SELECT ts, a FROM r [RANGE 10 SECONDS] WHERE a >= 3"))
        queries[0].drop()
        db.push("r", [{"ts": 4, "a": 4}])
        db.run()
        answers = [sorted(row["a"] for row in query.invoke().to_pylist()) for query in queries[1:]]
        assert answers == [[1, 2, 3, 4], [2, 3, 4], [3, 4]]
        assert not (db.path / "indexes").exists()
        assert not [p for p in db.path.rglob("*") if p.is_file() and b"QueryIndex" in p.read_bytes()]
    assert broadcast_files(spark) == before
