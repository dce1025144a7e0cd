"""What epochs take beside the refreshes of answers."""

from __future__ import annotations

from collections.abc import Sequence

from panes.runtime.operator_task import Report
from panes.schedule.refresh_budget import RefreshBudget
from panes.sharing.refreshes import Probes
from panes.stages.exchange import Message
from panes.stages.running_query import RunningQuery
from panes.state.storage.epoch_log import EpochRecord


def beside_refreshes(
    queries: Sequence[RunningQuery], messages: Sequence[Message], before: EpochRecord, seconds: float
) -> float | None:
    """The seconds of an epoch without those of its refreshes, smoothed with those of the epochs before; None when
    there is nothing that could be refreshed."""
    if all(query.members is None or query.members.refreshes is None for query in queries):
        return None
    slowest: dict[int, float] = {}
    for report in (Report(**message.content) for message in messages if message.kind == "report"):
        if report.probed is not None:
            probes = Probes(*report.probed)
            took = (probes.scan_us + probes.store_us) / 1e6
            slowest[report.query] = max(took, slowest.get(report.query, 0.0))
    return RefreshBudget(before.beside_refreshes_s).after(seconds, sum(slowest.values())).other_s
