"""The shape of a plan in one line."""

from __future__ import annotations

import pytest

from panes.plan.nodes import Distinct, Istream, Join, Node, Union, Window
from panes.plan.shape import shape
from panes.plan.windows import RangeWindow
from tests.plan.test_output_streams import OTHER, SCAN, counted

S, T = (Window(scan, RangeWindow(20)) for scan in (SCAN, OTHER))
JOINED = Join(S, T, ("s.a",), ("t.a",))


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (S, "s"),
        (JOINED, "s ⋈ t"),
        (Join(S, T, (), ()), "s × t"),
        (Istream(JOINED), "s ⋈ t"),
        (Union(JOINED, JOINED), "(s ⋈ t) ∪ (s ⋈ t)"),
        (counted(Distinct(JOINED)), "γ(δ(s ⋈ t))"),
        (counted(Distinct(S)), "γ(δ(s))"),
        (Distinct(Union(JOINED, JOINED)), "δ((s ⋈ t) ∪ (s ⋈ t))"),
        (Union(Distinct(S), T), "δ(s) ∪ t"),
    ],
)
def test_a_shape_says_what_stands_in_what(plan: Node, expected: str):
    assert shape(plan) == expected
