"""What the steps of all plans did: one file per epoch, with the steps of the queries that run.

A row has what the step did in the last epoch that ran its query, and an exponential average over recent epochs.
Steps of queries that the epoch did not run are carried forward. Of thousands of queries most may sleep: so a file
has all that is known, or the steps of the queries that ran since an earlier file that has. The facts that plans
are chosen by lie in the same file, in its head: with one more file every epoch would wait once more for the disk.
The record of the epoch pins the file by its size and checksum, and the earlier one likewise.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from typing import NamedTuple, TypeVar

import pyarrow as pa

from panes.errors import StateError
from panes.operators.measures import Measures
from panes.stages.explain_tree import StepKey
from panes.state.storage.files import make_folder
from panes.state.storage.heads import numbered
from panes.state.storage.locations import Location, names_in, remove_tree
from panes.state.storage.object_cache import local_copy, write_object
from panes.state.storage.records import damaged
from panes.state.storage.verified import verified_difference

T = TypeVar("T")

PIN = "measures"
"""The name under which the record of an epoch pins its file."""
_WEIGHT = 0.2
"""Of the last epoch in the average: after ten epochs a change has come through to nine tenths."""
_KEPT = 100
"""The number of epochs that keep their measures; as many lie in one folder, which is removed as a whole."""
_MOST_CHANGED = 0.5
"""The most queries whose steps are written without those of all others, as a share of all: else everything is."""
_SINCE = "|"
"""Stands in a pin before that of the earlier file, if there is one."""
_FACTS = b"facts"
_NAMES = [field.name for field in fields(Measures)]
_SCHEMA = pa.schema(
    [("query", pa.int64()), ("stage", pa.int32()), ("part", pa.string()), ("step", pa.string())]
    + [("epoch", pa.int64()), ("seconds", pa.float64())]
    + [(f"{kind}_{name}", pa.float64()) for kind in ("last", "smooth") for name in _NAMES]
)


class StepPlace(NamedTuple):
    """A step of a plan: of a stage itself, or of one of its inputs."""

    query: int
    stage: int
    part: str
    """The name of the input; empty for the steps of the stage itself."""
    step: str


@dataclass(frozen=True)
class StepMeasures:
    """What a step did in its last epoch, and on average over recent ones."""

    epoch: int
    seconds: float
    """How much event time the epochs take on average: what a rate is a rate of."""
    last: Measures
    smooth: Measures


Measured = Mapping[StepPlace, StepMeasures]


class MeasuredSteps(Mapping[StepPlace, StepMeasures]):
    """What is known of all steps, query by query: what happens to some leaves those of the others as they are."""

    def __init__(self, of_queries: Mapping[int, Measured]) -> None:
        self.of_queries = of_queries

    @classmethod
    def of(cls, measured: Measured) -> MeasuredSteps:
        return measured if isinstance(measured, MeasuredSteps) else cls(_by_query(measured))

    def only(self, queries: Set[int]) -> MeasuredSteps:
        """The steps of these queries."""
        return MeasuredSteps({query: steps for query, steps in self.of_queries.items() if query in queries})

    def __getitem__(self, place: StepPlace) -> StepMeasures:
        return self.of_queries[place.query][place]

    def __iter__(self) -> Iterator[StepPlace]:
        return (place for steps in self.of_queries.values() for place in steps)

    def __len__(self) -> int:
        return sum(map(len, self.of_queries.values()))


def measured_after(
    before: Measured, epoch: int, seconds: Mapping[int, float], done: Mapping[StepPlace, Measures]
) -> MeasuredSteps:
    """What is known after an epoch: `seconds` says how far it moved the clock of each query that it ran."""
    known, done_by = MeasuredSteps.of(before).of_queries, _by_query(done)
    found = dict(known)
    for query in done_by.keys() | (known.keys() & seconds.keys()):
        old_steps, mine, length = known.get(query, {}), done_by.get(query, {}), seconds.get(query, 0.0)
        found[query] = steps = dict(old_steps)
        for place in mine.keys() | (old_steps.keys() if query in seconds else ()):
            steps[place] = _step_after(old_steps.get(place), epoch, length, mine.get(place))
    return MeasuredSteps(found)


def _step_after(
    old: StepMeasures | None, epoch: int, length: float, measures: Measures | None
) -> StepMeasures:
    if measures is None:
        # Nothing came to this step, while others of its query ran.
        assert old is not None
        measures = old.last.of_state
    if old is None or not old.seconds:
        # Of a first epoch, over all of the history, nobody knows how much time it took.
        return StepMeasures(epoch, length, measures, measures)
    smooth = old.smooth.smoothed(measures, _WEIGHT)
    return StepMeasures(epoch, (1 - _WEIGHT) * old.seconds + _WEIGHT * length, measures, smooth)


def _by_query(steps: Mapping[StepPlace, T]) -> dict[int, dict[StepPlace, T]]:
    found: dict[int, dict[StepPlace, T]] = {}
    for place, value in steps.items():
        found.setdefault(place.query, {})[place] = value
    return found


class MeasureLog:
    """The files of a database."""

    def __init__(self, folder: Location) -> None:
        self._folder = folder
        self._folders: set[str] | None = None
        """Those that were there when they were first asked for, and those that were made since."""
        self._whole: tuple[int, str, Mapping[int, Measured]] = -1, "", {}
        """The last file that has everything: its epoch, its pin, and what it has."""

    def write(self, epoch: int, measured: Measured, writer: str = "", facts: bytes = b"") -> str:
        """Writes the file of an epoch; gives its pin. `writer` tells the attempts at an epoch apart."""
        steps = MeasuredSteps.of(measured).of_queries
        changed = self._changed(epoch, steps)
        sink = pa.BufferOutputStream()
        written = steps if changed is None else changed
        table = _table([row for some in written.values() for row in some.items()])
        table = table.replace_schema_metadata({_FACTS: facts})
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_file(sink, table.schema, options=options) as arrow:
            arrow.write_table(table)
        content = sink.getvalue()
        make_folder(self._folder / _folder_of(epoch))
        write_object(self._path(epoch, writer), content)
        if self._folders is not None:
            self._folders.add(_folder_of(epoch))
        pin = f"{epoch}:{content.size}:{zlib.crc32(content)}:{writer}"
        if changed is None:
            self._whole = epoch, pin, steps
            return pin
        return f"{pin}{_SINCE}{self._whole[1]}"

    def _changed(self, epoch: int, steps: Mapping[int, Measured]) -> Mapping[int, Measured] | None:
        """The queries of which something has changed since the last file that has everything; None when the next
        one is to have everything too. What belongs together lies in one folder, and goes with it."""
        last, _, whole = self._whole
        if last < 0 or _folder_of(last) != _folder_of(epoch) or not whole.keys() <= steps.keys():
            return None
        changed = {query: some for query, some in steps.items() if whole.get(query) is not some}
        return changed if len(changed) <= _MOST_CHANGED * len(steps) else None

    def read(self, pin: str | None) -> Measured:
        """What an epoch knew, by its pin; nothing when it has none."""
        if pin is None:
            return {}
        own, _, since = pin.partition(_SINCE)
        steps = self._rows_of(own)
        return MeasuredSteps({**self._rows_of(since), **steps} if since else steps)

    def _rows_of(self, pin: str) -> Mapping[int, Measured]:
        """What one file has, by query."""
        rows = self._open(pin).read_all().to_pylist()
        return _by_query({_place(row): _measures(row) for row in rows})

    def facts(self, pin: str | None) -> bytes:
        """The facts that an epoch knew, as they were given; nothing when it has no pin, or the file is damaged:
        then they begin anew."""
        try:
            return b"" if pin is None else bytes(self._open(pin.partition(_SINCE)[0]).schema.metadata[_FACTS])
        except StateError:
            return b""

    def _open(self, pin: str) -> pa.RecordBatchFileReader:
        """The file of a pin, as it was written; else StateError."""
        epoch, size, checksum, writer = pin.split(":")
        path = self._path(int(epoch), writer)
        try:
            copy = local_copy(path)
            wrong = verified_difference(copy, int(size), int(checksum))
            file = None if wrong else pa.ipc.open_file(pa.memory_map(str(copy)))
        except (OSError, pa.ArrowException) as error:
            raise damaged(path, error) from error
        if file is None:
            raise damaged(path, wrong)
        return file

    def known(self, pin: str | None) -> Measured:
        """The same, or nothing when the file is damaged: averages begin anew, and nothing else depends on them.
        `panes check` tells of the file."""
        try:
            return self.read(pin)
        except StateError:
            return {}

    def of_query(self, pin: str | None, query: int) -> dict[StepKey, StepMeasures]:
        """What the steps of one query did."""
        found = self.read(pin).items()
        return {StepKey(*place[1:]): measures for place, measures in found if place.query == query}

    def collect(self, epoch: int) -> None:
        """Removes the files that are too old to be asked for."""
        if self._folders is None:
            self._folders = set(names_in(self._folder))
        for name in [name for name in self._folders if name < _folder_of(epoch - _KEPT)]:
            self._folders.remove(name)
            remove_tree(self._folder / name)

    def _path(self, epoch: int, writer: str) -> Location:
        return self._folder / _folder_of(epoch) / f"{numbered('epoch', epoch, writer)}.arrow"


def _table(rows: Sequence[tuple[StepPlace, StepMeasures]]) -> pa.Table:
    if not rows:
        return _SCHEMA.empty_table()
    values = ((*place, m.epoch, m.seconds, *m.last.as_tuple(), *m.smooth.as_tuple()) for place, m in rows)
    return pa.table(list(zip(*values, strict=True)), schema=_SCHEMA)


def _folder_of(epoch: int) -> str:
    """The name of the folder that has the file of an epoch."""
    return f"{max(0, epoch) // _KEPT:08d}"


def _place(row: Mapping[str, object]) -> StepPlace:
    return StepPlace(*(row[name] for name in StepPlace._fields))  # type: ignore[arg-type]


def _measures(row: Mapping[str, object]) -> StepMeasures:
    last, smooth = (Measures(*(row[f"{kind}_{name}"] for name in _NAMES)) for kind in ("last", "smooth"))  # type: ignore[arg-type]
    return StepMeasures(int(str(row["epoch"])), float(str(row["seconds"])), last, smooth)
