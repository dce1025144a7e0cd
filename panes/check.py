"""Verifying a database without Spark: what is damaged, and what can still be answered.

Everything is only read, so a database can be checked while another process runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from panes.answers.cursors import Cursors
from panes.catalog import Catalog, QueryRecord
from panes.clock import to_datetime
from panes.directory import is_in_use
from panes.errors import CatalogError, PanesError, StateError
from panes.history.file_checksums import check as check_file
from panes.history.history_store import History
from panes.ingest.rejected_log import RejectedLog
from panes.language import bind, parse
from panes.language.statements import SelectQuery
from panes.plan.nodes import StreamScan
from panes.plan.walk import walk
from panes.stages.measure_log import PIN, MeasureLog
from panes.state.storage.checkpoint import Checkpoint
from panes.state.storage.epoch_log import EpochLog, EpochRecord
from panes.state.storage.epoch_states import EpochStates
from panes.state.storage.home import home_of
from panes.state.storage.index import Index
from panes.state.storage.locations import Location
from panes.state.storage.manifest import FOR_READERS, Place
from panes.state.storage.opening import CATALOG, check_opening, check_place
from panes.state.storage.segments import check_segment
from panes.tables.accepted import ACCEPTED_FOLDER, Accepted
from panes.tables.table_manifest import NO_MANIFEST
from panes.tables.table_manifest import PIN as TABLES
from panes.tables.table_store import TABLES_FOLDER
from panes.tables.version_log import VersionLog

READERS = "readers.sqlite"
_PASSES = 3
"""How many times a database that another process runs is checked: files are removed meanwhile."""


@dataclass
class Found:
    """What a check has found."""

    epoch: int = -1
    """The last committed epoch."""
    files: int = 0
    """How many files were verified."""
    problems: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    """Those of the problems for which the database is not opened."""
    queries: dict[str, str | None] = field(default_factory=dict)
    """Of each query, what of it cannot be answered; None when everything can be."""
    streams: dict[str, list[str]] = field(default_factory=dict)
    """Of each stream, which of the rows that it keeps cannot be read."""
    tables: dict[str, list[str]] = field(default_factory=dict)
    """Of each table, which of its changes cannot be read."""


def check_database(path: Path) -> Found:
    """Verifies all files of the database in a folder; CatalogError or StateError when there is none."""
    check_place(path)
    if not (path / CATALOG).exists():
        raise CatalogError(f"there is no database in {path}; panes.connect makes one")
    found = _Check(path).run()
    for _ in range(_PASSES - 1):
        if not found.problems or not is_in_use(path):
            break
        # Whoever runs it may have removed a file between our reading its name and our reading it.
        again = _Check(path).run()
        again.problems = [problem for problem in again.problems if problem in found.problems]
        again.refusals = [refusal for refusal in again.refusals if refusal in again.problems]
        if not again.problems:
            again.queries, again.streams, again.tables = dict.fromkeys(again.queries), {}, {}
        found = again
    return found


class _Check:
    """One look through a database."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._home: Location = path
        self._found = Found()
        self._told: dict[Location | str, str | None] = {}
        """What was wrong with the files and segments that several epochs name."""

    def run(self) -> Found:
        found = self._found
        with self._noting(refuses=True), closing(Catalog(self._path / CATALOG, read_only=True)) as catalog:
            self._check(catalog)
        if found.refusals:
            found.queries = dict.fromkeys(found.queries, "nothing: the database is not opened as it is")
        return found

    def _check(self, catalog: Catalog) -> None:
        found = self._found
        home = home_of(self._path, None)
        self._home = home.location
        log = EpochLog(self._home / "epochs", catalog.database)
        found.queries = {query.name: None for query in catalog.queries()}
        furthest = -1
        if catalog.marks.has_readers or (self._path / READERS).exists():
            places = self._path / READERS
            with (
                self._noting(refuses=True),
                closing(Cursors(places, catalog.database, must_exist=True, read_only=True)) as cursors,
            ):
                furthest = cursors.furthest()
        with self._noting(refuses=True):
            if not home.is_elsewhere:  # there, a connection makes all of it again
                check_opening(
                    self._path, log, catalog.marks.last_begun, catalog.marks.last_committed, furthest
                )
        records = []
        for epoch in log.epochs:
            with self._noting(refuses=epoch == log.epochs[-1]):
                records.append(log.record(epoch))
        if records:
            found.epoch = records[-1].epoch
        found.files += len(records) + 2
        self._check_states(catalog, records)
        self._check_history(catalog, log, records)
        self._check_tables(catalog, records)
        if records:
            self._check_rejected(catalog, records[-1])
            with self._noting():
                MeasureLog(self._home / "measures").read(records[-1].pins.get(PIN))
                found.files += 1
        for error in Checkpoint(self._path / "checkpoint").check_content():
            self._note(error)

    # The states and answers of queries.

    def _check_states(self, catalog: Catalog, records: list[EpochRecord]) -> None:
        if not records:
            return
        names = _names_by_number(catalog)
        damaged: dict[str, list[int]] = {}
        for record in records:
            is_last = record is records[-1]
            states = EpochStates(self._home / "states", record.states, record.tasks)
            for task in record.states:
                for running in self._damaged_in(states, task, is_last=is_last):
                    # An index that cannot be read does not tell whose states it had.
                    found = self._found.queries if running is None else names.get(running, ())
                    for name in found:
                        damaged.setdefault(name, []).append(record.epoch)
        for name, epochs in damaged.items():
            if records[-1].epoch in epochs:
                self._found.queries[name] = (
                    "nothing: its last answer, or the state it goes on from, is damaged"
                )
            else:
                lost = ", ".join(map(str, dict.fromkeys(epochs)))
                self._found.queries[name] = f"not its answers and changes of epochs {lost}"

    def _damaged_in(self, states: EpochStates, task: str, *, is_last: bool) -> Iterator[int | None]:
        """What runs on a task, by number, of which something is damaged; None when that cannot be told.

        Of earlier epochs only what is for readers is kept.
        """
        index: Index | None = None
        with self._noting():
            index = states.index(*map(int, task.split("/")))
            self._found.files += 1
        if index is None:
            yield None
            return
        for text, entry in index.places.items():
            place = Place.of(text)
            is_fine = False
            with self._noting():
                manifest = states.manifest(place, entry.manifest)
                needed = [name for name in manifest.buffers if is_last or name in FOR_READERS]
                entries = [entry for name in needed for entry in manifest.buffers[name]]
                fine = [self._is_fine(e.name, partial(check_segment, states.states, e)) for e in entries]
                is_fine = all(fine)
            if not is_fine:
                yield place.running

    # The history of streams.

    def _check_history(self, catalog: Catalog, log: EpochLog, records: list[EpochRecord]) -> None:
        history = History(self._home / "history", log)
        for stream in catalog.base_streams():
            lost: list[str] = []
            for record in records:
                before = len(self._found.problems)
                with self._noting():
                    for file in history.at(stream.number, record.epoch).files:
                        if not self._is_fine(file.path, partial(check_file, file)):
                            rows = f"{file.rows} rows from {_text(file.min_ts)} to {_text(file.max_ts)}"
                            lost.append(rows)
                if len(self._found.problems) > before and not lost:
                    lost.append(f"all rows, as of epoch {record.epoch}")
            if lost:
                self._found.streams[stream.name] = list(dict.fromkeys(lost))
        for query in catalog.queries():
            with self._noting():
                if query.group is None and self._reads_damage(catalog, query):
                    self._found.queries[query.name] = "nothing that needs the damaged rows of its streams"

    # The versions of tables.

    def _check_tables(self, catalog: Catalog, records: list[EpochRecord]) -> None:
        log = VersionLog(self._home / TABLES_FOLDER)
        applied = 0
        pinned = {record.pins[TABLES]: record for record in records if TABLES in record.pins}
        for record in pinned.values():
            manifest = NO_MANIFEST
            with self._noting():
                manifest = log.manifest(record)
                self._found.files += 1
            applied = max(applied, manifest.applied)
            for table in catalog.tables():
                for segment in manifest.of(table.number).segments:
                    check = partial(check_segment, log.folder, segment)
                    if not self._is_fine(log.folder / segment.name, check):
                        lost = f"{segment.rows} changes of epochs {max(0, segment.low)} to {segment.high}"
                        known = self._found.tables.setdefault(table.name, [])
                        known.extend([] if lost in known else [lost])
        with self._noting(refuses=True):
            self._found.files += Accepted(log.folder / ACCEPTED_FOLDER).check(applied)

    def _check_rejected(self, catalog: Catalog, last: EpochRecord) -> None:
        """Whether the rows and files that could not be used, or came late, are all there."""
        rejected = RejectedLog(self._home / "aside")
        for stream in catalog.base_streams():
            with self._noting():
                rejected.rows(stream, "bad", last.pins)
            with self._noting():
                rejected.rows(stream, "late", last.pins)

    def _reads_damage(self, catalog: Catalog, query: QueryRecord) -> bool:
        (statement,) = parse(query.sql)
        assert isinstance(statement, SelectQuery), query.sql
        plan = bind(statement, catalog)
        scans = {node.stream for node in walk(plan) if isinstance(node, StreamScan)}
        return query.answers.is_asked_anew and not scans.isdisjoint(self._found.streams)

    # What is wrong.

    def _is_fine(self, path: Location | str, check: Callable[[], None]) -> bool:
        """Whether a file or segment is as it was written; it is looked at once, and told of once."""
        if path not in self._told:
            self._told[path] = None
            self._found.files += 1
            try:
                check()
            except StateError as error:
                self._told[path] = str(error)
                self._note(error)
        return self._told[path] is None

    @contextmanager
    def _noting(self, *, refuses: bool = False) -> Iterator[None]:
        """Notes what is wrong, and goes on after it."""
        try:
            yield
        except PanesError as error:
            self._note(error)
            if refuses:
                self._found.refusals.append(str(error))

    def _note(self, error: PanesError) -> None:
        if str(error) not in self._found.problems:
            self._found.problems.append(str(error))


def _names_by_number(catalog: Catalog) -> dict[int, list[str]]:
    """The queries that each plan which runs, or has run, stands for."""
    names: dict[int, list[str]] = {}
    for query in catalog.queries():
        names.setdefault(query.running, []).append(query.name)
    of_plans = {number: names.get(query, []) for number, query in catalog.queries_by_plan().items()}
    return names | of_plans


def _text(instant: int) -> str:
    return to_datetime(instant).isoformat()
