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
from panes.history.parts import Part
from panes.history.retention import Retained
from panes.ingest.pushed_files import PushedFiles
from panes.ingest.rejected_log import RejectedLog, pin_of_rejected
from panes.operators.measures import Measures
from panes.plan.stream import Stream
from panes.spark.epoch_job import Arrivals
from panes.stages.clock_rule import ClockRule, Measured, Moved
from panes.stages.exchange import STATES, Message
from panes.stages.measure_log import PIN, MeasureLog, StepMeasures, StepPlace, measured_after
from panes.state.storage.checkpoint import Checkpoint
from panes.state.storage.checkpoint_copy import PIN as CHECKPOINT_COPY
from panes.state.storage.checkpoint_copy import CheckpointCopy
from panes.state.storage.collect_states import StateCollector
from panes.state.storage.epoch_log import EpochLog, EpochRecord
from panes.state.storage.epoch_states import EpochStates, pin_of_task
from panes.state.storage.locations import Location

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
        *,
        is_read_only: bool = False,
    ) -> None:
        """`folder` has Spark's checkpoint; `copy` keeps what it takes to make that again, where `home`, which has
        all else, is another one."""
        self.folder = folder
        self.home = home
        self.log = log
        self.states = home / "states"
        self.history = History(home / "history", log, is_ours=not is_read_only)
        self.pushed = PushedFiles(home, folder, log.check_term)
        self.rejected = RejectedLog(home / "aside")
        self._checkpoint = Checkpoint(folder / "checkpoint")
        self._copy = copy
        self._measures = MeasureLog(home / "measures")
        self._measured: tuple[str | None, Mapping[StepPlace, StepMeasures]] = None, {}
        """The last measures that were written, by their pin."""
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

    def pins_kept(self, streams: Sequence[Stream], before: EpochRecord) -> dict[str, str]:
        """What an epoch pins of what was there before."""
        kept = {of(stream.number) for stream in streams for of in (pin_of, pin_of_rejected)}
        kept |= {"checkpoint", CHECKPOINT_COPY}
        return {name: pin for name, pin in before.pins.items() if name in kept}

    def pin_batch(self, batch: int) -> dict[str, str]:
        """Pins what Spark noted for a micro-batch, and keeps a copy of it where the home is elsewhere."""
        pins = {"checkpoint": self._checkpoint.pin(batch)}
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
        queries: Set[int],
        epoch: int,
        moved: Moved,
        before: EpochRecord,
        done: Mapping[StepPlace, Measures],
        writer: str,
    ) -> dict[str, str]:
        """Keeps what the steps did; gives the pin. Steps of queries that are gone are left out."""
        pin = before.pins.get(PIN)
        known = self._measured[1] if self._measured[0] == pin else self._measures.known(pin)
        known = {place: measures for place, measures in known.items() if place.query in queries}
        seconds = {
            query: 0.0 if span.before < 0 else (span.clock - span.since) / 1e6
            for query, span in moved.spans.items()
        }
        found = measured_after(known, epoch, seconds, done)
        pin = self._measures.write(epoch, found, writer)
        self._measured = pin, found
        return {PIN: pin}

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
        self._collector.collect(oldest, max(oldest, rule.epoch - _STATE_EPOCHS))
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
