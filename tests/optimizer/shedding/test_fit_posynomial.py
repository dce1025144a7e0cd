"""Posynomials that come close to functions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from panes.optimizer.shedding.fit_posynomial import LOWEST, fit_posynomial, halves_of, products_of
from panes.optimizer.shedding.posynomial import Box, Posynomial
from panes.optimizer.values_in import values_in


def test_a_posynomial_of_the_terms_is_found_as_it_is() -> None:
    a, b = Posynomial.share("a"), Posynomial.share("b")
    function = 0.5 + 3 * a + 2 * a * b + 7 * b * b
    found = fit_posynomial(function.at, products_of({"a": 1, "b": 2}))
    for point in ({"a": 0.3, "b": 0.9}, {"a": 1.0, "b": 0.05}):
        assert found.at(point) == pytest.approx(function.at(point), rel=1e-6)


def test_what_grows_slower_than_rows_is_met_within_a_few_percent() -> None:
    degrees = {"x": 1}

    def function(shares: Mapping[Box, float]) -> float:
        return 100 + 0.2 * shares["x"] * 2000 + values_in(1000, 2000 * shares["x"])

    found = fit_posynomial(function, [*products_of(degrees), *halves_of(degrees)])
    for share in np.geomspace(LOWEST, 1, 20):
        point = {"x": float(share)}
        assert found.at(point) == pytest.approx(function(point), rel=0.1)


def test_terms_that_are_little_of_the_whole_are_left_out() -> None:
    found = fit_posynomial(
        lambda shares: 1000 * shares["x"] ** 2 + shares["x"], [(("x", 1.0),), (("x", 2.0),)], 0.02
    )
    assert found.is_monomial


def test_a_function_that_is_zero_has_no_terms() -> None:
    assert fit_posynomial(lambda _: 0.0, products_of({"x": 1})) == Posynomial()


def test_many_boxes_have_few_terms() -> None:
    degrees = dict.fromkeys("abcdefgh", 1)
    assert len(products_of(degrees)) == 1 + 8 + 28 + 1
