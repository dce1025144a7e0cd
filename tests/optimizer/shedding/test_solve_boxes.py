from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.paper_joins import example_plans
from panes.optimizer.shedding.posynomial import Posynomial
from panes.optimizer.shedding.sheddable_plans import SheddablePlan, sheddable_plans
from panes.optimizer.shedding.solve_boxes import solve_boxes
from panes.optimizer.shedding.windowed_join import WindowedJoin, WindowedStream
from tests.optimizer.shedding.grids import most_on_grid

RATES, SIZES, SELECTIVITIES = st.floats(1, 100), st.floats(1, 100), st.floats(0.01, 1)
PARTS = st.floats(0.01, 0.95)


@st.composite
def joins(draw: st.DrawFn, kinds: tuple[str, ...], most: int = 3) -> WindowedJoin:
    """A join of a few streams whose windows are of the given kinds."""
    names = "ABC"[: draw(st.integers(2, most))]
    streams = []
    for name in names:
        rate, size = draw(RATES), draw(SIZES)
        is_rows = draw(st.sampled_from(kinds)) == "ROWS"
        window = {"rows": size} if is_rows else {"seconds": size / rate}
        streams.append(WindowedStream(name, rate, **window))
    pairs = {frozenset(pair): draw(SELECTIVITIES) for pair in pairwise(names)}
    return WindowedJoin(tuple(streams), pairs)


def check(plan: SheddablePlan, part: float, least: float = 0.0, slack: float = 1e-6) -> None:
    floor = plan.cost.at(dict.fromkeys(plan.order, least))
    capacity = floor + part * (plan.cost.at({}) - floor)
    kept = solve_boxes([(plan.output, 1.0)], plan.cost, capacity, least)
    assert all(least <= share <= 1 for share in kept.values())
    assert plan.cost.at(kept) == pytest.approx(capacity, rel=1e-9)
    assert plan.output.at(kept) >= most_on_grid(plan.output, plan.cost, capacity, 20, least) * (1 - slack)


@pytest.mark.parametrize(
    ("letter", "kept", "rate"),
    [
        ("a", {"A": 1, "B": 17 / 47, "C": 1}, 17000 / 47),
        ("b", {"A": 1, "B": 0.68, "C": 1}, 680),
        ("c", {"A": 13 / 15, "B": 1, "C": 6.5 / 15}, 3380 / 9),
    ],
)
def test_example_1_with_range_windows_at_5_ms(letter: str, kept: dict[str, float], rate: float):
    """The shares in full: of each plan, boxes that are not full have the same price of a result."""
    plan = example_plans(is_range=True)[letter]
    solved = solve_boxes([(plan.output, 1.0)], plan.cost, 200)
    assert solved == pytest.approx(kept, rel=1e-6)
    assert plan.output.at(solved) == pytest.approx(rate, rel=1e-9)


@pytest.mark.parametrize(("letter", "found"), [("a", 361.7), ("b", 680), ("c", 375.6)])
def test_a_fine_grid_finds_no_more_in_example_1(letter: str, found: float):
    plan = example_plans(is_range=True)[letter]
    reached = most_on_grid(plan.output, plan.cost, 200, steps=100)
    assert 0.98 * found <= reached <= found * 1.0001


@settings(max_examples=25)
@given(joins(("RANGE",)), PARTS, st.floats(0, 0.3))
def test_range_windows_no_point_of_a_grid_gives_more(join: WindowedJoin, part: float, least: float):
    for plan in sheddable_plans(join):
        check(plan, part, least)


@settings(max_examples=12)
@given(joins(("ROWS", "RANGE")), PARTS)
def test_mixed_windows_no_point_of_a_grid_gives_more(join: WindowedJoin, part: float):
    for plan in sheddable_plans(join):
        check(plan, part, slack=1e-4)


@settings(max_examples=30)
@given(joins(("RANGE",)), PARTS, st.integers(1, 9), st.integers(1, 9))
def test_several_queries_no_point_of_a_grid_is_better(
    join: WindowedJoin, part: float, first: int, second: int
):
    (plan, *_) = sheddable_plans(join)
    alone = Posynomial.share("other")
    cost = plan.cost + plan.cost.at({}) * alone
    capacity = part * cost.at({})
    goals = [(plan.output, float(first)), (alone, float(second))]
    kept = solve_boxes(goals, cost, capacity)
    assert cost.at(kept) == pytest.approx(capacity, rel=1e-9)

    worth = Posynomial.constant(1)
    for goal, weight in goals:
        for _ in range(int(weight)):
            worth = worth * goal
    assert worth.at(kept) >= most_on_grid(worth, cost, capacity, steps=12) * (1 - 1e-6)


@settings(max_examples=20)
@given(joins(("ROWS", "RANGE")), PARTS, PARTS)
def test_more_capacity_never_gives_less(join: WindowedJoin, part: float, other: float):
    (plan, *_) = sheddable_plans(join)
    less, more = (
        plan.output.at(solve_boxes([(plan.output, 1.0)], plan.cost, p * plan.cost.at({})))
        for p in sorted((part, other))
    )
    assert less <= more * (1 + 1e-6)


def test_the_best_point_of_several_queries_over_rows_windows_is_found():
    """Results are sums: the goal is concave in the shares. Each query drops from the stream that brings less."""
    a, b, c = (Posynomial.share(box) for box in "ABC")
    kept = solve_boxes([(3 * a + b, 1.0), (c, 1.0)], a + b + c, capacity=1)
    assert kept == pytest.approx({"A": 0.5, "B": 0, "C": 0.5}, abs=1e-5)


def test_of_a_union_of_two_joins_one_is_kept_whole():
    """Two best points with a saddle between them, where a descent from equal shares stays."""
    a, b, c, d = (Posynomial.share(box) for box in "ABCD")
    kept = solve_boxes([(a * b + c * d, 1.0)], a + b + c + d, capacity=2)
    assert sorted(kept.values()) == pytest.approx([0, 0, 1, 1])


def test_five_streams_at_a_hundredth_use_up_the_capacity():
    streams = tuple(WindowedStream(name, 100, seconds=10) for name in "ABCDE")
    pairs = {frozenset(pair): 0.01 for pair in ("AB", "BC", "CD", "DE")}
    for plan in sheddable_plans(WindowedJoin(streams, pairs))[::12]:
        capacity = plan.cost.at({}) / 100
        assert plan.cost.at(solve_boxes([(plan.output, 1.0)], plan.cost, capacity)) == pytest.approx(capacity)


def test_the_same_program_gives_the_same_boxes():
    plan = example_plans(is_range=True)["c"]
    first, second = (solve_boxes([(plan.output, 1.0)], plan.cost, 100) for _ in range(2))
    assert first == second
