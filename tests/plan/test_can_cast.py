"""The table of casts."""

from __future__ import annotations

from panes.plan.can_cast import CASTS, can_cast
from panes.plan.types import BINARY, BOOLEAN, COLUMN_TYPES, INT, INTERVAL, STRING, decimal, wider


def test_every_silent_cast_is_one_that_evaluators_know() -> None:
    for source in COLUMN_TYPES:
        for target in COLUMN_TYPES:
            if source != target and wider(source, target) == target:
                assert (source, target) in CASTS


def test_a_type_with_arguments_is_cast_as_its_family_is() -> None:
    assert can_cast(INT, decimal(5, 2))
    assert can_cast(decimal(5, 2), decimal(7, 1))
    assert not can_cast(BINARY, decimal(5, 2))
    assert not can_cast(INTERVAL, BOOLEAN)
    assert can_cast(STRING, INT)
