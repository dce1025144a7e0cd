from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.optimizer.shedding.posynomial import Posynomial

A, B = Posynomial.share("A"), Posynomial.share("B")
SHARES = st.fixed_dictionaries({"A": st.floats(0, 1), "B": st.floats(0, 1)})
TERMS = st.tuples(st.floats(0, 100), st.integers(0, 2), st.integers(0, 2))


def power(base: Posynomial, exponent: int) -> Posynomial:
    return power(base, exponent - 1) * base if exponent else Posynomial.constant(1)


@st.composite
def posynomials(draw: st.DrawFn) -> Posynomial:
    terms = draw(st.lists(TERMS, max_size=4))
    return Posynomial.sum(c * power(A, a) * power(B, b) for c, a, b in terms)


@given(posynomials(), posynomials(), SHARES)
def test_sums_and_products_have_the_values_of_sums_and_products(f: Posynomial, g: Posynomial, shares: dict):
    assert (f + g).at(shares) == pytest.approx(f.at(shares) + g.at(shares))
    assert (f * g).at(shares) == pytest.approx(f.at(shares) * g.at(shares))


@given(posynomials(), SHARES)
def test_boxes_can_be_given_one_after_the_other(f: Posynomial, shares: dict):
    left = f.given({"A": shares["A"]})
    assert "A" not in left.boxes
    assert left.at({"B": shares["B"]}) == pytest.approx(f.at(shares))
    assert left.given({"B": shares["B"]}).fixed == pytest.approx(f.at(shares))


@given(posynomials(), SHARES, SHARES)
def test_shares_of_a_box_behind_a_box_multiply(f: Posynomial, first: dict, second: dict):
    both = {box: first[box] * second[box] for box in first}
    assert f.behind(first).at(second) == pytest.approx(f.at(both))


@given(posynomials(), SHARES, SHARES)
def test_values_grow_with_shares(f: Posynomial, some: dict, others: dict):
    more = {box: max(some[box], others[box]) for box in some}
    assert f.at(some) <= f.at(more) * (1 + 1e-12)


def test_the_order_in_which_a_function_is_put_together_does_not_matter():
    assert A * B * 3 + 2 + A == 2 + A + B * (3 * A)
    assert hash(A + B) == hash(B + A)
    assert (B + A).boxes == ("A", "B")


def test_equal_powers_are_one_term_and_zeros_are_none():
    assert (A + A).terms == (((("A", 1.0),), 2.0),)
    assert Posynomial() == A * 0
    assert 0 + A == A


def test_a_box_that_is_not_named_keeps_everything():
    assert (2 * A * B).at({"A": 0.5}) == 1


@pytest.mark.parametrize(
    ("function", "is_linear", "is_monomial"),
    [
        (3 + 2 * A + B, True, False),
        (2 * A, True, True),
        (A * B, False, True),
        (A * A, False, True),
        (A + A * B, False, False),
    ],
)
def test_the_form_is_known(function: Posynomial, is_linear: bool, is_monomial: bool):
    assert (function.is_linear, function.is_monomial) == (is_linear, is_monomial)


def test_a_linear_function_has_slopes_and_a_fixed_part():
    function = 3 + 2 * A + B
    assert (function.fixed, function.slopes) == (3, {"A": 2, "B": 1})


@pytest.mark.parametrize("factor", [-1.0, float("inf"), float("nan")])
def test_factors_that_are_not_positive_numbers_are_refused(factor: float):
    with pytest.raises(ValueError, match="not positive"):
        factor * A
