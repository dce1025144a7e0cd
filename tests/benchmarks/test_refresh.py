"""The simulation of refreshes on a virtual clock, with costs that are given."""

from __future__ import annotations

from benchmarks.refresh import SCHEDULES, ProbeTimes, drawn, measured, need
from benchmarks.virtual_refreshes import VirtualRun

EIGHT = [ProbeTimes(1.0, 2.0)] * 8


def runs(count: int, load: float, *schedules: str, updates: int = 100) -> dict[str, VirtualRun]:
    """The schedules over a number of queries, at the load that 40 of them have without sharing."""
    factor = load / need(drawn(40, EIGHT, 1.0))
    members = drawn(count, EIGHT, factor)
    return {name: VirtualRun(SCHEDULES[name], members).run(updates) for name in schedules}


def test_hybrid_is_refreshed_more_often_and_less_late_than_conservative():
    found = runs(80, 1.0, "hybrid", "conservative", "no sharing")
    assert found["hybrid"].throughput > 1.3 * found["conservative"].throughput
    assert found["hybrid"].latency < 0.5 * found["conservative"].latency
    assert found["conservative"].latency < found["no sharing"].latency


def test_late_pending_doubles_hybrid_in_overload():
    found = runs(160, 2.5, "hybrid", "hybrid_late_pending")
    assert found["hybrid_late_pending"].throughput > 2 * found["hybrid"].throughput
    assert found["hybrid_late_pending"].latency < 0.5 * found["hybrid"].latency


def test_probing_is_measured_on_real_panes():
    found = measured(1500, (100,), panes=5)
    assert found.per_pane > 0
    assert found.per_answer > 0
