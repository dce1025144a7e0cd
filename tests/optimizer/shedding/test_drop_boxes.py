from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.paper_joins import example_plans
from panes.optimizer.shedding.drop_boxes import drop_boxes
from panes.optimizer.shedding.posynomial import Posynomial

X, Y = Posynomial.share("x"), Posynomial.share("y")


@pytest.mark.parametrize("is_range", [False, True])
@pytest.mark.parametrize("letter", ["a", "b", "c"])
def test_all_boxes_keep_everything_when_it_fits(letter: str, is_range: bool):
    plan = example_plans(is_range)[letter]
    boxes = drop_boxes({"q": plan.output}, plan.cost, 500)
    assert boxes.kept == {"A": 1, "B": 1, "C": 1}
    assert boxes.fits
    assert not boxes.is_shedding


@pytest.mark.parametrize("is_range", [False, True])
@pytest.mark.parametrize("letter", ["a", "b", "c"])
def test_the_capacity_is_used_up_when_it_does_not_fit(letter: str, is_range: bool):
    plan = example_plans(is_range)[letter]
    boxes = drop_boxes({"q": plan.output}, plan.cost, 100)
    assert boxes.cost == pytest.approx(100)
    assert boxes.fits
    assert boxes.is_shedding


def test_rows_windows_are_a_knapsack_and_range_windows_are_not():
    kept = [
        drop_boxes({"q": p.output}, p.cost, 200).kept for p in (example_plans(r)["b"] for r in (False, True))
    ]
    assert kept == [
        pytest.approx({"A": 1, "B": 19 / 21, "C": 0}),
        pytest.approx({"A": 1, "B": 0.68, "C": 1}, rel=1e-6),
    ]


def test_queries_over_one_stream_get_capacity_by_priority():
    boxes = drop_boxes({"q": 1e6 * X, "r": 3 * Y}, 4 * X + 4 * Y, 2, priorities={"q": 1, "r": 3})
    assert boxes.kept == pytest.approx({"x": 1 / 8, "y": 3 / 8})


def test_no_query_is_left_without_results():
    join, cheap = 900 * X * Y, Posynomial.share("z")
    boxes = drop_boxes({"join": join, "cheap": cheap}, 50 * X + 50 * Y + 900 * X * Y + cheap, 50)
    assert boxes.share("z") == 1
    assert 0.1 < boxes.share("x") < 1
    assert boxes.share("x") == pytest.approx(boxes.share("y"), rel=1e-4)


def test_a_query_that_does_not_shed_takes_its_part_first():
    assert drop_boxes({"q": X}, X + 0.3, 0.8).kept == pytest.approx({"x": 0.5})


def test_what_no_box_can_drop_may_not_fit():
    boxes = drop_boxes({"q": X}, X + 2, 1)
    assert boxes.kept == {"x": 0}
    assert not boxes.fits


def test_no_box_keeps_less_than_the_least():
    boxes = drop_boxes({"q": 2 * X + Y}, X + Y, 1, least=0.25)
    assert boxes.kept == pytest.approx({"x": 0.75, "y": 0.25})
    boxes = drop_boxes({"q": X, "r": Y}, X + Y, 0.4, least=0.25)
    assert boxes.kept == {"x": 0.25, "y": 0.25}
    assert not boxes.fits


def test_boxes_that_cost_nothing_and_queries_without_results_take_no_part():
    boxes = drop_boxes({"q": X * Y, "r": Posynomial()}, 2 * X, 1)
    assert boxes.kept == pytest.approx({"x": 0.5})
    assert boxes.share("y") == 1


def test_queries_without_any_results_shed_too():
    boxes = drop_boxes({"q": Posynomial()}, 2 * X + X * Y, 1)
    assert boxes.fits
    assert boxes.is_shedding


@pytest.mark.parametrize(("capacity", "least"), [(0, 0), (-1, 0), (1, 2), (1, -0.1)])
def test_capacities_and_shares_that_make_no_sense_are_refused(capacity: float, least: float):
    with pytest.raises(ValueError):
        drop_boxes({"q": X}, X, capacity, least=least)


@st.composite
def costs(draw: st.DrawFn) -> Posynomial:
    factors = [draw(st.floats(0, 100)) for _ in range(5)]
    forms = (X, Y, X * Y, X * X, Posynomial.constant(1))
    return Posynomial.sum(factor * form for factor, form in zip(factors, forms, strict=True)) + X + Y


@settings(max_examples=40)
@given(
    st.lists(st.sampled_from([X, Y, X + Y, X * Y, 2 * X + X * Y]), min_size=1, max_size=3),
    costs(),
    st.floats(0.001, 1.2),
)
def test_boxes_always_fit_when_they_can(outputs: list[Posynomial], cost: Posynomial, part: float):
    capacity = cost.fixed + part * (cost.at({}) - cost.fixed)
    boxes = drop_boxes(dict(enumerate(outputs)), cost, capacity)
    assert boxes.fits
    assert boxes.cost == pytest.approx(min(capacity, cost.at({})), rel=1e-9)
    assert all(0 <= share <= 1 for share in boxes.kept.values())
