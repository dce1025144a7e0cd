"""The end of a chain, as the record of an epoch pins it."""

from __future__ import annotations

import pytest

from panes.state.storage.heads import NO_HEAD, Head, numbered


@pytest.mark.parametrize("head", [Head(7, "0123456789abcdef"), Head(7, "0123456789abcdef", "token")])
def test_a_head_is_read_as_it_was_pinned(head):
    assert Head.of(str(head)) == head


def test_what_is_not_pinned_has_no_head():
    assert Head.of(None) == NO_HEAD


def test_what_attempts_at_an_epoch_write_has_names_of_its_own():
    assert numbered("epoch", 7, "") == "epoch-0000000007"
    assert numbered("epoch", 7, "token") == "epoch-0000000007-token"
