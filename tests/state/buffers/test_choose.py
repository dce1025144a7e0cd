"""Which state is chosen, and that nobody else makes one."""

from __future__ import annotations

import ast
from pathlib import Path

import pyarrow as pa
import pytest

import panes
from panes.aggregates.accumulator_table import AccumulatorTable
from panes.aggregates.choose_state import choose_for_ends, choose_for_sums, choose_for_values
from panes.aggregates.extremes import Extremes
from panes.aggregates.frequencies import Frequencies
from panes.errors import SettingError
from panes.plan.patterns import Pattern
from panes.state.buffers.base import State
from panes.state.buffers.calendar import Calendar
from panes.state.buffers.choose import (
    choose_buffer,
    choose_for_duplicates,
    choose_for_expiry,
    choose_for_retractions,
    choose_for_versions,
    choose_for_waiting,
    layout_of,
)
from panes.state.buffers.chunked import sum_weights
from panes.state.buffers.fifo import Fifo
from panes.state.buffers.keyed import Keyed
from panes.state.buffers.keyed_versions import KeyedVersions
from panes.state.buffers.scan import Scan
from panes.state.buffers.timer_queue import TimerQueue

ROOT = Path(panes.__file__).parent
KINDS: dict[type[State], str] = {
    Fifo: "list",
    Calendar: "calendar",
    Keyed: "keyed",
    Scan: "scan",
    TimerQueue: "timer queue",
    KeyedVersions: "versions",
    AccumulatorTable: "accumulators",
    Frequencies: "value counts",
    Extremes: "extremes",
}
THEY_CHOOSE = {"state/buffers/choose.py", "aggregates/choose_state.py"}


@pytest.mark.parametrize(
    ("pattern", "strategy", "leaves_early", "layout", "reason"),
    [
        (Pattern.MONOTONIC, "upa", True, Fifo, "rows never leave"),
        (Pattern.WEAKEST, "upa", True, Fifo, "rows leave first in, first out"),
        (Pattern.WEAK, "upa", True, Calendar, "rows leave at a known time in any order"),
        (Pattern.STRICT, "upa", True, Keyed, "retractions find their row"),
        (Pattern.STRICT, "upa", False, Calendar, "rows leave at a known time, few are retracted before"),
        (Pattern.WEAKEST, "nt", True, Keyed, "every row leaves by a retraction (nt)"),
        (Pattern.STRICT, "nt", True, Keyed, "every row leaves by a retraction (nt)"),
        (Pattern.WEAKEST, "direct", True, Scan, "read whole (direct)"),
        (Pattern.WEAK, "direct", True, Scan, "read whole (direct)"),
    ],
)
def test_the_table_of_buffers(
    pattern: Pattern, strategy: str, leaves_early: bool, layout: type[State], reason: str
):
    buffer = choose_buffer(pattern, strategy, ["k"], leaves_early=leaves_early)
    assert (type(buffer), buffer.keys, buffer.reason) == (layout, ("k",), reason)
    assert layout_of(pattern, strategy, leaves_early=leaves_early).kind == buffer.kind == KINDS[layout]


def test_every_state_knows_its_kind_its_keys_and_the_reason():
    def updates(rows: pa.Table) -> int:
        return rows.num_rows

    chosen: list[State] = [
        choose_for_duplicates("upa", ["k"], combine=sum_weights, updates=updates, calendar_days=9),
        choose_for_duplicates("direct", ["k"], combine=sum_weights, updates=updates, calendar_days=9),
        choose_for_expiry(None, "because"),
        choose_for_retractions(["k", "l"], "because"),
        choose_for_versions(["k"], "because"),
        choose_for_waiting(pa.schema([("_exp", pa.int64())]), "because"),
        choose_for_sums(["k"], "because"),
        choose_for_values(pa.string(), ["k"], "because"),
        choose_for_ends(pa.string(), ["k"], greatest=True),
    ]
    assert [(state.kind, state.keys, state.reason) for state in chosen] == [
        ("calendar", ("k",), "a shown row leaves at a known time, its duplicates are found by value"),
        ("scan", ("k",), "read whole (direct)"),
        ("calendar", None, "because"),
        ("keyed", ("k", "l"), "because"),
        ("versions", ("k",), "because"),
        ("timer queue", None, "because"),
        ("accumulators", ("k",), "because"),
        ("value counts", ("k",), "because"),
        ("extremes", ("k",), "a value that another one exceeds and outlives is never the greatest"),
    ]
    assert {type(state): state.kind for state in chosen}.items() <= KINDS.items()


def test_states_are_made_where_they_are_chosen_and_nowhere_else():
    names = {kind.__name__ for kind in KINDS}
    makers = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if not names.isdisjoint(_made_in(path.read_text()))
    }
    assert makers == THEY_CHOOSE


def test_states_that_are_made_are_seen():
    source = (
        "a = Fifo([])\nb: Keyed = field(default_factory=Keyed)\nc = [Scan(k) for k in x]\ny: Calendar = d"
    )
    assert _made_in(source) == ["Fifo", "field", "Keyed", "Scan"]


def _made_in(source: str) -> list[str]:
    """The names that are called, or given to be called."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            given = [node.func, *(keyword.value for keyword in node.keywords)]
            found += [each.id for each in given if isinstance(each, ast.Name)]
    return found


def test_direct_refuses_strict_edges_and_says_what_to_use():
    with pytest.raises(SettingError, match="use 'upa' or 'nt'"):
        choose_buffer(Pattern.STRICT, "direct", ["k"])


def test_an_unknown_strategy_is_refused_by_name():
    with pytest.raises(SettingError, match="there is no strategy 'fast'"):
        layout_of(Pattern.WEAK, "fast")
