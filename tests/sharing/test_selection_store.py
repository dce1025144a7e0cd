"""What a selection is answered from the store is what filtering all tuples gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from panes.delta.consolidate import AT
from panes.delta.delta import TS, WEIGHT, Instants
from panes.delta.evaluate import evaluate, mask_of
from panes.history.retention import Retained, held_by
from panes.plan.expressions import Call, Cast, Column, Expression, Literal
from panes.plan.types import BIGINT, BOOLEAN, INT, STRING
from panes.plan.windows import BeginEndWindow, NowWindow, RangeWindow, UnboundedWindow, WindowSpec
from panes.sharing import match_encoding, matched_blocks
from panes.sharing.index_slice import IndexSlice
from panes.sharing.match_encoding import Entries, encoded
from panes.sharing.predicates import predicate_of
from panes.sharing.selection import Selection
from panes.sharing.selection_store import SelectionStore
from panes.state.storage.manifest import MATCHES, TUPLES
from panes.testing import counted, same_rows
from tests.kept_states import KeptStates
from tests.sharing.drawn import MATCHED, SCAN, drawn, expression, rows

SPAN = 20
WINDOWS: tuple[WindowSpec, ...] = (
    RangeWindow(15),
    RangeWindow(40),
    RangeWindow(25, 10),
    RangeWindow(3, 10),
    NowWindow(),
    UnboundedWindow(),
    BeginEndWindow(-30, True, 0, True),
    BeginEndWindow(-30, True, -10, True),
    BeginEndWindow(12, False, 0, True),
    BeginEndWindow(12, False, 33, False),
    BeginEndWindow(-30, True, 33, False),
)
SLIDING = (RangeWindow(15), RangeWindow(25, 10), BeginEndWindow(-30, True, -10, True), NowWindow())
SNAPSHOT = BeginEndWindow(12, False, 33, False)
ALL = predicate_of(None)
FIXED = (RangeWindow(15), SNAPSHOT)
COLUMNS = (
    ("i", Column(INT, "s.i")),
    ("w", Column(STRING, "s.w")),
    ("more", Call(BIGINT, "add", (Cast(BIGINT, Column(INT, "s.i")), Literal(BIGINT, 1)))),
)


@dataclass
class Member:
    asked: Expression | None
    reading: Selection
    born: int


@dataclass
class Reference:
    """All tuples that ever came, with the instant from which on each can be seen."""

    parts: list[pa.Table] = field(default_factory=list)
    seen: list[Instants] = field(default_factory=list)

    def add(self, table: pa.Table, since: int) -> None:
        self.parts.append(table)
        self.seen.append(np.maximum(table.column(TS).to_numpy(), since + 1))

    def answer(self, member: Member, now: int) -> pa.Table:
        whole = pa.concat_tables(self.parts)
        names = [f"s.{name}" if name != TS else TS for name in whole.column_names]
        whole = whole.rename_columns(names)
        held = is_held(member.reading.window, whole.column(TS).to_numpy(), np.concatenate(self.seen), now)
        whole = whole.filter(pa.array(held))
        if member.asked is not None:
            whole = whole.filter(mask_of(member.asked, whole))
        return pa.table({name: evaluate(e, whole) for name, e in member.reading.columns})


def is_held(window: WindowSpec, ts: Instants, seen: Instants, now: int) -> Instants:
    """The table of windows in `panes/plan/windows.py`, word for word."""
    match window:
        case RangeWindow(length, slide):
            at = now // slide * slide if slide else now
            return (seen <= at) & (at < ts + length)
        case NowWindow():
            return (seen <= now) & (ts == now)
        case BeginEndWindow():
            begin = now + window.begin_us if window.begin_is_relative else window.begin_us
            end = now + window.end_us if window.end_is_relative else window.end_us
            return (seen <= now) & (begin <= ts) & (ts <= end)
    return seen <= now


@contextmanager
def short_stretches(tuples: int) -> Iterator[None]:
    before = match_encoding.MOST_TUPLES
    match_encoding.MOST_TUPLES = matched_blocks.MOST_TUPLES = tuples
    try:
        yield
    finally:
        match_encoding.MOST_TUPLES = matched_blocks.MOST_TUPLES = before


def drawn_member(random: Random, born: int, windows: Sequence[WindowSpec] = WINDOWS) -> Member:
    asked = expression(random)
    columns = tuple(random.sample(COLUMNS, random.randint(1, 3)))
    if random.random() < 0.1:
        columns = (("one", Literal(BIGINT, 1)),)
    return Member(asked, Selection(SCAN, predicate_of(asked), random.choice(windows), columns), born)


def index_of(members: Mapping[int, Member]) -> IndexSlice:
    return IndexSlice.of(MATCHED, {query: member.reading.predicate for query, member in members.items()})


@drawn(20)
def test_an_answer_is_what_filtering_gives(random: Random) -> None:
    with short_stretches(random.choice((8, 40, 1 << 14))):
        run(random, SelectionStore(), Reference())


def run(random: Random, store: SelectionStore, reference: Reference) -> None:
    """Epochs of tuples, some of which come late or early; members that come and go; chunks that move."""
    members: dict[int, Member] = {}
    windows = random.choice((WINDOWS, SLIDING, FIXED))
    retained = reduce(Retained.__or__, map(held_by, windows))
    since = 0
    for epoch in range(5):
        clock = since + SPAN
        numbers = range(100 * epoch, 100 * epoch + random.randint(0, 12))
        new = {number: drawn_member(random, since, windows) for number in numbers}
        store.admit(index_of(new))
        members |= new
        if members and random.random() < 0.3:
            del members[random.choice(list(members))]
        index = index_of(members)
        came = rows(random, random.choice((0, 1, 30)), since=max(0, since - 5), clock=clock + 5)
        store.add(came, index, since)
        reference.add(came, since)
        store.expire(since, retained)
        if random.random() < 0.3:
            store = SelectionStore(store.chunks)
        for query in random.sample(list(members), min(6, len(members))):
            check(store, reference, query, members[query], since, clock)
        since = clock


def check(
    store: SelectionStore, reference: Reference, query: int, member: Member, since: int, clock: int
) -> None:
    at_the_end = store.answer(query, member.reading, clock)
    assert same_rows(at_the_end, reference.answer(member, clock)) is None
    changes = store.changes(query, member.reading, since, clock, born=member.born)
    assert ((changes.column(AT).to_numpy() > since) & (changes.column(AT).to_numpy() <= clock)).all()
    before = counted(at_the_end.slice(0, 0))
    if member.born < since:
        before = counted(reference.answer(member, since))
    for now in range(since + 1, clock + 1, 6):
        until = changes.filter(pa.array(changes.column(AT).to_numpy() <= now))
        for weight, sign in ((1, 1), (-1, -1)):
            part = until.filter(pa.array(until.column(WEIGHT).to_numpy() == weight))
            these = counted(part.drop_columns([AT, WEIGHT]))
            before = before.copy()
            if sign > 0:
                before.update(these)
            else:
                before.subtract(these)
        changes = changes.filter(pa.array(changes.column(AT).to_numpy() > now))
        assert +before == counted(reference.answer(member, now)), now


@pytest.mark.parametrize("share", [0.0, 0.01, 0.03, 0.04, 0.5, 1.0])
def test_a_query_keeps_a_list_when_it_has_few_tuples_else_a_bitmap(share: float) -> None:
    tuples = 1600
    flags = np.zeros(tuples, np.uint8)
    flags[: round(share * tuples)] = 1
    bitmaps = np.packbits(flags[np.newaxis], axis=1, bitorder="little")
    tables = list(encoded(np.array([7]), bitmaps))
    assert [pa.types.is_fixed_size_binary(table.schema.field(1).type) for table in tables] == (
        [] if not share else [share * tuples * 2 > tuples / 8 / 2]
    )
    for table in tables:
        found = Entries.read(table, tuples).of(7)
        assert found is not None
        assert list(found) == list(np.flatnonzero(flags))
        assert Entries.read(table, tuples).of(6) is None


def test_small_epochs_are_put_together_and_dropped_queries_leave() -> None:
    random = Random(1)
    members = {query: drawn_member(random, 0) for query in range(30)}
    store = SelectionStore()
    for epoch in range(64):
        store.add(rows(random, 10, since=epoch, clock=epoch + 1), index_of(members), epoch)
        if epoch == 20:
            members = {query: member for query, member in members.items() if query < 10}
    assert store.rows == 640
    assert len(store.chunks[TUPLES]) < 8
    assert max(chunk.high for chunk in store.chunks[MATCHES]) < 10


def test_a_new_query_adds_only_its_own_entries() -> None:
    random = Random(2)
    everything = Selection(SCAN, predicate_of(None), UnboundedWindow(), COLUMNS)
    store = SelectionStore()
    members = {query: Member(None, everything, 0) for query in range(50)}
    store.add(rows(random, 500), index_of(members), 0)
    before = {id(chunk) for chunk in store.chunks[MATCHES]}
    store.admit(index_of({60: Member(None, everything, 0)}))
    new = [chunk for chunk in store.chunks[MATCHES] if id(chunk) not in before]
    assert [chunk.rows for chunk in new] == [1]
    assert before <= {id(chunk) for chunk in store.chunks[MATCHES]}
    assert store.answer(60, everything, 1000).num_rows == 500


def test_a_store_is_kept_in_segments(tmp_path: Path) -> None:
    random = Random(3)
    members = {query: drawn_member(random, 0) for query in range(40)}
    store = SelectionStore()
    store.add(rows(random, 300), index_of(members), 0)
    states = KeptStates(tmp_path)
    states.save(1, store.chunks)
    again = SelectionStore({name: states.chunks(name) for name in (TUPLES, MATCHES)})
    for query, member in members.items():
        kept, restored = store.answer(query, member.reading, 60), again.answer(query, member.reading, 60)
        assert same_rows(kept, restored) is None
    again.add(rows(random, 300, since=100, clock=200), index_of(members), 100)
    states.save(2, again.chunks)


def test_a_member_may_change_its_window_at_any_time() -> None:
    random = Random(4)
    store = SelectionStore()
    everything = Selection(SCAN, predicate_of(None), UnboundedWindow(), COLUMNS[:1])
    store.add(rows(random, 200, clock=100), index_of({1: Member(None, everything, 0)}), 0)
    sizes = [store.answer(1, replace(everything, window=RangeWindow(d)), 100).num_rows for d in (10, 50, 200)]
    assert sizes == sorted(sizes)
    assert 0 < sizes[0] < sizes[-1] == 200


def test_nothing_is_answered_for_a_query_that_is_not_there() -> None:
    store = SelectionStore()
    reading = Selection(SCAN, predicate_of(Literal(BOOLEAN, True)), UnboundedWindow(), COLUMNS)
    assert store.answer(3, reading, 10).schema.names == ["i", "w", "more"]
    store.add(rows(Random(5), 20), index_of({1: Member(None, reading, 0)}), 0)
    assert store.answer(3, reading, 200).num_rows == 0


def test_a_snapshot_long_past_keeps_its_own_tuples_and_no_others() -> None:
    random = Random(5)
    sliding, snapshot = drawn_member(random, 0, [RangeWindow(10)]), drawn_member(random, 0, [SNAPSHOT])
    members = {1: sliding, 2: replace(snapshot, asked=None, reading=replace(snapshot.reading, predicate=ALL))}
    retained = held_by(RangeWindow(10)) | held_by(SNAPSHOT)
    with short_stretches(20):
        store, reference = SelectionStore(), Reference()
        for since in range(0, 400, 20):
            came = rows(random, 20, since=since, clock=since + 20)
            store.add(came, index_of(members), since)
            reference.add(came, since)
            store.expire(since, retained)
    assert (
        store.rows == 80
    )  # two stretches with tuples from 12 to 33, that of the last span, and that before it
    assert same_rows(store.answer(2, members[2].reading, 400), reference.answer(members[2], 400)) is None


def test_entries_of_dropped_queries_leave_a_stretch_that_is_never_merged_again() -> None:
    random = Random(6)
    members = {
        query: Member(None, Selection(SCAN, ALL, UnboundedWindow(), COLUMNS), 0) for query in range(30)
    }
    with short_stretches(20):
        store = SelectionStore()
        store.add(rows(random, 20), index_of(members), 0)
        kept = {query: members[query] for query in range(20)}
        store.add(rows(random, 20, since=100, clock=120), index_of(kept), 100)
        assert (
            sum(chunk.rows for chunk in store.chunks[MATCHES]) == 30 + 20
        )  # too few have gone to rewrite it
        kept = {query: members[query] for query in range(5)}
        store.add(rows(random, 20, since=120, clock=140), index_of(kept), 120)
    assert sum(chunk.rows for chunk in store.chunks[MATCHES]) == 3 * 5
    assert store.answer(4, members[4].reading, 200).num_rows == 60
