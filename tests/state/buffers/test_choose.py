from __future__ import annotations

import pytest

from panes.errors import SettingError
from panes.plan.patterns import Pattern
from panes.state.buffers.calendar import Calendar
from panes.state.buffers.choose import choose_buffer, kind_of_buffer
from panes.state.buffers.fifo import Fifo
from panes.state.buffers.keyed import Keyed
from panes.state.buffers.scan import Scan


@pytest.mark.parametrize(
    ("pattern", "strategy", "leaves_early", "kind"),
    [
        (Pattern.MONOTONIC, "upa", True, Fifo),
        (Pattern.WEAKEST, "upa", True, Fifo),
        (Pattern.WEAK, "upa", True, Calendar),
        (Pattern.STRICT, "upa", True, Keyed),
        (Pattern.STRICT, "upa", False, Calendar),
        (Pattern.WEAKEST, "nt", True, Keyed),
        (Pattern.STRICT, "nt", True, Keyed),
        (Pattern.WEAKEST, "direct", True, Scan),
        (Pattern.WEAK, "direct", True, Scan),
    ],
)
def test_the_table_of_buffers(pattern: Pattern, strategy: str, leaves_early: bool, kind: type):
    assert type(choose_buffer(pattern, strategy, ["k"], leaves_early=leaves_early)) is kind


def test_direct_refuses_strict_edges_and_says_what_to_use():
    with pytest.raises(SettingError, match="use 'upa' or 'nt'"):
        choose_buffer(Pattern.STRICT, "direct", ["k"])


def test_an_unknown_strategy_is_refused_by_name():
    with pytest.raises(SettingError, match="there is no strategy 'fast'"):
        kind_of_buffer(Pattern.WEAK, "fast")
