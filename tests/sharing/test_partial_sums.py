"""The partial rows of queries that share a group-by are those that each would have on its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import polars as pl
import pyarrow as pa

from panes.aggregates.partials import partial_schema, partials_of
from panes.delta.delta import BEGINNING, EXP, TS, Delta
from panes.delta.evaluate import evaluate, mask_of
from panes.operators.pre_aggregate import PreAggregate
from panes.operators.window import TimeWindow
from panes.plan.expressions import Aggregate, Call, Cast, Column, Expression, Literal
from panes.plan.nodes import QUERY, GroupBy, Matched, Node, Project, Window
from panes.plan.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING
from panes.plan.windows import RangeWindow
from panes.sharing import matched_batch, partial_sums
from panes.sharing.index_slice import IndexSlice
from panes.sharing.predicates import predicate_of
from panes.testing import same_rows
from tests.sharing.drawn import MATCHED, SCAN, drawn, expression, rows

I = Cast(BIGINT, Column(INT, "s.i"))  # noqa: E741
K = Column(BIGINT, "s.k")
V = Column(DOUBLE, "s.v")
AGGREGATES = (
    Aggregate("n", "count", None, BIGINT),
    Aggregate("nk", "count", K, BIGINT),
    Aggregate("nv", "count", V, BIGINT),
    Aggregate("si", "sum", I, BIGINT),
    Aggregate("sk", "sum", K, BIGINT),
    Aggregate("av", "avg", V, DOUBLE),
    Aggregate("least", "min", I, BIGINT),
)
WINDOWS = (RangeWindow(40, 10), RangeWindow(25, 10), RangeWindow(3, 10), RangeWindow(30))


@contextmanager
def small_parts(long: int) -> Iterator[None]:
    """Short segments are added up bit by bit, and tuples are matched a few at a time."""
    before = partial_sums._LONG, matched_batch.STRETCH, partial_sums._PAIRS
    partial_sums._LONG, matched_batch.STRETCH, partial_sums._PAIRS = long, 16, 100
    try:
        yield
    finally:
        partial_sums._LONG, matched_batch.STRETCH, partial_sums._PAIRS = before


@drawn(60)
def test_partial_rows_are_those_of_each_query(random: Random) -> None:
    drawn_check(random)


def drawn_check(random: Random) -> None:
    members = {query: expression(random) for query in random.sample(range(99), random.randint(1, 70))}
    index = IndexSlice.of(MATCHED, {query: predicate_of(asked) for query, asked in members.items()})
    keys = random.choice(((), (), ("s.w",), ("s.i", "s.w"), ("s.v",)))
    aggregates = tuple(random.sample(AGGREGATES, random.randint(1, 4)))
    if random.random() < 0.4:
        aggregates = AGGREGATES[: random.randint(1, 3)]  # nothing but counts
    window = random.choice(WINDOWS)
    table = rows(random, random.choice((0, 1, 60)), clock=random.choice((30, 200)))
    with small_parts(random.choice((1, 4, 128))):
        check(index, members, GroupBy(Window(SCAN, window), keys, aggregates), window, table)


def check(
    index: IndexSlice,
    members: dict[int, Expression | None],
    node: GroupBy,
    window: RangeWindow,
    table: pa.Table,
) -> None:
    shared = GroupBy(Window(MATCHED, window), (QUERY, *node.keys), node.aggregates)
    found = index.over_rows(table).partials(table, shared, window, BEGINNING)
    assert found.schema.names == [*partial_schema(shared).names, TS, EXP]
    named = index.named(table)
    for query, asked in members.items():
        own = named if asked is None else named.filter(mask_of(asked, named))
        mine = found.filter(pa.array(found.column(QUERY).to_numpy() == query)).drop_columns([QUERY])
        expected = on_its_own(node, window, own)
        assert same_rows(added_up(node, mine), added_up(node, expected)) is None, query


def on_its_own(node: GroupBy, window: RangeWindow, table: pa.Table) -> pa.Table:
    forever = pa.array([2**62] * table.num_rows, pa.int64())
    seen = TimeWindow(window).process([Delta(table.append_column(EXP, forever), 10**6)], -1, 10**6)
    return PreAggregate(node, combine=True).process([seen], -1, 10**6).table


def added_up(node: GroupBy, table: pa.Table) -> pa.Table:
    """One row per group and lifetime, whatever was added up before."""
    sums = [partial.name for partial in partials_of(node)]
    alike = [name for name in table.column_names if name not in sums]
    frame = pl.DataFrame(table).group_by(alike).agg(pl.col(name).sum() for name in sums)
    return frame.to_arrow().select(sorted(table.column_names))


def test_what_may_fail_is_computed_only_for_tuples_that_are_for_a_query() -> None:
    # k + k does not fit into 64 bits for the largest k, and no query asks for it.
    small = Call(BOOLEAN, "in", (K, Literal(BIGINT, 1), Literal(BIGINT, 2)))
    window = RangeWindow(40, 10)
    double = Project(MATCHED, ((QUERY, Column(BIGINT, QUERY)), ("kk", Call(BIGINT, "add", (K, K)))))
    node = GroupBy(Window(double, window), (QUERY,), (Aggregate("s", "sum", Column(BIGINT, "kk"), BIGINT),))
    index = IndexSlice.of(MATCHED, {3: predicate_of(small)})
    table = rows(Random(4), 50)
    named = index.named(table)
    asked = named.filter(mask_of(small, named))
    expected = sum(evaluate(Call(BIGINT, "add", (K, K)), asked).to_pylist())
    assert (
        sum(index.over_rows(table).partials(table, node, window, BEGINNING).column("_sum_0").to_pylist())
        == expected
        > 0
    )


def test_counts_of_a_thousand_queries_over_many_panes() -> None:
    random = Random(8)
    bounds = {query: random.choice((0, 1, 2, 3, 5)) for query in range(1030)}
    asked = {
        query: Call(BOOLEAN, "le", (Column(INT, "s.i"), Literal(INT, bound)))
        for query, bound in bounds.items()
    }
    index = IndexSlice.of(MATCHED, {query: predicate_of(a) for query, a in asked.items()})
    table = rows(random, 5000, clock=90)
    window = RangeWindow(40, 10)
    node: Node = GroupBy(Window(MATCHED, window), (QUERY,), (Aggregate("n", "count", None, BIGINT),))
    assert isinstance(node, GroupBy)
    found = pl.DataFrame(index.over_rows(table).partials(table, node, window, BEGINNING))
    totals = dict(found.group_by(QUERY).agg(pl.col("_rows").sum()).iter_rows())
    i = table.column("i").to_numpy()
    assert totals == {query: int((i <= bound).sum()) for query, bound in bounds.items()}
    assert found.get_column(TS).n_unique() == 9


def test_the_query_need_not_be_named_query() -> None:
    second = Matched(SCAN, 1)
    window = RangeWindow(40, 10)
    node = GroupBy(Window(second, window), ("_query_1", "s.w"), (Aggregate("n", "count", None, BIGINT),))
    table = rows(Random(1), 9)
    matcher = IndexSlice.of(second, {5: predicate_of(None)}).over_rows(table)
    found = matcher.partials(table, node, window, BEGINNING)
    assert found.column_names == ["_query_1", "s.w", "_rows", TS, EXP]
    assert sum(found.column("_rows").to_pylist()) == 9
    assert found.schema.field("s.w").type == STRING.arrow
