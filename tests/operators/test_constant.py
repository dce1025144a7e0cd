"""Rows that are always there."""

from __future__ import annotations

from panes.delta.delta import ALWAYS, BEGINNING, EXP, FOREVER, TS
from panes.operators.constant import Constant
from panes.plan.nodes import Values
from panes.plan.schema import Field, Schema
from panes.plan.types import BIGINT, STRING

VALUES = Values(Schema((Field("x", BIGINT), Field("y", STRING))), ((1, "a"), (2, None)))


def test_rows_come_in_the_first_span_that_has_an_instant() -> None:
    constant = Constant(VALUES)
    assert constant.process([], BEGINNING, BEGINNING).rows == 0
    assert constant.process([], BEGINNING, 5).table.to_pylist() == [
        {"x": 1, "y": "a", TS: ALWAYS, EXP: FOREVER},
        {"x": 2, "y": None, TS: ALWAYS, EXP: FOREVER},
    ]
    assert constant.process([], 5, 9).rows == 0
