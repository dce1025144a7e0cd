"""The checks can fail: a bug planted in any part of sharing is found by the same check that the part passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import pytest

from panes.delta.delta import TS
from panes.plan import windows
from panes.plan.windows import RangeWindow
from panes.sharing import match_encoding, member_block, pair_join, pair_store, partial_sums, tuple_block
from panes.sharing.bits import Bytes, Ints, Words, count_columns
from panes.sharing.index_slice import IndexSlice
from panes.sharing.member_block import MemberBlock
from panes.sharing.pair_reading import PairReading
from panes.sharing.pair_store import PairStore
from panes.sharing.query_index import SliceKey
from panes.sharing.residual_predicates import ResidualPredicates
from panes.sharing.selection_store import SelectionStore
from panes.sharing.stream_indexes import StreamIndexes
from panes.sharing.tuple_block import TupleBlock
from panes.sharing.value_cells import AttributeValues, Places, ValueCells
from tests.sharing import (
    shared_pairs,
    test_index_slice,
    test_pair_store,
    test_partial_sums,
    test_query_index,
    test_selection_store,
)
from tests.sharing.drawn import rows

lifetime = RangeWindow.lifetime
Plant = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[Random], None]

DRAWS = 40
"""A bug must show within so many cases."""


@dataclass(frozen=True)
class Mutation:
    bug: str
    check: Check
    plant: Plant


def replaced(owner: object, name: str, value: object) -> Plant:
    return lambda patch: patch.setattr(owner, name, value)


def index_check(random: Random) -> None:
    members = test_index_slice.drawn_members(random, 60)
    test_index_slice.check(test_index_slice.index_of(members), members, rows(random, 30))


def groups_check(random: Random) -> None:
    groups = {number: test_query_index.drawn_asked(random, 9) for number in range(4)}
    slices = {SliceKey(number, 0): test_query_index.slice_of(asked) for number, asked in groups.items()}
    test_query_index.check(StreamIndexes().update(slices), groups, random)


def dropping_check(random: Random) -> None:
    members = test_index_slice.drawn_members(random, 20)
    index = test_index_slice.index_of(members)
    gone = random.choice(sorted(members))
    left = {query: asked for query, asked in members.items() if query != gone}
    test_index_slice.check(index.without([gone]), left, rows(random, 30))


def partials_check(random: Random) -> None:
    test_partial_sums.drawn_check(random)


def store_check(random: Random) -> None:
    with test_selection_store.short_stretches(64):
        test_selection_store.run(random, SelectionStore(), test_selection_store.Reference())


def pairs_check(random: Random) -> None:
    test_pair_store.run(random)


def growing_pairs_check(random: Random) -> None:
    test_pair_store.run(random, is_growing=True)


lifetime_of_pair = PairReading._lifetime


def by_the_left_window(self: PairReading, *sides: object) -> tuple[Ints, Ints]:
    left, _ = self.windows
    return lifetime_of_pair(replace(self, windows=(left, left)), *sides)  # type: ignore[arg-type]


def among_known_pairs(self: PairStore, index: IndexSlice, *_: object) -> None:
    self.pairs.admit(index)


locate = ValueCells.locate
around = ValueCells.around
spans = member_block._spans
numbers_of = match_encoding._numbers_of
touched_by = SelectionStore._touched_by


def without_nulls(self: ValueCells, values: AttributeValues) -> Places:
    return locate(self, AttributeValues(values.numbers, None, values.texts))


def the_constant_itself(self: ValueCells, finer: ValueCells) -> Places:
    cells = around(self, finer)
    cells[0:-2:2] = cells[1:-2:2]
    return cells


def one_cell_more(*args: object) -> tuple[Ints, Ints]:
    low, high = spans(*args)  # type: ignore[arg-type]
    return low, np.where((low < high) & (high < high.max()), high + 1, high)


def without_the_last(bits: Words) -> Ints:
    return count_columns(bits[:-1])


def byte_by_byte(left: Bytes, _columns: int, right: Bytes, _more: int) -> Bytes:
    return np.hstack([left, right])[:, : -(-(_columns + _more) // 8)]


def wholly(self: SelectionStore, *args: object) -> Iterator[tuple[TupleBlock, bool]]:
    return ((stretch, True) for stretch, _ in touched_by(self, *args))  # type: ignore[arg-type]


def the_tuple_before(bitmaps: Bytes) -> match_encoding.Numbers:
    numbers = numbers_of(bitmaps)
    return numbers - (numbers > 0)


def all_alike(*_: Ints) -> Ints:
    return np.zeros(1, np.int64)


def an_instant_longer(window: RangeWindow, ts: Ints, seen: Ints) -> tuple[Ints, Ints]:
    enters, leaves = lifetime(window, ts, seen)
    return enters, leaves + 1


MUTATIONS = (
    Mutation("NULL is taken for a value", index_check, replaced(ValueCells, "locate", without_nulls)),
    Mutation(
        "what is below a constant is taken for it",
        groups_check,
        replaced(ValueCells, "around", the_constant_itself),
    ),
    Mutation("a span holds one cell more", index_check, replaced(member_block, "_spans", one_cell_more)),
    Mutation("<> leaves nothing out", index_check, replaced(member_block, "_leave_out", lambda *_: None)),
    Mutation("IN admits everything", index_check, replaced(member_block, "_only_options", lambda *_: None)),
    Mutation(
        "residuals are not evaluated", index_check, replaced(ResidualPredicates, "apply", lambda *_: None)
    ),
    Mutation("a dropped query stays", dropping_check, replaced(MemberBlock, "without", lambda self, _: self)),
    Mutation(
        "a tuple is not counted", partials_check, replaced(partial_sums, "count_columns", without_the_last)
    ),
    Mutation(
        "all lifetimes are taken for one", partials_check, replaced(partial_sums, "starts_of", all_alike)
    ),
    Mutation("slides are not rounded", store_check, replaced(windows, "round_up", lambda ts, _: ts)),
    Mutation("NULL is counted", partials_check, replaced(partial_sums._Segments, "_sparse", lambda *_: {})),
    Mutation(
        "stretches are joined byte by byte", store_check, replaced(tuple_block, "side_by_side", byte_by_byte)
    ),
    Mutation("windows are not applied", store_check, replaced(SelectionStore, "_touched_by", wholly)),
    Mutation(
        "a window is an instant longer",
        store_check,
        replaced(RangeWindow, "lifetime", an_instant_longer),
    ),
    Mutation(
        "new queries do not see old tuples", store_check, replaced(SelectionStore, "admit", lambda *_: None)
    ),
    Mutation(
        "pairs that were for nobody are forgotten",
        pairs_check,
        replaced(PairStore, "admit", among_known_pairs),
    ),
    Mutation(
        "known pairs are kept twice",
        pairs_check,
        replaced(pair_store, "_without_those", lambda rows, _: rows),
    ),
    Mutation(
        "longer windows find no older tuples",
        growing_pairs_check,
        replaced(PairStore, "reach_back", lambda *_: None),
    ),
    Mutation(
        "both tuples go by the left window",
        pairs_check,
        replaced(PairReading, "_lifetime", by_the_left_window),
    ),
    Mutation(
        "a pair is there before its later tuple came",
        pairs_check,
        replaced(pair_join, "first_seen", lambda rows, _: rows.column(TS).to_numpy()),
    ),
    Mutation(
        "DISTINCT keeps duplicates", pairs_check, replaced(shared_pairs, "distinct_rows", lambda rows: rows)
    ),
    Mutation(
        "lists hold other tuples", store_check, replaced(match_encoding, "_numbers_of", the_tuple_before)
    ),
)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.bug)
def test_a_planted_bug_is_found(mutation: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    mutation.check(Random(0))
    mutation.plant(monkeypatch)
    for seed in range(DRAWS):
        try:
            mutation.check(Random(seed))
        except AssertionError:
            return
    pytest.fail(f"nobody noticed that {mutation.bug}")
