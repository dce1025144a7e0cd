"""The groups of a stream have one index, and each of them matches as if it were alone."""

from __future__ import annotations

import pickle
from random import Random

import numpy as np
import pytest

from panes.delta.evaluate import mask_of
from panes.plan.expressions import Column, Expression, substitute
from panes.plan.nodes import Matched, StreamScan
from panes.plan.schema import Field, Schema
from panes.sharing import index_slice, member_block, tuple_batch
from panes.sharing.index_slice import IndexSlice
from panes.sharing.predicates import predicate_of
from panes.sharing.query_index import QueryIndex, SliceKey
from panes.sharing.shared_indexes import SharedSlice
from panes.sharing.stream_indexes import StreamIndexes
from panes.sharing.value_cells import AttributeValues
from tests.sharing.drawn import SCHEMA, drawn, expression, rows

Asked = dict[int, Expression | None]


def scan_as(alias: str, stream: str = "s") -> StreamScan:
    fields = (Field(f"{alias}.{field.name.removeprefix('s.')}", field.type) for field in SCHEMA)
    return StreamScan(stream, alias, Schema(tuple(fields)))


def called(asked: Expression | None, alias: str) -> Expression | None:
    """A predicate as a query has it that calls the stream so."""
    names = {f.name: Column(f.type, f"{alias}.{f.name.removeprefix('s.')}") for f in SCHEMA}
    return None if asked is None else substitute(asked, names)


def drawn_asked(random: Random, most: int) -> Asked:
    return {query: expression(random) for query in random.sample(range(1000), random.randint(1, most))}


def slice_of(asked: Asked, alias: str = "s", stream: str = "s") -> IndexSlice:
    members = {query: predicate_of(called(found, alias)) for query, found in asked.items()}
    return IndexSlice.of(Matched(scan_as(alias, stream)), members)


def check(shared: dict[SliceKey, SharedSlice], groups: dict[int, Asked], random: Random) -> None:
    """Each predicate in turn is the reference; the tuples are looked up once for all groups."""
    table = rows(random, 30)
    named = IndexSlice(Matched(scan_as("s"))).named(table)
    batch = next(iter(shared.values())).index.value.batch(table)
    for number, asked in groups.items():
        matcher = shared[SliceKey(number, 0)].value.over_batch(batch)
        row, query = matcher.batch.matches().pairs()
        for one, predicate in asked.items():
            passes = np.ones(30, bool) if predicate is None else np.asarray(mask_of(predicate, named))
            assert sorted(row[query == one]) == np.flatnonzero(passes).tolist(), (
                f"{number}, {one}: {predicate}"
            )
        assert set(query) <= asked.keys()


@drawn(8)
def test_groups_that_come_and_go_match_as_each_of_their_predicates_does(random: Random) -> None:
    most = member_block.MOST
    member_block.MOST = index_slice.MOST = 16
    try:
        indexes, groups, slices = StreamIndexes(), dict[int, Asked](), dict[int, IndexSlice]()
        for step in range(6):
            for number in random.sample(range(5), 2):
                if number in groups and random.random() < 0.2:
                    del groups[number], slices[number]
                elif number in groups and groups[number] and random.random() < 0.5:
                    gone = set(random.sample(sorted(groups[number]), random.randint(1, len(groups[number]))))
                    slices[number] = slices[number].without(gone)
                    groups[number] = {q: a for q, a in groups[number].items() if q not in gone}
                else:
                    more = {1000 * step + query: a for query, a in drawn_asked(random, 20).items()}
                    alias = random.choice("sx")
                    mine = slices.get(number) or IndexSlice(Matched(scan_as(alias)))
                    own = mine.node.child.alias
                    members = {query: predicate_of(called(a, own)) for query, a in more.items()}
                    slices[number] = mine.with_members(members)
                    groups[number] = groups.get(number, {}) | more
            if slices:
                shared = indexes.update({SliceKey(number, 0): mine for number, mine in slices.items()})
                assert len({mine.index for mine in shared.values()}) == 1
                check(shared, groups, random)
    finally:
        member_block.MOST = index_slice.MOST = most


