"""The index says of every tuple and every query what evaluating the query's predicate says."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from panes.delta.delta import TS
from panes.delta.evaluate import mask_of
from panes.plan.expressions import Call, Column, Expression, Literal
from panes.plan.types import BIGINT, BOOLEAN
from panes.sharing import index_slice, member_block
from panes.sharing.bits import unpacked
from panes.sharing.index_slice import IndexSlice
from panes.sharing.predicates import predicate_of
from panes.testing import same_rows
from tests.sharing.drawn import MATCHED, drawn, expression, rows

Members = Mapping[int, Expression | None]


def check(index: IndexSlice, members: Members, table: pa.Table) -> None:
    """Each predicate in turn is the reference."""
    matches = index.match(table)
    named = index.named(table)
    found = unpacked(matches.bits).astype(bool)
    assert set(matches.queries[matches.queries >= 0]) == set(members)
    assert not found[:, matches.queries < 0].any()
    for query, asked in members.items():
        expected = np.ones(table.num_rows, bool) if asked is None else np.asarray(mask_of(asked, named))
        (column,) = np.flatnonzero(matches.queries == query)
        assert (found[:, column] == expected).all(), f"{query}: {asked}"


def index_of(members: Members) -> IndexSlice:
    return IndexSlice.of(MATCHED, {query: predicate_of(asked) for query, asked in members.items()})


def drawn_members(random: Random, most: int) -> dict[int, Expression | None]:
    queries = random.sample(range(1000), random.randint(1, most))
    return {query: expression(random) for query in queries}


@drawn(40)
def test_an_index_matches_as_each_predicate_does(random: Random) -> None:
    members = drawn_members(random, 90)
    check(index_of(members), members, rows(random, random.choice((0, 1, 40))))


@drawn(20)
def test_queries_come_and_go(random: Random) -> None:
    most = member_block.MOST
    member_block.MOST = index_slice.MOST = 16
    try:
        index, members = IndexSlice(MATCHED), dict[int, Expression | None]()
        for step in range(8):
            if members and random.random() < 0.4:
                gone = random.sample(sorted(members), random.randint(1, len(members)))
                index = index.without(gone)
                members = {query: asked for query, asked in members.items() if query not in gone}
            else:
                more = {1000 * step + q: asked for q, asked in drawn_members(random, 20).items()}
                index = index.with_members({q: predicate_of(asked) for q, asked in more.items()})
                members |= more
            check(index, members, rows(random, 20))
        some = random.sample(sorted(members), len(members) // 2)
        check(index.only(set(some)), {query: members[query] for query in some}, rows(random, 20))
    finally:
        member_block.MOST = index_slice.MOST = most


@drawn(20)
def test_exploded_rows_are_the_tuples_of_each_query(random: Random) -> None:
    members = drawn_members(random, 20)
    table = rows(random, 30)
    index = index_of(members)
    exploded = index.over_rows(table).exploded(table)
    assert exploded.column_names == ["_query", *MATCHED.child.schema.names, TS]
    named = index.named(table)
    for query, asked in members.items():
        mine = exploded.filter(pa.array(exploded.column("_query").to_numpy() == query)).drop_columns(
            ["_query"]
        )
        expected = named if asked is None else named.filter(mask_of(asked, named))
        assert same_rows(mine, expected) is None


def test_an_index_travels() -> None:
    random = Random(5)
    members = drawn_members(random, 90)
    index = index_of(members)
    check(pickle.loads(pickle.dumps(index)), members, rows(random, 50))
    check(pickle.loads(pickle.dumps(index.to_ship())), members, rows(random, 50))
    assert len(pickle.dumps(index.to_ship())) < len(pickle.dumps(index))


def test_adding_a_query_leaves_full_blocks_alone() -> None:
    random = Random(1)
    members = {query: predicate_of(expression(random)) for query in range(2 * member_block.MOST + 5)}
    index = IndexSlice.of(MATCHED, members)
    more = index.with_members({10_000: predicate_of(expression(random))})
    assert more.blocks[:2] == index.blocks[:2]
    assert sum(len(block.queries) for block in more.blocks) == len(members) + 1


def test_a_block_that_is_mostly_gone_is_made_anew() -> None:
    index = index_of(dict.fromkeys(range(100)))
    assert len(index.without(range(49)).blocks[0].queries) == 100
    assert len(index.without(range(51)).blocks[0].queries) == 49
    assert not index.without(range(100)).blocks


def test_a_residual_that_would_fail_sees_only_tuples_that_pass_the_rest() -> None:
    # k + k does not fit into 64 bits for the largest k, and the query does not ask for it.
    k = Column(BIGINT, "s.k")
    small = Call(BOOLEAN, "in", (k, Literal(BIGINT, 0), Literal(BIGINT, 1), Literal(BIGINT, 2)))
    even = Call(BOOLEAN, "gt", (Call(BIGINT, "add", (k, k)), Literal(BIGINT, 1)))
    index = index_of({1: Call(BOOLEAN, "and", (small, even)), 2: small})
    table = rows(Random(2), 60)
    asked = index.named(table).filter(mask_of(small, index.named(table)))
    exploded = index.over_rows(table).exploded(table)
    assert (exploded.column("_query").to_numpy() == 1).sum() == np.asarray(mask_of(even, asked)).sum()


@pytest.mark.parametrize("count", [0, 1])
def test_few_rows_and_no_queries(count: int) -> None:
    table = rows(Random(0), count)
    assert IndexSlice(MATCHED).match(table).bits.shape == (count, 0)
    assert IndexSlice(MATCHED).over_rows(table).exploded(table).num_rows == 0
