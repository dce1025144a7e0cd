"""The log of committed epochs: one small file each, written last, so that an epoch counts wholly or not.

Readers take the latest file and see the manifests of that epoch alone. The file is written before Spark's own
commit: a micro-batch that Spark brings again after a crash, though it is in the log, is passed over.

The records are a chain: each holds the checksum of the one before it, and those of the indexes of states and of
the histories that its epoch is made of. So the last record pins all that is kept. Only one driver at a time can
commit: `terms` says whose records count.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from panes.delta.delta import BEGINNING
from panes.errors import EpochGone
from panes.plan.box_schedule import BoxSchedule
from panes.state.storage.bell import Bell
from panes.state.storage.commit_gate import CommitGate
from panes.state.storage.epoch_states import StagePlace
from panes.state.storage.files import make_folder
from panes.state.storage.leases import Lease, Leases
from panes.state.storage.locations import Location, names_in, parent_of
from panes.state.storage.recently_used import RecentlyUsed
from panes.state.storage.records import FIRST, damaged, missing, read_links, read_record, write_record
from panes.state.storage.refreshed import Refreshed
from panes.state.storage.terms import Begun, Term, term_of, terms_begun

_RECORDS_IN_MEMORY = 16
"""With thousands of queries a record is not small."""

_NOWHERE = StagePlace(-1, 0, 0, False)
_RECORD = re.compile(r"epoch-(\d{10})(?:-(\d{8}-[0-9a-f]{8}))?\.json")
_SKIPPED = "skipped.json"


@dataclass(frozen=True)
class StreamProgress:
    """What a stream has brought so far."""

    rows: int = 0
    max_ts: int = BEGINNING
    late: int = 0
    bad: int = 0
    last_us: int = 0
    """Wall time at which it last brought rows."""
    bad_files: int = 0
    """Files that were rejected because they could not be read."""
    clock: int = BEGINNING
    """Event time up to which it is complete: it only moves forward."""
    is_awaited: bool = True
    """Whether queries wait for it: not when it has been silent for long, or has nothing more to bring."""


@dataclass(frozen=True)
class QueryProgress:
    """What the last epoch that ran a query did to it, and how far its clock has come since then: epochs in which
    nothing happens to a query move its clock without running it."""

    shards: int
    """On how many shards its answer lies."""
    changes: int
    """Rows of the delta of its answer."""
    bytes: int
    segments: int
    epoch: int = -1
    """The epoch that ran it: the manifests of that epoch hold its state and its answer."""
    before: int = -1
    """The epoch that ran it before that; -1 if this was its first."""
    since: int = BEGINNING
    clock: int = BEGINNING
    """The query moved through the span of time from `since`, excluded, to `clock`, included; what changed in it is
    what the epoch that ran it has noted."""
    spread: int = 1
    """Over how many shards the stages that can have several were spread."""
    spread_before: int = 0
    """The same in the epoch that ran it before; 0 if this was its first."""
    answer: StagePlace = _NOWHERE
    """Where its answer lies among all states: under the number of the plan that ran it."""
    next_change: int | None = None
    """The first instant at which something happens to it though nothing comes to it; None when that is not
    known."""
    reached: int | None = None
    """The clock up to which it has seen its streams, where its answer lags behind: None: `clock`."""
    delayed: int = 0
    """How many changes of its answer happened in the span: rows that came, that were taken back, that expired.
    Those of a first epoch, and of selections that share a stream, are not counted."""
    delay_us: float = 0.0
    max_delay_us: int = 0
    """By how much wall time these became visible after the instants at which they happen, on average and at
    most."""
    refreshed: dict[int, Refreshed] = field(default_factory=dict)
    """Of the queries of a group that are refreshed by deadline: how far each has been, by number."""
    probe: tuple[float, float] | None = None
    """What refreshes take of the synopsis of a group, smoothed: seconds per pane, and per answer."""

    @property
    def seen_to(self) -> int:
        """The clock up to which it has seen its streams."""
        return self.clock if self.reached is None else self.reached

    def moved_to(self, clock: int) -> QueryProgress:
        """The same when its streams have come to a clock, and nothing has happened to it."""
        # An epoch does this for every query that sleeps: `replace` would take ten times as long.
        moved = object.__new__(QueryProgress)
        moved.__dict__.update(self.__dict__)
        moved.__dict__["clock" if self.reached is None else "reached"] = clock
        return moved


@dataclass(frozen=True)
class MissingRows:
    """What a query has not seen of a stream, because it was not kept when the query began."""

    to: int
    """The last time of a row that may be missing."""
    rows: int
    """How many rows were there when the query began."""
    brought: int
    """How many rows the stream had brought by then."""


Boxes = Mapping[int, Mapping[int, BoxSchedule]]
"""What the drop boxes of queries keep: by the number of the query, then of the stream."""


@dataclass(frozen=True)
class EpochRecord:
    epoch: int
    batch: int
    """The last micro-batch of Spark that is in; -1 before the first. An epoch without rows adds none."""
    rows: int
    seconds: float
    finished_us: int
    """Wall time of the commit."""
    phases: dict[str, float] = field(default_factory=dict)
    """How many seconds each part of the work took."""
    cpu_seconds: float = 0.0
    """CPU time of the steps of all queries."""
    streams: dict[int, StreamProgress] = field(default_factory=dict)
    """By their numbers."""
    queries: dict[int, QueryProgress] = field(default_factory=dict)
    """By the number of a query, or of the group whose plan it shares. A plan that is to replace that of a query
    has its own number in its first epoch, and that of the query in those that follow."""
    missing: dict[int, dict[int, MissingRows]] = field(default_factory=dict)
    """Of the queries whose windows had not filled before the epoch, by number: what each lacks, by stream."""
    boxes: Boxes = field(default_factory=dict)
    """What the drop boxes of queries kept in the epoch, where they ever kept less than everything of what windows
    and late rows may reach."""
    shed: dict[int, dict[int, int]] = field(default_factory=dict)
    """How many rows each query has shed since it began: by the number of the query, then of the stream."""
    pins: dict[str, str] = field(default_factory=dict)
    """The checksums of what the epoch is made of, by name: the histories of streams (`history/000001`), Spark's
    offsets (`checkpoint`), and what was measured."""
    states: dict[str, str] = field(default_factory=dict)
    """Where the index of each task is, by level and task, and its checksum."""
    begun_batch: int = -1
    """The micro-batch that is in as far as `begun_files` says, when epochs take its files in one after another."""
    begun_files: dict[int, int] = field(default_factory=dict)
    """How many of the files of that micro-batch are in, in their order, by stream. Whatever else it has is in."""
    tasks: int = 1
    """How many tasks each level had: it decides which has the stages that are not sharded."""
    beside_refreshes_s: float | None = None
    """What epochs take without the refreshes of answers, smoothed; None where none is refreshed by deadline."""
    released: list[str] = field(default_factory=list)
    """The objects of states that the epoch before needed, and this one does not."""
    released_before: list[str] = field(default_factory=list)
    """Those that the epoch before released: they go when its record does, so another must have them too."""

    def as_json(self) -> dict[str, Any]:
        boxes = {
            query: {stream: schedule.as_list() for stream, schedule in some.items()}
            for query, some in self.boxes.items()
        }
        # Of thousands of queries: `asdict` would copy each value by value.
        queries = {query: dict(vars(progress)) for query, progress in self.queries.items()}
        return asdict(replace(self, boxes={}, queries={})) | {"boxes": boxes, "queries": queries}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> EpochRecord:
        streams = {
            int(stream): StreamProgress(**progress) for stream, progress in content.pop("streams").items()
        }
        queries = {int(query): _progress_from(progress) for query, progress in content.pop("queries").items()}
        missing = {
            int(query): {int(stream): MissingRows(**gap) for stream, gap in gaps.items()}
            for query, gaps in content.pop("missing", {}).items()
        }
        boxes = {
            int(query): {int(stream): BoxSchedule.of(steps) for stream, steps in some.items()}
            for query, some in content.pop("boxes", {}).items()
        }
        shed = {
            int(query): {int(stream): rows for stream, rows in some.items()}
            for query, some in content.pop("shed", {}).items()
        }
        begun = {int(stream): files for stream, files in content.pop("begun_files", {}).items()}
        return cls(
            **content,
            streams=streams,
            queries=queries,
            missing=missing,
            boxes=boxes,
            shed=shed,
            begun_files=begun,
        )

    @property
    def brought(self) -> dict[int, int]:
        """How many rows each stream has brought that could be used."""
        return {stream: progress.rows - progress.bad for stream, progress in self.streams.items()}

    def progress_of(self, plan: int, query: int) -> QueryProgress | None:
        """What was done to a query by the plan of that number; None when the record has no such plan."""
        found = self.queries.get(query)
        return found if found is not None and found.answer.running == plan else self.queries.get(plan)

    @property
    def clock(self) -> int:
        """The clock of the stream that has come furthest."""
        return max((stream.clock for stream in self.streams.values()), default=BEGINNING)

    def clock_of(self, streams: Iterable[int]) -> int:
        """The clock of a query that reads these streams and begins after this epoch."""
        return query_clock(self.streams, streams)

    @property
    def state_bytes(self) -> int:
        return sum(query.bytes for query in self.queries.values())


def query_clock(progress: Mapping[int, StreamProgress], streams: Iterable[int]) -> int:
    """How far a query over some streams can go: the slowest stream that is awaited decides.

    When none is awaited any more, nothing more is expected up to the clock of the furthest one.
    """
    found = [progress.get(stream, StreamProgress()) for stream in streams]
    awaited = [stream.clock for stream in found if stream.is_awaited]
    return min(awaited) if awaited else max((stream.clock for stream in found), default=BEGINNING)


def _progress_from(content: dict[str, Any]) -> QueryProgress:
    refreshed = {int(query): Refreshed(*one) for query, one in content.pop("refreshed", {}).items()}
    probe = content.pop("probe", None)
    return QueryProgress(
        **content | {"answer": StagePlace(*content["answer"])},
        refreshed=refreshed,
        probe=None if probe is None else tuple(probe),
    )


BEFORE_ALL = -1
"""The number of the last epoch before the first one."""
NOTHING = EpochRecord(epoch=BEFORE_ALL, batch=-1, rows=0, seconds=0.0, finished_us=0)
"""The record before the first epoch."""


class EpochLog:
    """The records of the epochs that are kept. Only one driver at a time may commit: the folder is listed once."""

    def __init__(self, folder: Location, database: str = "", skipped: Location | None = None) -> None:
        """`database` is the id of the database: records of another are refused. `skipped` is the file that has the
        last micro-batch without an epoch; it belongs to Spark's checkpoint, wherever the epochs are."""
        self._folder = folder
        self._skipped = folder / _SKIPPED if skipped is None else skipped
        self._database = database
        self._lock = threading.Lock()
        self._term: Term | None = None
        # In this order: a record that was put down after a claim is not seen without that claim.
        names = names_in(folder)
        self._begun = terms_begun(parent_of(folder) / "terms")
        self._kept = epochs_in(names, self._begun)
        self._used: RecentlyUsed[int, EpochRecord] = RecentlyUsed(_RECORDS_IN_MEMORY)
        self._before: dict[int, str] = {}
        """For the records that were followed back from the last one: the checksum of the one before each."""
        self._committed = -1, FIRST
        """The epoch that was committed last here, and the checksum of its record."""
        self.holds = Leases()
        self.bell = Bell()
        """Rings when an epoch is committed."""
        self.gate = CommitGate()
        """Shut while an epoch is committed."""
        self.ahead: list[Callable[[EpochRecord], None]] = []
        """Called with the record of each epoch that is committed, just before readers see it."""

    def take(self, term: Term) -> None:
        """Begins the term of this driver after the last epoch. It was claimed before the log was made."""
        term.begin(self.last)
        term.forget(self.epochs.start)
        self._term = term
        self._begun = [*self._begun, Begun(term.name, self.last)]

    @property
    def epochs(self) -> range:
        """The numbers of the epochs that are kept. Where a record in the midst is lost, reading it says so."""
        with self._lock:
            return self._kept

    @property
    def last(self) -> int:
        """The number of the last committed epoch; -1 before the first. Cheap enough to be asked all the time."""
        kept = self._kept
        return kept.stop - 1 if kept else -1

    def commit(self, record: EpochRecord) -> None:
        """Commits an epoch; raises DriverReplaced when another driver has taken over."""
        with self.gate.shut():
            self._commit(record)
        self.bell.ring()

    def _commit(self, record: EpochRecord) -> None:
        epoch = record.epoch
        self.check_term()
        make_folder(self._folder)
        before = self._checksum(epoch - 1) if epoch - 1 in self.epochs else FIRST
        checksum = write_record(self.path(epoch), self._name(epoch), record.as_json(), before)
        # Another may have come since. Then it decides whether it has seen this epoch; nobody is told of it here.
        self.check_term()
        for prepare in self.ahead:
            prepare(record)
        with self._lock:
            self._committed = epoch, checksum
            self._kept = range(min(epoch, self._kept.start) if self._kept else epoch, epoch + 1)
            self._before[epoch] = before
        self._used.put(epoch, record)

    def latest(self) -> EpochRecord | None:
        """The last committed epoch."""
        epochs = self.epochs
        return self.record(epochs[-1]) if epochs else None

    def record(self, epoch: int) -> EpochRecord:
        """The record of an epoch that is kept."""
        return self._used.get(epoch, lambda: self._read(epoch))

    def recent(self, count: int) -> list[EpochRecord]:
        """The last committed epochs, the latest last."""
        return [self.record(epoch) for epoch in self.epochs[-count:]]

    def check_term(self) -> None:
        """Raises DriverReplaced when another driver has taken over."""
        if self._term is not None:
            self._term.check()

    def collect(self, oldest_epoch: int) -> None:
        """Removes the records of the epochs before one."""
        with self._lock:
            gone = range(self._kept.start, min(oldest_epoch, self._kept.stop))
            self._kept = range(max(self._kept.start, gone.stop), self._kept.stop)
            for epoch in gone:
                self._before.pop(epoch, None)
        for epoch in gone:
            self.path(epoch).unlink(missing_ok=True)

    def skip(self, batch: int) -> None:
        """Notes a micro-batch that brought nothing, and so made no epoch."""
        make_folder(parent_of(self._skipped))
        write_record(self._skipped, f"skipped by {self._database}", {"batch": batch})

    def last_batch(self) -> int:
        """The last micro-batch of Spark that is in, or that brought nothing; -1 before the first."""
        latest = self.latest()
        batch = -1 if latest is None else latest.batch
        if self._skipped.exists():
            skipped = read_record(self._skipped, f"skipped by {self._database}")
            batch = max(batch, int(skipped.content["batch"]))
        return batch

    def path(self, epoch: int) -> Location:
        """The file of an epoch."""
        term = term_of(epoch, self._begun)
        return self._folder / f"epoch-{epoch:010d}{'' if term is None else f'-{term}'}.json"

    def _read(self, epoch: int) -> EpochRecord:
        record = read_record(self.path(epoch), self._name(epoch), self._pinned(epoch))
        try:
            return EpochRecord.from_json(record.content)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise damaged(self.path(epoch), f"not the record of an epoch: {error}") from error

    def _pinned(self, epoch: int) -> str | None:
        """The checksum that the record of an epoch must have; None for the last one, which nothing pins."""
        last = self.last
        with self._lock:
            known = self._before.get(epoch + 1)
        if known is not None or epoch >= last:
            return known
        for later in range(last, epoch, -1):
            with self._lock:
                known = self._before.get(later)
            if known is None:
                _, known = self._links(later)
                with self._lock:
                    self._before[later] = known
            if known == FIRST:
                raise missing(self.path(later - 1))
        return known

    def _checksum(self, epoch: int) -> str:
        last, checksum = self._committed
        return checksum if last == epoch else self._links(epoch)[0]

    def _links(self, epoch: int) -> tuple[str, str]:
        """The checksum of a record and of the one before it, both as they must be."""
        with self._lock:
            pinned = self._before.get(epoch + 1)
        return read_links(self.path(epoch), self._name(epoch), pinned)

    def _name(self, epoch: int) -> str:
        return f"epoch {epoch} of {self._database}"

    @contextmanager
    def held(self, choose: Callable[[], int | None]) -> Iterator[Lease | None]:
        """Holds the epoch that is chosen, which is chosen anew should it go just then; None when there is none."""
        while (epoch := choose()) is not None:
            try:
                hold = self.holds.hold(epoch)
            except EpochGone:
                continue  # there is a later one
            with hold:
                yield hold
            return
        yield None


def epochs_in(names: Iterable[str], begun: Sequence[Begun]) -> range:
    """The epochs from the first to the last of which there are records that count, by the names of all records."""
    found = (_RECORD.fullmatch(name) for name in names)
    epochs = [int(match[1]) for match in found if match and match[2] == term_of(int(match[1]), begun)]
    return range(min(epochs), max(epochs) + 1) if epochs else range(0)
