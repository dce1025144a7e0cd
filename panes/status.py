"""How a database is doing: what `db.status()` gives, and what `run(on_epoch=…)` is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import TypeVar

from panes.answers.measured_reads import ReadTimes
from panes.clock import to_datetime
from panes.delta.delta import BEGINNING
from panes.operators.measures import Measures
from panes.optimizer.statistics import Statistics
from panes.schedule.scheduled import Scheduled
from panes.stages.measure_log import Measured
from panes.state.storage.epoch_log import EpochRecord, QueryProgress, StreamProgress
from panes.state.storage.manifest import ANSWER

_OfBox = TypeVar("_OfBox")

RECENT = 10
"""The number of epochs over which the rate of rows is measured."""


@dataclass(frozen=True)
class Epoch:
    """A committed epoch: its number, the clock of the furthest stream, its rows, its seconds, also by phase."""

    number: int
    clock: datetime | None
    rows: int
    seconds: float
    phases: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Status:
    """The state of things after the last committed epoch; `epoch` is -1 before the first.

    `rows` counts all rows so far, `rows_per_second` those of the last epochs, and `lag_seconds` is wall time
    minus the clock: for a live stream, how far the answers are behind. `phases` says how the seconds of the last
    epoch were spent. State is what the last epoch names: what older epochs that are still readable need comes on
    top of it. `streams` and `queries` have the clock of each; `clock` is that of the furthest stream.
    `output_delay_seconds` says how long after the instants at which they happen the changes of answers became
    visible in the last epoch, on average, and `max_output_delay_seconds` at most; None when nothing changed.
    `failed` are the queries that are suspended, with the reason, and `incomplete` those whose windows may lack
    tuples, with the instant from which on each has seen all.
    """

    is_running: bool
    epoch: int = -1
    clock: datetime | None = None
    rows: int = 0
    rows_per_second: float = 0.0
    lag_seconds: float | None = None
    output_delay_seconds: float | None = None
    max_output_delay_seconds: float | None = None
    epoch_seconds: float = 0.0
    phases: Mapping[str, float] = field(default_factory=dict)
    state_bytes: int = 0
    state_segments: int = 0
    late_rows: int = 0
    bad_rows: int = 0
    streams: Mapping[str, StreamProgress] = field(default_factory=dict)
    queries: Mapping[str, QueryProgress] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    measured: Mapping[str, Measures] = field(default_factory=dict)
    """What all steps of each query did together, per epoch, averaged over recent ones."""
    incomplete: Mapping[str, datetime] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)
    """Rows per second of event time that each stream brings, averaged over recent epochs."""
    utilization: str = ""
    """How busy all queries are expected to keep the cluster, and whether that is feasible."""
    kept: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The shares of the newest rows that queries keep now, by query and stream, where that is not everything."""
    shed: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """How many rows were dropped for each query since it began, by query and stream, where some were."""
    not_shed: Mapping[str, str] = field(default_factory=dict)
    """The queries that were registered under `SET shed = 'auto'` and stay exact, with the reason."""
    refreshed: Mapping[str, Scheduled] = field(default_factory=dict)
    """The queries that are refreshed by deadline, with how that keeps to what they ask for."""
    not_refreshed: Mapping[str, str] = field(default_factory=dict)
    """The queries that were registered under `SET refresh = 'deadline'` and are computed at every slide, with the
    reason."""
    overload: str = ""
    """Why the load is too high in spite of drop boxes; empty when it is not."""
    reads: Mapping[str, ReadTimes] = field(default_factory=dict)
    """How long reads of this connection took lately and how old the states were that they saw, in percentiles, by
    isolation level."""


def epoch_of(record: EpochRecord) -> Epoch:
    return Epoch(record.epoch, _moment(record.clock), record.rows, record.seconds, record.phases)


