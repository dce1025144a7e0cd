"""Which answers an epoch refreshes, and for which slide."""

from __future__ import annotations

from panes.sharing.refreshes import Refresh, Refreshes

TWO = (Refresh(1, 100, 2), Refresh(2, 200, 3))


def test_answers_are_refreshed_for_the_last_pane_that_has_ended():
    assert Refreshes(10, (TWO,), {1: 20, 2: 30}).due(47) == (40, [list(TWO)])


def test_answers_of_that_slide_are_left_alone():
    found = Refreshes(10, (TWO, (Refresh(3, 50, 1),)), {1: 40, 2: 30, 3: 40})
    assert found.due(49) == (40, [[TWO[1]]])
    assert found.shown_after(49) == {1: 40, 2: 40, 3: 40}
