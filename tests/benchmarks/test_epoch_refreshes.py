"""Refreshes of a real synopsis, epoch by epoch."""

from __future__ import annotations

import pytest

from benchmarks import epoch_refreshes
from benchmarks.epoch_refreshes import PANE_US, Epochs, measured
from benchmarks.live_refresh import asking, drawn
from panes.schedule.next_refreshes import Asked


def test_fewer_queries_are_the_first_of_more():
    assert drawn(5) == drawn(20)[:5]
    asked = [1 / slide for _, slide in drawn(40)]
    enough = asking(2.0)
    assert sum(asked[: enough - 1]) < 2.0 <= sum(asked[:enough])


@pytest.mark.parametrize("schedule", ["edf", "hybrid_late_pending"])
def test_answers_are_refreshed_when_they_are_due(schedule: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(epoch_refreshes, "ROWS", 20)
    run = Epochs(schedule, {1: Asked(20 * PANE_US, 2 * PANE_US), 2: Asked(30 * PANE_US, 3 * PANE_US)})
    for _ in range(6):
        run.step()
    assert run.now > epoch_refreshes.BEGIN / 1e6 + 6 * epoch_refreshes.BESIDE_S
    assert set(run.refreshed) == {1, 2}
    assert all(slide.slide % PANE_US == 0 for slide in run.refreshed.values())
    assert all(waited <= 3 for waited in run.waits().values()), "there is time for all of them"


def test_a_run_tells_what_was_asked_for_and_what_was_given(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(epoch_refreshes, "ROWS", 2)
    run = measured("edf", 3, 4)
    assert run.asked_per_s == pytest.approx(sum(1e6 / (slide * PANE_US) for _, slide in drawn(3)), abs=0.01)
    assert run.queries == 3
    assert run.epoch_s >= epoch_refreshes.BESIDE_S
