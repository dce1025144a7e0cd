"""What is said never to fail does not, and every function is judged."""

from __future__ import annotations

import pytest

from panes.plan.can_fail import can_fail
from panes.plan.expressions import Call, Cast, Column, Expression, OwnCall
from panes.plan.types import BIGINT, BOOLEAN, DOUBLE, FLOAT, INT, STRING

A, X, S = Column(BIGINT, "a"), Column(DOUBLE, "x"), Column(STRING, "s")

FAIL = [
    Call(BIGINT, "add", (A, A)),
    Call(BOOLEAN, "eq", (Call(BIGINT, "negate", (A,)), A)),
    Cast(INT, A),
    Cast(BIGINT, X),
    Cast(FLOAT, X),
    OwnCall(BIGINT, "f", (A,), "tests.own:f"),
]
NEVER_FAIL = [
    Call(DOUBLE, "add", (X, X)),
    Call(DOUBLE, "divide", (X, X)),
    Call(BIGINT, "modulo", (A, A)),
    Call(BOOLEAN, "in", (A, A)),
    Cast(BIGINT, S),
    Cast(DOUBLE, A),
    Cast(STRING, A),
    A,
]


@pytest.mark.parametrize("expression", FAIL, ids=str)
def test_overflows_and_functions_of_users_can_fail(expression: Expression) -> None:
    assert can_fail(expression)


@pytest.mark.parametrize("expression", NEVER_FAIL, ids=str)
def test_conditions_real_numbers_and_casts_of_text_cannot(expression: Expression) -> None:
    assert not can_fail(expression)
