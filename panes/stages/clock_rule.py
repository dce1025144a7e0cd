"""How clocks move in an epoch: that of every stream, and with them that of every query.

A stream is complete up to its newest tuple, minus its SLACK, minus one tick, because more tuples of that time may
follow. A stream with IDLE ADVANCE that has been silent for long is taken to be complete up to that time plus the
wall time since then. A query goes as far as the slowest stream that it reads; no other stream holds it back or
pushes it on. A query to which nothing comes is run only when its clock reaches the next instant at which something
happens to it by itself: a row expires, or one that waits falls due. Changes of tables move no clock while streams
may bring more. When they have nothing more to bring, a stream goes on to the instant at which the last change
takes effect for it.

Every task of an epoch hears what all tasks of the first level have measured and computes the same clocks, so an
epoch needs no Spark job of its own to find them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from panes.delta.delta import BEGINNING
from panes.plan.stream import Stream
from panes.state.storage.epoch_log import StreamProgress, query_clock

Progress = dict[int, StreamProgress]
"""By the number of the stream."""

Occasion = Literal["rows", "silence", "end"]
"""rows: a micro-batch came. silence: nothing came for a while. end: the sources have nothing more to bring."""


@dataclass(frozen=True)
class Measured:
    """What one task found of one stream."""

    stream: int
    """Its number."""
    rows: int = 0
    min_ts: int | None = None
    max_ts: int | None = None
    late: int = 0
    bad: int = 0
    bad_files: int = 0


@dataclass(frozen=True)
class Span:
    """What an epoch does to a query: it moves from the clock `since`, excluded, to `clock`, included."""

    epoch: int
    since: int
    clock: int
    before: int = -1
    """The epoch whose manifests hold its state; -1 in its first epoch."""
    spread: int = 0
    """Over how many shards that epoch spread it; 0 in its first epoch."""
    is_silent: bool = False
    """Whether the clock moves and nothing else happens: no rows come to it, no table that it reads changes."""


@dataclass(frozen=True)
class Position:
    """Where a query stands before an epoch."""

    streams: frozenset[int]
    """The streams that it reads."""
    clock: int
    epoch: int
    """The last epoch that ran it; -1 when there was none."""
    spread: int = 0
    """Over how many shards that epoch spread it; 0 when there was none."""
    begins: bool = False
    """Whether it, or a query that shares its plan, sees its first tuples in this epoch."""
    has_changes: bool = False
    """Whether a table that it reads changes in this epoch."""
    next_change: int | None = None
    """The first instant at which something happens to it though nothing comes; None when that is not known."""

    def sleeps(self, clock: int) -> bool:
        """Whether nothing happens to it up to the clock, when nothing comes."""
        return self.next_change is not None and self.next_change > clock


@dataclass(frozen=True)
class Moved:
    """What an epoch does to clocks."""

    streams: Progress
    spans: Mapping[int, Span]
    """Of the queries that the epoch runs: those to which rows came, of which a table changes, or that begin, and
    those whose clock moves to or past an instant at which something may happen to them. The clock of a query to
    which nothing happens moves without it."""
    rows: int
    clocks: Mapping[int, int]
    """Of all queries."""


@dataclass(frozen=True)
class ClockRule:
    """Gives the clocks after an epoch from those before it and from what the tasks of the epoch have measured."""

    epoch: int
    streams: Sequence[Stream]
    before: Mapping[int, StreamProgress]
    queries: Mapping[int, Position]
    now_us: int
    """Wall time of the epoch."""
    started_us: int
    """Wall time at which this run began: no stream counts as silent before it had a chance to bring rows."""
    idle_after_us: int
    """After so long without rows a stream no longer holds back the queries that read it, and with IDLE ADVANCE
    goes on by itself."""
    occasion: Occasion = "rows"
    found: tuple[Measured, ...] = ()
    """What the driver has measured before the tasks."""
    applies_changes: bool = False
    """Whether the epoch applies changes of tables, whoever reads them."""
    effective: Mapping[int, int] = field(default_factory=dict)
    """By stream, the instant at which the last change of tables takes effect."""

    def since(self, stream: int) -> int:
        """The clock of a stream before the epoch."""
        return self.before.get(stream, StreamProgress()).clock

    def moved(self, measured: Iterable[Measured]) -> Moved | None:
        """None when nothing came, nothing changes and no clock moves: then there is no epoch."""
        parts = tuple(measured)
        return self._moved(parts) if parts else self._moved_by_nothing

    @cached_property
    def _moved_by_nothing(self) -> Moved | None:
        return self._moved(())

    def _moved(self, measured: Sequence[Measured]) -> Moved | None:
        found = {stream.number: Measured(stream.number) for stream in self.streams}
        for part in (*self.found, *measured):
            found[part.stream] = _together(found[part.stream], part)
        streams = {stream.number: self._after(stream, found[stream.number]) for stream in self.streams}
        came = {number for number, total in found.items() if total.rows}
        # Of thousands of queries most read the same streams.
        reached = {read: query_clock(streams, read) for read in {p.streams for p in self.queries.values()}}
        clocks = {
            query: max(position.clock, reached[position.streams]) for query, position in self.queries.items()
        }
        is_moved = any(clocks[query] > position.clock for query, position in self.queries.items())
        is_moved = is_moved or any(after.clock > self.since(number) for number, after in streams.items())
        is_there = is_moved or self.applies_changes or bool(came)
        if not is_there and not any(total.bad_files for total in found.values()):
            return None
        spans = {
            query: Span(
                self.epoch,
                position.clock,
                clocks[query],
                position.epoch,
                position.spread,
                is_silent=is_silent,
            )
            for query, position in self.queries.items()
            if not (is_silent := _is_silent(position, came))
            or (clocks[query] > position.clock and not position.sleeps(clocks[query]))
        }
        return Moved(streams, spans, sum(total.rows for total in found.values()), clocks)

    def asleep(self, may_come: Set[int]) -> frozenset[int]:
        """The queries that the epoch does not run, whatever its tasks measure of the streams from which rows may
        come."""
        nothing = self.moved(())
        return frozenset(
            query
            for query, position in self.queries.items()
            if _is_silent(position, may_come) and (nothing is None or query not in nothing.spans)
        )

    def _after(self, stream: Stream, found: Measured) -> StreamProgress:
        before = self.before.get(stream.number, StreamProgress(last_us=self.started_us))
        max_ts = max(before.max_ts, BEGINNING if found.max_ts is None else found.max_ts)
        if self.occasion == "silence" and stream.timestamp is None:
            max_ts = max(max_ts, self.now_us)  # whatever arrives from now on arrives later
        last_us = self.now_us if found.rows else before.last_us
        silent_us = self.now_us - max(last_us, self.started_us)
        is_idle = silent_us >= self.idle_after_us
        complete = max_ts if self.occasion == "end" else _complete_to(stream, max_ts)
        if stream.idle_advance and is_idle and self.occasion != "end" and max_ts > BEGINNING:
            # Counted from when rows last came, as the record of that epoch has it: a restart changes nothing.
            complete += self.now_us - last_us
        if self.occasion == "end" and max(before.clock, complete) > BEGINNING:
            complete = max(complete, self.effective.get(stream.number, BEGINNING))
        return replace(
            before,
            rows=before.rows + found.rows,
            max_ts=max_ts,
            late=before.late + found.late,
            bad=before.bad + found.bad,
            bad_files=before.bad_files + found.bad_files,
            last_us=last_us,
            clock=max(before.clock, complete),
            is_awaited=self.occasion != "end" and not is_idle,
        )


def _is_silent(position: Position, came: Set[int]) -> bool:
    """Whether nothing happens to a query but that its clock may move."""
    return not (position.begins or position.has_changes or position.streams & came)


def _complete_to(stream: Stream, max_ts: int) -> int:
    if max_ts == BEGINNING or stream.timestamp is None:
        return max_ts
    return max_ts - stream.slack_us - 1


def _together(one: Measured, other: Measured) -> Measured:
    least = [ts for ts in (one.min_ts, other.min_ts) if ts is not None]
    greatest = [ts for ts in (one.max_ts, other.max_ts) if ts is not None]
    return Measured(
        one.stream,
        rows=one.rows + other.rows,
        min_ts=min(least, default=None),
        max_ts=max(greatest, default=None),
        late=one.late + other.late,
        bad=one.bad + other.bad,
        bad_files=one.bad_files + other.bad_files,
    )
