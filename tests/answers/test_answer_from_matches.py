"""Selections that share their stream: answers and changes of each are those of the query by itself."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest

from panes.answers.answer_from_matches import AnswerFromMatches
from panes.answers.answer_source import AnswerSource
from panes.clock import to_datetime, to_microseconds
from panes.history.retention import Retained
from panes.plan.expressions import Call, Column, Literal
from panes.plan.nodes import Matched, Select, StreamScan, Window
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, BOOLEAN
from panes.plan.windows import RangeWindow
from panes.sharing.index_slice import IndexSlice
from panes.sharing.selection import selection_of
from panes.sharing.selection_store import SelectionStore
from panes.state.storage.manifest import MATCHES, TUPLES
from tests.answers.kept import QUERY_ID, Kept

SCAN = StreamScan("s", "s", Schema.of([("s.a", BIGINT)]))
RETAINED = 16


def selection(least: int, window: RangeWindow) -> Window:
    at_least = Call(BOOLEAN, "ge", (Column(BIGINT, "s.a"), Literal(BIGINT, least)))
    return Window(Select(SCAN, at_least), window)


PLANS = {
    1: selection(3, RangeWindow(4)),
    4: selection(7, RangeWindow(9, 3)),
    5: selection(99, RangeWindow(9)),
}
LATE = {9: selection(2, RangeWindow(5))}


class Group(Kept):
    """The selections on a stream, kept as one."""

    def member(self, number: int, plan: Window) -> AnswerSource:
        reading = selection_of(plan)
        assert reading is not None
        rows = AnswerFromMatches(self.readers.stores, number, reading)
        return AnswerSource(100 + number, f"member {number}", plan, rows, QUERY_ID, self.first_epoch)

    def take_in(self, rows: pa.Table, clock: int, plans: dict[int, Window], new: dict[int, Window]) -> None:
        epoch, since = self.position
        matched = Matched(SCAN)
        kept = {name: self.states.chunks(name) for name in (TUPLES, MATCHES)} if epoch >= 0 else None
        store = SelectionStore(kept)
        predicates = {number: selection_of(plan).predicate for number, plan in {**plans, **new}.items()}
        if new:
            store.admit(IndexSlice.of(matched, {number: predicates[number] for number in new}))
        store.add(rows, IndexSlice.of(matched, predicates), since)
        store.expire(since, Retained(RETAINED))
        states = self.states.save(epoch + 1, store.chunks)
        self.log.commit(replace(self._record(epoch + 1, since, clock), **states))


def told(change) -> list[tuple]:
    return sorted(
        (to_microseconds(row["_at"]), row["_weight"], row["s.a"]) for row in change.table.to_pylist()
    )


def values(answer) -> list[int]:
    return sorted(answer.table.column("s.a").to_pylist())


@pytest.mark.parametrize("seed", range(3))
def test_answers_and_changes_are_those_of_queries_by_themselves(tmp_path, seed):
    random = Random(seed)
    group = Group(tmp_path / "group", SCAN)
    alone = {number: Kept(tmp_path / str(number), plan) for number, plan in PLANS.items()}
    clock = 0
    for epoch in range(10):
        before, clock = clock, clock + random.randint(1, 6)
        times = sorted(random.randint(before + 1, clock) for _ in range(random.randint(0, 8)))
        came = pa.table(
            {
                "a": pa.array([random.randint(0, 12) for _ in times], pa.int64()),
                "_ts": pa.array(times, pa.int64()),
            }
        )
        group.take_in(came, clock, PLANS | (LATE if epoch > 4 else {}), LATE if epoch == 4 else {})
        for number, database in alone.items():
            database.epoch({"s": came}, clock)
            member = group.member(number, PLANS[number])
            assert values(group.readers.invoke(member)) == values(database.readers.invoke(database.standing))
    for number, database in alone.items():
        member = group.member(number, PLANS[number])
        mine, theirs = group.readers.changes(member, "r"), database.readers.changes(database.standing, "r")
        assert [told(change) for change in mine] == [told(change) for change in theirs]
        for instant in range(1, clock + 1):
            at = to_datetime(instant)
            assert values(group.readers.invoke(member, at)) == values(
                database.readers.invoke(database.standing, at)
            )
    late = replace(group.member(9, LATE[9]), first_epoch=4)
    changes = list(group.readers.changes(late, "r"))
    assert (changes[0].epoch, changes[0].is_whole) == (4, True)
    held = sum(change.table.column("_weight").to_numpy().sum() for change in changes)
    assert held == len(values(group.readers.invoke(late)))
