"""Refreshing stored answers from a synopsis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import process_time_ns

import pyarrow as pa

from panes.delta.delta import BEGINNING
from panes.sharing.refreshes import Probes, Refresh, Refreshes
from panes.synopses.basic_interval import Probed
from panes.synopses.refreshed_answers import RefreshedAnswers


def refresh(
    windows: Callable[[int, Sequence[Refresh]], Sequence[Probed]],
    answers: RefreshedAnswers,
    refreshes: Refreshes,
    clock: int,
) -> Probes:
    """Stores the answers that an epoch refreshes which ends at a clock; returns what that took.

    `windows` gives the rows of the windows of several queries that end at an instant, which it reads together:
    once for each batch.
    """
    if clock == BEGINNING:
        return Probes(0, 0.0, 0, 0.0)
    slide, batches = refreshes.due(clock)
    found: dict[int, pa.Table] = {}
    panes = 0
    # Polars works in threads of its own. A worker does nothing else meanwhile.
    began = process_time_ns()
    for batch in batches:
        probed = windows(slide, batch)
        panes += max(one.probes for one in probed)
        found |= {one.query: window.rows for one, window in zip(batch, probed, strict=True)}
    scanned = process_time_ns()
    if found:
        answers.put(found, refreshes.shown_after(clock))
    return Probes(panes, (scanned - began) / 1000, len(found), (process_time_ns() - scanned) / 1000)
