"""The table of scalar functions: every entry is whole, and found under its names."""

from __future__ import annotations

import pytest

from panes.plan.functions import ALIASES, FUNCTIONS


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_says_what_it_means_and_finds_itself(name: str) -> None:
    function = FUNCTIONS[name]
    assert function.name == name
    assert function.meaning
    assert function.most is None or function.least <= function.most
    assert all(function.most is None or place < function.most for place in function.constants)


def test_other_names_lead_to_functions() -> None:
    assert set(ALIASES.values()) <= set(FUNCTIONS)
    assert not set(ALIASES) & set(FUNCTIONS)
