"""All that the epochs of a database write: states, histories, rejected rows, measures, and the log of epochs.

Nothing of it knows Spark: tasks have reported what they did, and an epoch keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from panes.delta.delta import BEGINNING
from panes.errors import StateError
from panes.history.event_time import latest_time
from panes.history.history_store import History, pin_of
from panes.history.parts import Part, stream_folder
from panes.history.retention import Retained
from panes.ingest.pushed_files import PushedFiles
from panes.ingest.rejected_log import RejectedLog, pin_of_rejected
from panes.language.statements import CreateTable
from panes.operators.measures import Measures
from panes.optimizer.known_facts import KnownFacts, read_from, stored
from panes.plan.stream import Stream
from panes.runtime.arrivals import Arrivals
from panes.runtime.epoch_facts import EpochFacts
from panes.stages.clock_rule import ClockRule, Measured, Moved
from panes.stages.exchange import STATES, Message
from panes.stages.measure_log import PIN, MeasuredSteps, MeasureLog, StepPlace, measured_after
from panes.stages.running_query import RunningQuery
from panes.state.storage.checkpoint import Checkpoint
from panes.state.storage.checkpoint_copy import PIN as CHECKPOINT_COPY
from panes.state.storage.checkpoint_copy import CheckpointCopy
from panes.state.storage.collect_states import StateCollector
from panes.state.storage.epoch_log import EpochLog, EpochRecord
from panes.state.storage.epoch_states import EpochStates
from panes.state.storage.index import pin_of_task
from panes.state.storage.locations import Location, remove_files, remove_tree
from panes.tables.horizon import horizon
from panes.tables.table_manifest import NO_MANIFEST
from panes.tables.table_manifest import PIN as TABLES
from panes.tables.table_store import Tables
from panes.tables.version_log import AppliedVersions, Taken

_STATE_EPOCHS = 8
"""The number of epochs that keep the states of operators: more than can be done again after a failure."""


class StatesAfter(NamedTuple):
    """What the record of an epoch has of the states after it."""

    states: dict[str, str]
    tasks: int
    released: list[str]
    released_before: list[str]


class EpochStores:
    """The stores of a database, of which one process at a time is the driver."""

    def __init__(
        self,
        folder: Path,
        home: Location,
        log: EpochLog,
        copy: CheckpointCopy | None = None,
        tables: Tables | None = None,
        *,
        is_read_only: bool = False,
    ) -> None:
        """`folder` has Spark's checkpoint; `copy` keeps what it takes to make that again, where `home`, which has
        all else, is another one."""
        self.folder = folder
        self.home = home
        self.log = log
        self.tables = tables
        self.states = home / "states"
        self.history = History(home / "history", log, is_ours=not is_read_only)
        self.pushed = PushedFiles(home, folder, log.check_term)
        self.rejected = RejectedLog(home / "aside")
        self._checkpoint = Checkpoint(folder / "checkpoint")
        self._copy = copy
        self._measures = MeasureLog(home / "measures")
        self._measured: tuple[str | None, MeasuredSteps] = None, MeasuredSteps({})
        """The last measures that were written, by their pin."""
        self._measured_of: Set[int] = frozenset()
        """The queries whose steps these are of."""
        self.epoch_facts = EpochFacts()
        self._facts: tuple[str | None, KnownFacts] = None, {}
        """The last facts that were written or read, by their pin."""
        self._collector = StateCollector(self.states, log)

    @property
    def keeps_files(self) -> bool:
        """Whether the files of a source can become its history as they are."""
        return isinstance(self.home, Path)

    def keep_rows(
        self,
        streams: Sequence[Stream],
        retained: Mapping[int, Retained],
        rule: ClockRule,
        arrivals: Arrivals,
        bad_files: Set[str],
        measured: Sequence[Measured],
        messages: Sequence[Message],
        writer: str,
    ) -> dict[str, str]:
        """Keeps the rows of an epoch as history; gives what its record must pin."""
        pins: dict[str, str] = {}
        for stream in streams:
            mine = [found for found in measured if found.stream == stream.number and found.max_ts is not None]
            rows = sum(found.rows - found.bad for found in mine)
            bounds = [t for found in mine for t in (found.min_ts, found.max_ts) if t is not None]
            if not rows:
                continue
            since = rule.since(stream.number)
            size = {"rows": rows, "max_ts": max(bounds)}
            if (
                stream.number in arrivals.are_history
                and not retained.get(stream.number, Retained()).is_nothing
            ):
                files = arrivals.files[stream.number]
                paths = [file.path for file in files if str(file.path) not in bad_files]
                latest = latest_time(stream, rule.now_us)
                size |= {"min_ts": min(bounds), "latest": latest}
                pins |= self.history.adopt(stream, rule.epoch, paths, **size, since=since, writer=writer)
            else:
                kept = [m.content for m in messages if m.kind == "kept"]
                written = [Part(**content["part"]) for content in kept if content["stream"] == stream.number]
                written.sort(key=lambda part: part.name)
                pins |= self.history.note(stream, rule.epoch, written, **size, since=since, writer=writer)
        return pins

    @property
    def has_changes(self) -> bool:
        """Whether transactions wait to be applied to tables."""
        return self.tables is not None and self.tables.has_pending

    def take_changes(self, before: EpochRecord) -> Taken | None:
        """The transactions that an epoch which begins now, after another one, applies to tables."""
        return None if self.tables is None else self.tables.take(before)

    def effective(self, taken: Taken | None, before: EpochRecord) -> Mapping[int, int]:
        """By stream, the instant at which the last change of tables takes effect, with those that are taken."""
        if self.tables is None:
            return {}
        return self.tables.version_log.effective(taken, before)

    def apply_changes(
        self,
        taken: Taken | None,
        tables: Sequence[CreateTable],
        streams: Sequence[Stream],
        retained: Mapping[int, Retained],
        rule: ClockRule,
        before: EpochRecord,
        writer: str,
    ) -> AppliedVersions:
        """Writes what an epoch changes in tables; gives all that there is of them."""
        if self.tables is None:
            return AppliedVersions(NO_MANIFEST, {})
        log = self.tables.version_log
        if taken is None:
            return AppliedVersions(log.manifest(before), {})
        horizons = {
            s.number: self._horizon(s, retained.get(s.number, Retained()), rule, before) for s in streams
        }
        queries = [(query.streams, query.clock) for query in rule.queries.values()]
        return log.write(rule.epoch, writer, before, taken, tables, horizons, queries)

    def _horizon(self, stream: Stream, retained: Retained, rule: ClockRule, before: EpochRecord) -> int:
        clocks = (read.clock for read in rule.queries.values() if stream.number in read.streams)
        clock = min((clock for clock in clocks if clock > BEGINNING), default=rule.since(stream.number))
        files = self.history.files(stream.number, before.epoch) if before.epoch >= 0 else ()
        return horizon(stream, clock, retained, files)

    def forget_attempt(
        self, streams: Sequence[Stream], tables: Sequence[CreateTable], epoch: int, writer: str
    ) -> None:
        """Removes what an attempt at an epoch that failed has left."""
        self.rejected.forget_attempt(streams, epoch, writer)
        if self.tables is not None:
            self.tables.version_log.forget_attempt(tables, epoch, writer)

    def pins_kept(self, streams: Sequence[Stream], before: EpochRecord) -> dict[str, str]:
        """What an epoch pins of what was there before."""
        kept = {of(stream.number) for stream in streams for of in (pin_of, pin_of_rejected)}
        kept |= {"checkpoint", CHECKPOINT_COPY, TABLES}
        return {name: pin for name, pin in before.pins.items() if name in kept}

    def pin_batch(self, batch: int, *, is_whole: bool) -> dict[str, str]:
        """Pins what Spark noted for a micro-batch, and keeps a copy of it where the home is elsewhere. While only
        a part of it is in, the pin of the one before it stays."""
        pins = {"checkpoint": self._checkpoint.pin(batch)} if is_whole else {}
        return pins if self._copy is None else pins | {CHECKPOINT_COPY: self._copy.keep(batch)}

    def states_after(
        self, before: EpochRecord, levels: int, tasks: int, messages: Sequence[Message]
    ) -> StatesAfter:
        """The indexes that tasks wrote, and of the other tasks those from before."""
        there = {pin_of_task(level, task) for level in range(levels) for task in range(tasks)}
        saved = [message.content for message in messages if message.kind == STATES]
        pins = {name: pin for name, pin in before.states.items() if name in there}
        pins |= {content["task"]: content["pin"] for content in saved}
        released = {name for content in saved for name in content["released"]}
        states = EpochStates(self.states, before.states, before.tasks)
        for gone in before.states.keys() - there:
            with suppress(StateError):  # nobody needs what cannot be read; it stays where it is
                index = states.index(*map(int, gone.split("/")))
                released |= frozenset() if index is None else index.objects
        return StatesAfter(pins, tasks, sorted(released), before.released)

    def measure(
        self,
        queries: Sequence[RunningQuery],
        streams: Sequence[Stream],
        rule: ClockRule,
        moved: Moved,
        before: EpochRecord,
        measured: Sequence[Measured],
        messages: Sequence[Message],
        done: Mapping[StepPlace, Measures],
        writer: str,
    ) -> dict[str, str]:
        """Keeps what the steps did, and the facts that follow; gives the pin. Steps of queries that are gone are
        left out."""
        pin, there = before.pins.get(PIN), {query.id for query in queries}
        is_last = self._measured[0] == pin
        known = self._measured[1] if is_last else MeasuredSteps.of(self._measures.known(pin))
        if not (is_last and self._measured_of <= there):
            known = known.only(there)
        facts = self.epoch_facts.after(
            self.facts(before), before, rule, moved, queries, streams, measured, messages, done, known
        )
        seconds = {
            query: 0.0 if span.before < 0 else (span.clock - span.since) / 1e6
            for query, span in moved.spans.items()
        }
        found = measured_after(known, rule.epoch, seconds, done)
        pin = self._measures.write(rule.epoch, found, writer, stored(facts))
        self._measured, self._measured_of, self._facts = (pin, found), there, (pin, facts)
        return {PIN: pin}

    def facts(self, record: EpochRecord) -> KnownFacts:
        """The facts that were known after an epoch."""
        pin = record.pins.get(PIN)
        if self._facts[0] != pin:
            self._facts = pin, read_from(self._measures.facts(pin))
        return self._facts[1]

    def collect(
        self,
        streams: Sequence[Stream],
        retained: Mapping[int, Retained],
        retain_epochs: int,
        rule: ClockRule,
        moved: Moved,
        record: EpochRecord,
    ) -> None:
        """Removes what nobody may read any more after an epoch was committed."""
        oldest = self.log.holds.release_before(rule.epoch - retain_epochs)
        versions = self._versions_released(oldest)
        self._collector.collect(oldest, max(oldest, rule.epoch - _STATE_EPOCHS))
        # After the records of epochs: should this be cut short, nobody looks for what is gone.
        remove_files(versions)
        self._measures.collect(rule.epoch)
        for stream in streams:
            kept = retained.get(stream.number, Retained())
            clock = _slowest(stream, rule, moved)
            self.history.collect(
                stream,
                rule.epoch,
                oldest_ts=kept.oldest_ts(clock),
                retain_epochs=rule.epoch - oldest,
                keep_rows=kept.rows,
                clock=clock,
                writer=uuid4().hex[:8],
            )
        if self._copy is not None and CHECKPOINT_COPY in record.pins:
            self._copy.collect(record.pins[CHECKPOINT_COPY])

    def _versions_released(self, oldest: int) -> list[Location]:
        """The files of tables that only epochs before one need."""
        kept = self.log.epochs
        gone = range(kept.start, min(oldest, kept.stop - 1))
        if self.tables is None or not gone:
            return []
        records = [self.log.record(epoch) for epoch in (*gone, gone.stop)]
        return self.tables.version_log.released(records)

    def forget(self, stream: Stream) -> None:
        """Removes everything that is kept of a stream that was dropped."""
        self.history.forget(stream.number)
        self.pushed.forget(stream.number)
        remove_tree(stream_folder(self.home / "aside", stream.number))

    def remove_pushed(self, streams: Sequence[Stream], arrivals: Arrivals) -> None:
        """Removes the pushed files that an epoch has taken in, once it is committed."""
        pushed = {stream.number for stream in streams if stream.source.kind == "PUSH"}
        self.pushed.remove(
            file.path for stream, files in arrivals.files.items() if stream in pushed for file in files
        )


def _slowest(stream: Stream, rule: ClockRule, moved: Moved) -> int:
    """The clock of the stream, or of the slowest query over it: its windows still hold what others have let go."""
    clocks = (moved.clocks[query] for query, read in rule.queries.items() if stream.number in read.streams)
    return min((clock for clock in clocks if clock > BEGINNING), default=moved.streams[stream.number].clock)
