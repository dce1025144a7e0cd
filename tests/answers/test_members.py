"""Queries that share a plan: each reads its own rows, and one without rows has what SQL says of nothing."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from panes.answers.answer_from_segments import AnswerFromSegments
from panes.answers.answer_source import AnswerSource
from panes.answers.instants import whole_from
from panes.clock import to_datetime, to_microseconds
from panes.errors import EpochGone
from panes.plan.expressions import Aggregate, Column
from panes.plan.nodes import QUERY, GroupBy, Project, StreamScan, Window
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, STRING
from panes.plan.windows import RangeWindow
from tests.answers.kept import QUERY_ID, Kept

NUMBER = Aggregate("n", "count", None, BIGINT)
SHARED = StreamScan("s", "s", Schema.of([("s._query", BIGINT), ("s.a", STRING)]))
OWN = StreamScan("s", "s", Schema.of([("s.a", STRING)]))
MEMBERS = (1, 2, 5)


def came(*rows: tuple[int, str, int]) -> dict[str, pa.Table]:
    """For which query, the value and the time."""
    queries, values, times = zip(*rows, strict=True) if rows else ((), (), ())
    columns = {"_query": pa.array(queries, pa.int64()), "a": pa.array(values, pa.string())}
    return {"s": pa.table({**columns, "_ts": pa.array(times, pa.int64())})}


def rows_of(arrivals: dict[str, pa.Table], member: int) -> dict[str, pa.Table]:
    rows = arrivals["s"]
    mine = rows.filter(pc.field(QUERY) == member)
    return {"s": mine.drop_columns([QUERY])}


class Group(Kept):
    """A plan that queries share; `_query` is called so in what is kept."""

    def member(self, number: int, plan, of_nothing: pa.Table | None = None) -> AnswerSource:
        rows = AnswerFromSegments(self.readers.segments, plan.schema.arrow, number)
        return AnswerSource(
            100 + number, f"member {number}", plan, rows, QUERY_ID, self.first_epoch, of_nothing
        )


def shared_and_own(keys: tuple[str, ...], window: RangeWindow):
    """The plan of the group, and that of a member by itself."""

    def named(node, names):
        fields = {field.name: field.type for field in node.schema}
        return Project(node, tuple((new, Column(fields[old], old)) for new, old in names.items()))

    own = GroupBy(Window(OWN, window), keys, (NUMBER,))
    shared = GroupBy(Window(SHARED, window), ("s._query", *keys), (NUMBER,))
    plain = {key: key for key in keys} | {"n": "n"}
    return named(shared, {QUERY: "s._query"} | plain), named(own, plain)


@pytest.mark.parametrize("window", [RangeWindow(4), RangeWindow(6, 3)], ids=["every clock", "sliding"])
@pytest.mark.parametrize("keys", [(), ("s.a",)], ids=["one row", "grouped"])
def test_answers_and_changes_of_members_are_those_of_queries_by_themselves(tmp_path, keys, window):
    shared, own = shared_and_own(keys, window)
    random = Random(5)
    group = Group(tmp_path / "group", shared)
    alone = {member: Kept(tmp_path / str(member), own) for member in MEMBERS}
    nothing = pa.table({"n": pa.array([0], pa.int64())}) if not keys else None
    clock = 0
    for _ in range(12):
        before, clock = clock, clock + random.randint(1, 5)
        times = range(before + 1, clock + 1)
        some = [(random.choice(MEMBERS[:2]), random.choice("ab"), t) for t in times if random.random() < 0.4]
        arrivals = came(*some)
        group.epoch(arrivals, clock)
        for member, database in alone.items():
            database.epoch(rows_of(arrivals, member), clock)
            standing = group.member(member, own, nothing)
            mine = group.readers.invoke(standing)
            assert mine.as_of == database.readers.invoke(database.standing).as_of
            assert _sorted(mine.table) == _sorted(database.readers.invoke(database.standing).table)
    for member, database in alone.items():
        standing = group.member(member, own, nothing)
        mine = [_told(change) for change in group.readers.changes(standing, "r")]
        assert mine == [_told(change) for change in database.readers.changes(database.standing, "r")]


def test_a_member_that_comes_later_begins_with_nothing(tmp_path):
    shared, own = shared_and_own((), RangeWindow(4, 2))
    group = Group(tmp_path, shared)
    group.epoch(came((1, "a", 1)), 2)
    nothing = pa.table({"n": pa.array([0], pa.int64())})
    late = replace(group.member(5, own, nothing), first_epoch=1)
    assert len(group.readers.invoke(late)) == 0
    group.epoch(came((5, "a", 7)), 8)
    group.epoch(came(), 14)
    assert group.readers.invoke(late).to_pylist() == [{"n": 0}]
    first, second = group.readers.changes(late, "r")
    assert _told(first) == [(2, 1, (0,)), (8, -1, (0,)), (8, 1, (1,))]
    assert first.is_whole
    assert _told(second) == [(12, -1, (1,)), (12, 1, (0,))]


def test_a_member_that_joins_with_history_begins_when_its_windows_are_whole(tmp_path):
    #  4     5     6     7     8          the member joins at 5, with two tuples of before
    #     5------------------------)      from the next slide on
    shared, own = shared_and_own((), RangeWindow(4, 2))
    group = Group(tmp_path, shared)
    group.epoch(came((1, "a", 4)), 5)
    nothing = pa.table({"n": pa.array([0], pa.int64())})
    standing = replace(group.member(5, own, nothing), first_epoch=1, whole_from=whole_from(own, 5))
    assert standing.whole_from == 6
    group.epoch(came((5, "a", 5), (5, "b", 5)), 5)
    assert list(group.readers.changes(standing, "r")) == []
    with pytest.raises(EpochGone, match="has no answers yet"):
        group.readers.invoke(standing, to_datetime(5))
    group.epoch(came(), 6)
    (change,) = group.readers.changes(standing, "r")
    assert (_told(change), change.is_whole) == ([(6, 1, (2,))], True)
    group.epoch(came(), 13)
    assert [_told(change) for change in group.readers.changes(standing, "r")] == [
        [(10, -1, (2,)), (10, 1, (0,))]
    ]
    assert group.readers.invoke(standing, to_datetime(7)).to_pylist() == [{"n": 2}]
    with pytest.raises(EpochGone, match=r"begin at 1970-01-01T00:00:00\.000006"):
        group.readers.invoke(standing, to_datetime(5))


def _told(change) -> list[tuple]:
    return sorted(
        (to_microseconds(row.pop("_at")), row.pop("_weight"), tuple(row.values()))
        for row in change.table.to_pylist()
    )


def _sorted(table: pa.Table) -> list[tuple]:
    return sorted(tuple(row.values()) for row in table.to_pylist())
