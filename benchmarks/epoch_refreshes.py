"""Refreshes at more load than a core can refresh at every slide, epoch by epoch, without Spark: what an epoch
refreshes is decided and done by the code that driver and tasks run, and the clock is the time of the processor.

So the figures do not depend on what else the machine does, as those of `live_refresh.py` do. An epoch takes
`BESIDE_S` beside its refreshes, and the time that the synopsis needs to take in the rows that came.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

# As in the tasks of Spark.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import numpy as np
import pyarrow as pa

from benchmarks.live_refresh import ALONE, LOAD, TOGETHER, LiveRun, asking, drawn
from panes.plan.expressions import Aggregate, Column
from panes.plan.nodes import StreamScan
from panes.plan.schema import Schema
from panes.plan.types import BIGINT
from panes.plan.windows import RangeWindow
from panes.runtime.refreshes_after import refreshes_after
from panes.schedule.next_refreshes import Asked, NextRefreshes, RefreshedGroup
from panes.schedule.refresh_budget import RefreshBudget
from panes.sharing.shared_indexes import Members
from panes.sharing.shared_synopsis import SharedSynopsis
from panes.sharing.store import Arrivals
from panes.stages.fragment_run import FragmentRun
from panes.stages.make_plan import make_plan
from panes.state.storage.epoch_log import NOTHING, EpochRecord, QueryProgress
from panes.state.storage.refreshed import Refreshed
from panes.synopses.definition import EVERY, Definition, SynopsisReader, SynopsisSource

NAME = "refresh-epochs"
PANE_US, BESIDE_S = 100_000, 0.03
"""A pane, and what an epoch takes without refreshes beside taking in rows."""
SOURCES, ROWS = 1000, 3000
"""The values that tuples are grouped by, and the tuples of a pane."""
MANY, WARM_UP = 70, 10
"""The queries that are too many, and the epochs before anything is measured."""
GROUP = 1
BEGIN = 1000 * PANE_US


@dataclass
class Epochs:
    """A synopsis and the queries that read it, through epochs that follow each other without a pause."""

    schedule: str
    asked: Mapping[int, Asked]
    now: float = BEGIN / 1e6
    record: EpochRecord = NOTHING
    epochs: list[float] = field(default_factory=list)
    """How long each epoch took."""

    def __post_init__(self) -> None:
        columns = {name: Column(BIGINT, f"p.{name}") for name in ("src", "size")}
        scan = StreamScan("p", "p", Schema.of([(column.name, BIGINT) for column in columns.values()]))
        source = SynopsisSource(scan, (columns["src"],), ())
        total = Aggregate("total", "sum", columns["size"], BIGINT)
        readers = [
            SynopsisReader(source, EVERY, RangeWindow(one.range_us, one.slide_us), (total,))
            for one in self.asked.values()
        ]
        definition = replace(Definition.of(readers), pane_us=PANE_US)
        node = definition.node("basic", len(readers))
        (stage,) = make_plan(node).stages
        self._input = stage.inputs[0]
        self._store = SharedSynopsis(node)
        self._group = RefreshedGroup(GROUP, PANE_US, self.asked)
        self._next = NextRefreshes()
        self._random = np.random.default_rng(19)
        self._clock = BEGIN - definition.range_us

    def step(self) -> None:
        """One epoch: the rows that came since the last one, and what is refreshed."""
        before, since, clock = self.record, self._clock, int(self.now * 1e6)
        rows = self._rows(since, clock)
        came, _ = FragmentRun(rows).input(self._input, since)
        began = time.process_time()
        refreshes = self._next.after(before, [self._group], self.schedule, is_live=True)[GROUP]
        arrivals = Arrivals({self._input.name: came}, Members(), since, clock, not before.epoch)
        self._store.advance(arrivals)
        beside = BESIDE_S + time.process_time() - began
        probes = self._store.refresh(refreshes, clock)
        refreshed = (probes.scan_us + probes.store_us) / 1e6
        known = before.queries.get(GROUP)
        progress = QueryProgress(1, 0, 0, 0, epoch=before.epoch + 1, since=since, clock=clock)
        progress = refreshes_after(progress, known, refreshes, [probes])
        budget = RefreshBudget(before.beside_refreshes_s).after(beside + refreshed, refreshed)
        self.record = replace(
            NOTHING, epoch=before.epoch + 1, queries={GROUP: progress}, beside_refreshes_s=budget.other_s
        )
        self.now += beside + refreshed
        self.epochs.append(beside + refreshed)
        self._clock = clock

    @property
    def refreshed(self) -> Mapping[int, Refreshed]:
        return self.record.queries[GROUP].refreshed

    def waits(self) -> Mapping[int, int]:
        """The updates since each query was refreshed."""
        return {query: (self._clock - one.slide) // PANE_US for query, one in self.refreshed.items()}

    def _rows(self, since: int, clock: int) -> pa.Table:
        count = ROWS * (clock - since) // PANE_US
        ts = since + 1 + np.arange(count) * (clock - since) // max(count, 1)
        return pa.table(
            {
                "src": self._random.integers(0, SOURCES, count),
                "size": self._random.integers(40, 1500, count),
                "_ts": ts,
            }
        )


def measured(schedule: str, count: int, epochs: int) -> LiveRun:
    """Runs some queries for a number of epochs after a warm-up."""
    asked = {number: Asked(*(PANE_US * panes for panes in one)) for number, one in enumerate(drawn(count))}
    run = Epochs(schedule, asked)
    for _ in range(WARM_UP):
        run.step()
    before, began = run.refreshed, run.now
    wait, latest = 0, 0
    periods = {query: one.slide_us // PANE_US for query, one in run.asked.items()}
    for _ in range(epochs):
        run.step()
        waits = run.waits()
        wait = max(wait, *waits.values())
        latest = max(latest, *(waited - periods[query] for query, waited in waits.items()))
    done = {query: one.refreshes - before[query].refreshes for query, one in run.refreshed.items()}
    late = sum(one.late_by - before[query].late_by for query, one in run.refreshed.items())
    passed = run.now - began
    return LiveRun(
        schedule,
        count,
        round(passed, 1),
        round(sum(1e6 / one.slide_us for one in run.asked.values()), 2),
        round(sum(done.values()) / passed, 2),
        min(done.values()),
        round(late / max(1, sum(done.values())), 2),
        wait,
        latest,
        round(float(np.median(run.epochs[WARM_UP:])), 3),
    )


def overloaded(epochs: int) -> list[LiveRun]:
    """Each query by itself, and together, at the load that is too high."""
    alone = measured(ALONE, MANY, epochs)
    most = asking(LOAD * alone.refreshed_per_s * PANE_US / 1e6)
    return [measured(schedule, most, epochs) for schedule in (ALONE, TOGETHER)]
