"""What is expected of the nodes of a plan, with the figures of the papers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.optimizer.estimates import Estimate, Estimates
from panes.optimizer.fact_names import join_name, selection_name
from panes.optimizer.nested_loop_cost import JoinedStream, joined_size
from panes.optimizer.statistics import Fact, FactName, Kind, Statistics
from panes.plan import nodes
from panes.plan.expressions import Call, Column, Expression, Literal
from panes.plan.schema import Field, Schema
from panes.plan.types import BIGINT, BOOLEAN
from panes.plan.walk import walk
from panes.plan.windows import RangeWindow, RowsWindow, WindowSpec

SECOND = 1_000_000


def stream(name: str, *columns: str) -> nodes.StreamScan:
    return nodes.StreamScan(name, name, Schema(tuple(Field(f"{name}.{c}", BIGINT) for c in columns)))


def window(name: str, spec: WindowSpec, columns: Sequence[str] = ("k",)) -> nodes.Window:
    return nodes.Window(stream(name, *columns), spec)


def statistics(facts: Mapping[tuple[Kind, str], float]) -> Statistics:
    return Statistics({FactName(*name): Fact(value, 1) for name, value in facts.items()})


def column(name: str) -> Column:
    return Column(BIGINT, name)


def trees(relations: Sequence[nodes.Node]) -> Iterator[nodes.Node]:
    """All trees of joins on the columns `k` over relations in this order, each side joined by its first column."""
    if len(relations) == 1:
        yield relations[0]
    for cut in range(1, len(relations)):
        for left in trees(relations[:cut]):
            for right in trees(relations[cut:]):
                yield nodes.Join(left, right, (left.schema.names[0],), (right.schema.names[-1],))


def all_trees(relations: Sequence[nodes.Node]) -> Iterator[nodes.Node]:
    for order in permutations(relations):
        yield from trees(order)


def same(one: Estimate, other: Estimate) -> bool:
    figures = [(e.rate, e.size, e.early) for e in (one, other)]
    return figures[0] == pytest.approx(figures[1])


# Conditions over four relations of which some share a column: every tree has those that its sides allow.
windows = st.one_of(
    st.builds(RangeWindow, st.integers(1, 500).map(lambda s: s * SECOND)),
    st.builds(RowsWindow, st.integers(1, 1000)),
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(windows, st.floats(0.5, 200), st.integers(1, 5000)), min_size=2, max_size=4),
    st.floats(0, 1),
    st.data(),
)
def test_an_n_way_join_on_one_column_gives_the_same_in_every_tree(
    drawn: list[tuple[WindowSpec, float, int]], measured: float, data: st.DataObject
) -> None:
    relations = [window(f"s{n}", spec) for n, (spec, _, _) in enumerate(drawn)]
    facts: dict[tuple[Kind, str], float] = {}
    for n, (_, rate, values) in enumerate(drawn):
        facts["rate", f"s{n}"] = rate
        facts["distinct", f"s{n}.k"] = values
    for one, other in permutations(relations, 2):
        if data.draw(st.floats(0, 1)) < measured:
            name = join_name(nodes.Join(one, other, (one.schema.names[0],), (other.schema.names[0],)))
            facts["join", name] = data.draw(st.floats(0.0001, 1))
    estimates = Estimates(statistics(facts))
    found = [estimates.of(tree) for tree in all_trees(relations)]
    assert all(same(found[0], other) for other in found)


def chain(order: Sequence[int], specs: Sequence[WindowSpec]) -> nodes.Node:
    """A left-deep join of a ⋈ b on x, b ⋈ c on y and c < d, in an order; products where nothing joins."""
    names = ["a", "b", "c", "d"]
    relations = [window(n, spec, ("x", "y")) for n, spec in zip(names, specs, strict=True)]
    pairs = [("a.x", "b.x"), ("b.y", "c.y")]
    tree: nodes.Node = relations[order[0]]
    for number in order[1:]:
        right = relations[number]
        keys = [(p, q) for one, other in pairs for p, q in ((one, other), (other, one))]
        keys = [(p, q) for p, q in keys if p in tree.schema and q in right.schema]
        rest: Expression = Call(BOOLEAN, "lt", (column("c.x"), column("d.x")))
        both = {*tree.schema.names, *right.schema.names}
        is_new = {"c.x", "d.x"} <= both and not {"c.x", "d.x"} <= set(tree.schema.names)
        left_keys, right_keys = tuple(p for p, _ in keys), tuple(q for _, q in keys)
        tree = nodes.Join(tree, right, left_keys, right_keys, rest if is_new else None)
    return tree


@settings(max_examples=40, deadline=None)
@given(
    st.lists(windows, min_size=4, max_size=4),
    st.lists(st.floats(0.5, 100), min_size=4, max_size=4),
    st.booleans(),
)
def test_a_join_with_several_conditions_gives_the_same_in_every_order(
    specs: list[WindowSpec], rates: list[float], measured: bool
) -> None:
    facts: dict[tuple[Kind, str], float] = {("rate", name): r for name, r in zip("abcd", rates, strict=True)}
    if measured:
        facts |= {("join", "a.x = b.x"): 0.03, ("join", "c.x < d.x"): 0.4}
    estimates = Estimates(statistics(facts))
    found = [estimates.of(chain(order, specs)) for order in permutations(range(4))]
    assert all(same(found[0], other) for other in found)


def test_sizes_are_those_of_the_thesis_where_all_values_are_in_the_windows() -> None:
    # Table 5.3, with more rows, so that every value is there.
    given_ = [
        JoinedStream(10, 100, 500),
        JoinedStream(1, 100, 50),
        JoinedStream(1, 200, 40),
        JoinedStream(3, 100, 5),
    ]
    times = 1000
    facts: dict[tuple[Kind, str], float] = {}
    for n, s in enumerate(given_):
        facts |= {("rate", f"s{n}"): s.rate * times, ("distinct", f"s{n}.k"): s.values}
    relations = [window(f"s{n}", RangeWindow(int(s.seconds) * SECOND)) for n, s in enumerate(given_)]
    found = Estimates(statistics(facts)).of(next(all_trees(relations)))
    assert found.size == pytest.approx(joined_size(given_) * times ** len(given_))


EXAMPLE_1 = {
    ("rate", "a"): 10.0,
    ("rate", "b"): 70.0,
    ("rate", "c"): 20.0,
    ("join", "a.x = b.x"): 0.5,
    ("join", "b.y = c.y"): 0.2,
}
"""Static optimization, example 1: windows of ten rows."""


@pytest.mark.parametrize(
    ("order", "visits", "fast", "slow"),
    [("abc", 500, 0.25, 1.5), ("bca", 280, 0.14, 0.84), ("acb", 400, 0.20, 1.2)],
)
def test_orders_of_example_1_cost_what_the_paper_says(
    order: str, visits: float, fast: float, slow: float
) -> None:
    tree = chain(["abc".index(name) for name in order], [RowsWindow(10)] * 4)
    estimates = Estimates(statistics(EXAMPLE_1))
    joins = [node for node in walk(tree) if isinstance(node, nodes.Join)]
    # A tuple visits a join when it comes to it, from a stream or from another join.
    came = sum(estimates.of(side).rate for join in joins for side in join.children)
    assert came == pytest.approx(visits)
    assert came * 0.0005 == pytest.approx(fast)
    assert came * 0.003 == pytest.approx(slow)
    assert estimates.of(tree).rate == pytest.approx(1000)


@pytest.mark.parametrize(("first_is_cheap", "utilization"), [(True, 0.75), (False, 1.25)])
def test_filters_in_both_orders_cost_what_the_paper_says(first_is_cheap: bool, utilization: float) -> None:
    # Static optimization, figure 1: 0.5 ms passes a quarter, 1 ms passes half of 1,000 rows per second.
    cheap, dear = (Call(BOOLEAN, "gt", (column(f"s.{c}"), Literal(BIGINT, 0))) for c in "xy")
    scan = stream("s", "x", "y")
    facts: dict[tuple[Kind, str], float] = {("rate", "s"): 1000}
    facts |= {
        ("selectivity", selection_name(cheap, scan)): 0.25,
        ("selectivity", selection_name(dear, scan)): 0.5,
    }
    seconds = {cheap: 0.0005, dear: 0.001}
    lower, upper = (cheap, dear) if first_is_cheap else (dear, cheap)
    plan = nodes.Select(nodes.Select(scan, lower), upper)
    estimates = Estimates(statistics(facts))
    selections = [node for node in walk(plan) if isinstance(node, nodes.Select)]
    busy = sum(estimates.of(node.child).rate * seconds[node.predicate] for node in selections)
    assert busy == pytest.approx(utilization)


def test_a_negation_gives_the_same_above_a_join_and_below_it() -> None:
    a, b, c = (window(name, RangeWindow(60 * SECOND), ("x", "y")) for name in "abc")
    below = nodes.Join(nodes.AntiJoin(a, b, ("a.x",), ("b.x",)), c, ("a.y",), ("c.y",))
    above = nodes.AntiJoin(nodes.Join(a, c, ("a.y",), ("c.y",)), b, ("a.x",), ("b.x",))
    estimates = Estimates(Statistics())
    assert estimates.of(above).size == pytest.approx(estimates.of(below).size)


def test_groups_change_once_per_slide() -> None:
    by = nodes.GroupBy(window("s", RangeWindow(600 * SECOND, 10 * SECOND)), ("s.k",), ())
    facts: dict[tuple[Kind, str], float] = {("rate", "s"): 1000, ("distinct", "s.k"): 50}
    assert Estimates(statistics(facts)).of(by).rate == pytest.approx(50 / 10)


def test_groups_change_once_per_span_where_nothing_slides() -> None:
    by = nodes.GroupBy(window("s", RangeWindow(600 * SECOND)), ("s.k",), ())
    facts: dict[tuple[Kind, str], float] = {
        ("rate", "s"): 1000,
        ("distinct", "s.k"): 50,
        ("span", "epoch"): 2,
    }
    estimates = Estimates(statistics(facts))
    assert estimates.of(by).rate == pytest.approx(50 / 2)
    assert estimates.changes(by, every_instant=True) == pytest.approx(2000)


def test_an_outer_join_has_the_pairs_and_the_rows_without_a_partner() -> None:
    a, b = (window(name, RangeWindow(10 * SECOND)) for name in "ab")
    facts: dict[tuple[Kind, str], float] = {
        ("rate", "a"): 10,
        ("rate", "b"): 10,
        ("join", "a.k = b.k"): 0.001,
        ("selectivity", "NOT EXISTS a.k = b.k"): 1.2,
        ("early", "NOT EXISTS a.k = b.k"): 0.25,
    }
    found = Estimates(statistics(facts)).of(nodes.OuterJoin(a, b, ("a.k",), ("b.k",)))
    assert found.size == pytest.approx(0.001 * 100 * 100 + 0.9 * 100)
    # Of twelve rows that are given for ten that come, a quarter is taken back.
    assert found.early == pytest.approx(0.25 * 12)
    assert found.rate == pytest.approx(0.001 * 2 * 10 * 100 + 12)
