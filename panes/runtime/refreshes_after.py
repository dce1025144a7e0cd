"""How far the answers of a group are refreshed after an epoch, and what that took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from panes.delta.delta import BEGINNING
from panes.schedule.next_refreshes import costs_of
from panes.sharing.refreshes import Probes, Refreshes
from panes.state.storage.epoch_log import QueryProgress
from panes.state.storage.refreshed import Refreshed


def refreshes_after(
    progress: QueryProgress,
    before: QueryProgress | None,
    refreshes: Refreshes,
    probes: Sequence[Probes],
) -> QueryProgress:
    """The progress of a group that the epoch has run, with its refreshes; `before` is that of the epoch before,
    and `probes` are those of the shards."""
    known = {} if before is None else before.refreshed
    found = {query: known[query] for query in refreshes.shown}
    if progress.clock > BEGINNING:
        slide, batches = refreshes.due(progress.clock)
        for one in (one for batch in batches for one in batch):
            earlier = found.get(one.query)
            found[one.query] = (
                Refreshed(slide, progress.epoch)
                if earlier is None
                else earlier.after(
                    slide, progress.epoch, (slide - earlier.slide) // refreshes.pane_us, one.period
                )
            )
    costs = costs_of(before)
    if probes:
        # Shards work side by side, so the slowest one counts.
        slowest = max(probes, key=lambda one: one.scan_us + one.store_us)
        costs = costs.after(
            panes=slowest.panes,
            scan_s=slowest.scan_us / 1e6,
            answers=slowest.answers,
            finish_s=slowest.store_us / 1e6,
        )
    probe = (costs.per_pane_s, costs.per_answer_s) if costs.is_measured else None
    return replace(progress, refreshed=found, probe=probe)