def status_of(
    recent: Sequence[EpochRecord],
    queries: Mapping[int, str],
    plans: Mapping[int, str],
    streams: Mapping[int, str],
    failed: Mapping[str, str],
    now_us: int,
    measured: Measured,
    *,
    is_running: bool,
    incomplete: Mapping[str, int],
    statistics: Statistics,
    utilization: str,
    not_shed: Mapping[str, str],
    refreshed: Mapping[str, Scheduled],
    not_refreshed: Mapping[str, str],
    overload: str = "",
    reads: Mapping[str, ReadTimes] = MappingProxyType({}),
) -> Status:
    """The status after the last of some recent epochs; queries and streams have their names by number, and queries
    also by that of the plan that runs each."""
    if not recent:
        return Status(
            is_running,
            failed=failed,
            utilization=utilization,
            not_shed=not_shed,
            refreshed=refreshed,
            not_refreshed=not_refreshed,
            reads=reads,
        )
    last = recent[-1]
    passed_us = last.finished_us - recent[0].finished_us
    came = sum(record.rows for record in recent[1:])
    return Status(
        is_running=is_running,
        epoch=last.epoch,
        clock=_moment(last.clock),
        rows=sum(stream.rows for stream in last.streams.values()),
        rows_per_second=came * 1_000_000 / passed_us if passed_us > 0 else 0.0,
        lag_seconds=None if last.clock == BEGINNING else (now_us - last.clock) / 1_000_000,
        output_delay_seconds=_mean_delay(last),
        max_output_delay_seconds=_max_delay(last),
        epoch_seconds=last.seconds,
        phases=last.phases,
        state_bytes=last.state_bytes,
        state_segments=sum(query.segments for query in last.queries.values()),
        late_rows=sum(stream.late for stream in last.streams.values()),
        bad_rows=sum(stream.bad for stream in last.streams.values()),
        rates={
            name: rate for name in streams.values() if (rate := statistics.measured("rate", name)) is not None
        },
        streams={streams[stream]: p for stream, p in last.streams.items() if stream in streams},
        failed=failed,
        incomplete={name: to_datetime(since) for name, since in incomplete.items()},
        utilization=utilization,
        queries={queries[query]: p for query, p in last.queries.items() if query in queries},
        measured={plans[plan]: m for plan, m in _by_plan(measured).items() if plan in plans},
        kept={
            name: some
            for name, boxes in _named(last.boxes, queries, streams).items()
            if (some := {stream: box.share for stream, box in boxes.items() if box.share < 1})
        },
        shed=_named(last.shed, queries, streams),
        not_shed=not_shed,
        refreshed=refreshed,
        not_refreshed=not_refreshed,
        overload=overload,
        reads=reads,
    )


def _named(
    of_boxes: Mapping[int, Mapping[int, _OfBox]], queries: Mapping[int, str], streams: Mapping[int, str]
) -> dict[str, dict[str, _OfBox]]:
    """What there is of each drop box, by the names of its query and its stream."""
    return {
        queries[query]: {streams[stream]: one for stream, one in found.items() if stream in streams}
        for query, found in of_boxes.items()
        if query in queries
    }


def _delayed(last: EpochRecord) -> list[QueryProgress]:
    """The queries whose answers the epoch has changed."""
    return [query for query in last.queries.values() if query.epoch == last.epoch and query.delayed]


def _mean_delay(last: EpochRecord) -> float | None:
    found = _delayed(last)
    changes = sum(query.delayed for query in found)
    return sum(query.delay_us * query.delayed for query in found) / changes / 1e6 if changes else None


def _max_delay(last: EpochRecord) -> float | None:
    return max((query.max_delay_us / 1e6 for query in _delayed(last)), default=None)


def _by_plan(measured: Measured) -> Mapping[int, Measures]:
    """The steps of each query together; rows come in at its inputs and go out as its answer."""
    found: dict[int, Measures] = {}
    for place, measures in measured.items():
        done = measures.smooth
        if place.step != ANSWER:
            done = replace(done, positive=0, expired=0, invalid=0)
        if not place.part or not place.step.endswith("_input"):
            done = replace(done, rows_in=0)
        found[place.query] = found.get(place.query, Measures()) + done
    return found


def _moment(clock: int) -> datetime | None:
    return None if clock == BEGINNING else to_datetime(clock)
