"""Holds: nothing that a reader looks at is let go."""

import pytest

from panes.errors import EpochGone
from panes.state.storage.leases import Leases


def test_an_epoch_that_is_held_is_not_released():
    holds = Leases()
    with holds.hold(3), holds.hold(3), holds.hold(5):
        assert holds.release_before(9) == 3
    assert holds.release_before(9) == 9


def test_what_was_released_cannot_be_held_any_more():
    holds = Leases()
    assert holds.release_before(4) == 4
    with pytest.raises(EpochGone, match="epoch 3 is no longer kept"), holds.hold(3):
        pass
    with holds.hold(4):
        assert holds.release_before(7) == 4


def test_what_was_released_stays_released():
    holds = Leases()
    holds.release_before(7)
    assert holds.release_before(5) == 7


def test_a_reader_that_moves_on_lets_go_of_what_it_has_read():
    holds = Leases()
    with holds.hold(3) as hold:
        hold.move_to(6)
        assert holds.release_before(9) == 6
    assert holds.release_before(9) == 9