def test_an_attribute_is_looked_up_once_whatever_the_number_of_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = Random(3)
    groups = {number: slice_of(drawn_asked(random, 9), random.choice("sxy")) for number in range(50)}
    shared = StreamIndexes().update({SliceKey(n, 0): mine for n, mine in groups.items()})
    index = shared[SliceKey(0, 0)].index.value
    table = rows(random, 40)
    encoded = []

    class Counted(AttributeValues):
        @classmethod
        def of(cls, *args):
            encoded.append(args)
            return AttributeValues.of(*args)

    index.cells  # noqa: B018  constants are looked up, too, when the cells are made
    monkeypatch.setattr(tuple_batch, "AttributeValues", Counted)
    batch = index.batch(table)
    for mine in shared.values():
        mine.value.over_batch(batch).batch.matches()
    assert len(encoded) == index.cells.attributes <= len(SCHEMA) + 1


def test_a_query_that_comes_touches_the_blocks_of_its_group_alone() -> None:
    random, indexes = Random(4), StreamIndexes()
    slices = {SliceKey(number, 0): slice_of(drawn_asked(random, 30)) for number in range(20)}
    before = indexes.update(slices)
    more = slices[SliceKey(3, 0)].with_members({2000: predicate_of(expression(random))})
    after = indexes.update({**slices, SliceKey(3, 0): more})
    assert indexes.update({**slices, SliceKey(3, 0): more}) == after, "the same queries, the same index"
    for key in slices:
        assert (before[key].value is after[key].value) == (key.group != 3)


def test_a_stream_whose_queries_stay_keeps_its_index() -> None:
    random, indexes = Random(5), StreamIndexes()
    one, other = slice_of(drawn_asked(random, 30)), slice_of(drawn_asked(random, 30), "t", "t")
    before = indexes.update({SliceKey(1, 0): one, SliceKey(2, 0): other})
    after = indexes.update({SliceKey(1, 0): one, SliceKey(2, 0): other.with_members({})})
    assert before[SliceKey(1, 0)] == after[SliceKey(1, 0)]
    assert before[SliceKey(2, 0)] != after[SliceKey(2, 0)]


def test_new_queries_have_an_index_of_their_own_unless_all_are_new() -> None:
    random, indexes = Random(6), StreamIndexes()
    slices = {SliceKey(number, 0): slice_of(drawn_asked(random, 30)) for number in range(3)}
    everyone = indexes.update(slices)
    assert indexes.some(slices) == everyone
    some = indexes.some({SliceKey(1, 0): slices[SliceKey(1, 0)]})
    assert some.keys() == {SliceKey(1, 0)}
    assert some[SliceKey(1, 0)].index is not everyone[SliceKey(1, 0)].index


def test_an_index_travels_without_the_predicates() -> None:
    random = Random(7)
    groups = {number: drawn_asked(random, 20) for number in range(4)}
    slices = {SliceKey(number, 0): slice_of(asked) for number, asked in groups.items()}
    index = QueryIndex("s", slices)
    assert index.queries == sum(map(len, groups.values()))
    sent = pickle.loads(pickle.dumps(index.to_ship()))
    assert len(pickle.dumps(sent)) < len(pickle.dumps(index))
    for key, mine in slices.items():
        table = rows(random, 20)
        found = sent.slices[key].over_batch(sent.batch(table)).batch.matches()
        assert (found.bits == mine.match(table).bits).all()


def test_an_index_does_not_grow_as_queries_come_and_go() -> None:
    random, indexes = Random(8), StreamIndexes()
    slices = {number: IndexSlice(Matched(scan_as("s"))) for number in range(2)}
    there: dict[int, list[int]] = {number: [] for number in slices}
    sizes = []
    for epoch in range(80):
        for number in slices:
            come = [10 * epoch + extra for extra in range(random.randint(1, 3))]
            there[number] += come
            gone, there[number] = there[number][:-20], there[number][-20:]
            members = {query: predicate_of(expression(random)) for query in come}
            slices[number] = slices[number].without(gone).with_members(members)
        shared = indexes.update({SliceKey(number, 0): mine for number, mine in slices.items()})
        (index,) = {mine.index for mine in shared.values()}
        assert index.value.queries == sum(map(len, there.values()))
        if epoch % 10 == 9:
            sizes.append(len(pickle.dumps(index.value.to_ship())))
    assert max(sizes[-3:]) < 1.5 * max(sizes[2:5])
