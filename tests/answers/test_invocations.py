"""Invocations are counted by name until somebody takes the counts."""

from panes.answers.invocations import Invocations


def test_counts_are_taken_once_whatever_the_case_of_the_name():
    invocations = Invocations()
    for name in ("large", "Large", "small"):
        invocations.count(name)
    assert invocations.taken() == {"large": 2, "small": 1}
    assert invocations.taken() == {}
