"""The number of signatures that predicates can give is known before any tuple comes."""

from __future__ import annotations

from itertools import product

import pytest

from panes.plan.expressions import Call, Column, Expression, Literal
from panes.plan.types import BIGINT, BOOLEAN
from panes.sharing.possible_signatures import possible_signatures
from panes.synopses.definition import EVERY, NEVER

A, B = Column(BIGINT, "s.a"), Column(BIGINT, "s.b")


def compared(column: Column, op: str, value: int) -> Expression:
    return Call(BOOLEAN, op, (column, Literal(BIGINT, value)))


def both(*parts: Expression) -> Expression:
    return Call(BOOLEAN, "and", parts)


@pytest.mark.parametrize(
    ("predicates", "count"),
    [
        ([EVERY, NEVER], 1),
        ([compared(A, "eq", value) for value in range(50)], 51),
        ([compared(A, "eq", 1), compared(B, "eq", 1)], 4),
        ([both(compared(A, "eq", v), compared(B, "gt", v)) for v in range(50)], 101),
        ([compared(A, "gt", value) for value in range(50)], 52),
        ([compared(A, "gt", 1), compared(B, "gt", 1)], 4),
        ([Call(BOOLEAN, "lt", (A, B)), compared(A, "eq", 1)], 4),
    ],
)
def test_values_of_one_attribute_are_passed_apart(predicates: list[Expression], count: int):
    assert possible_signatures(predicates, 1000) == count


def test_more_than_is_asked_for_is_not_counted():
    columns = [Column(BIGINT, f"s.c{number}") for number in range(40)]
    predicates = [compared(column, "eq", value) for column, value in product(columns, range(3))]
    assert possible_signatures(predicates, 500) > 500
