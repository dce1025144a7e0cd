"""Names that a plan adds are no other's."""

from panes.plan.unused import unused


def test_an_unused_name_differs_in_more_than_case():
    assert unused("Max(a)", ["max(A)", "max(a)'"]) == "Max(a)''"
    assert unused("max(a)", ["max(b)"]) == "max(a)"
