"""Accumulators by key: a log-structured table of differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.aggregates.base import Accumulators, Ints
from panes.delta.delta import FOREVER
from panes.delta.hashing import Hashes
from panes.state.base import State
from panes.state.chunk import Chunk

FIRST = "_first"
SECOND = "_second"
_PREFIX = "_accumulator_"


class Run(NamedTuple):
    """Differences of distinct keys, sorted by the hashes of the keys."""

    first: Hashes
    second: Hashes
    differences: Accumulators

    @property
    def rows(self) -> int:
        return len(self.first)


class AccumulatorTable(State):
    """The sum of all differences that were added under a key, found by the pair of hashes of the key.

    Each chunk is sorted by the first hash and holds a key once. A new chunk is merged with the one before it
    when that is not at least twice as long, so there are few chunks, a row is merged seldom, and what
    does not change is not touched. Rows that became zero vanish in merges.
    """

    def __init__(self) -> None:
        self._chunks: list[Chunk] = []

    @property
    def chunks(self) -> Sequence[Chunk]:
        return self._chunks

    def restore(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = sorted(chunks, key=lambda chunk: chunk.labels["level"])

    def look_up(self, first: Hashes, second: Hashes) -> Accumulators:
        """The accumulators of each key, zeros for a key that is not there."""
        sums: Accumulators = {}
        for chunk in self._chunks:
            run = _run(chunk.table)
            found, places = _find(run, first, second)
            self.touched += len(found)
            for number, stored in run.differences.items():
                sums.setdefault(number, np.zeros(len(first), np.int64))[found] += stored[places]
        return sums

    def add(self, first: Hashes, second: Hashes, differences: Accumulators) -> None:
        """Adds to the accumulators of keys; the keys are distinct, and sorted by their hashes."""
        run = _without_zeros(Run(first, second, differences))
        while run.rows and self._chunks and self._chunks[-1].rows < 2 * run.rows:
            chunk = self._chunks.pop()
            self.touched += chunk.rows
            run = _without_zeros(_merged(_run(chunk.table), run))
        if run.rows:
            self._chunks.append(_chunk(run, level=len(self._chunks)))


def _merged(old: Run, new: Run) -> Run:
    """The sums of both: what is in both is added up, the rest of the new one put in between."""
    found, places = _find(old, new.first, new.second)
    more = np.ones(new.rows, np.bool_)
    more[found] = False
    rest = np.flatnonzero(more)
    at = _insertion_places(old, new.first[rest], new.second[rest])
    differences: Accumulators = {}
    for number in sorted({*old.differences, *new.differences}):
        before = old.differences.get(number, np.zeros(old.rows, np.int64))
        added = new.differences.get(number, np.zeros(new.rows, np.int64))
        sums = before.copy()
        sums[places] += added[found]
        differences[number] = np.insert(sums, at, added[rest]) if len(rest) else sums
    if not len(rest):
        return Run(old.first, old.second, differences)
    return Run(
        np.insert(old.first, at, new.first[rest]), np.insert(old.second, at, new.second[rest]), differences
    )


def _insertion_places(run: Run, first: Hashes, second: Hashes) -> Ints:
    """Where to put keys that are not in the run, so that it stays sorted."""
    places = np.searchsorted(run.first, first)
    # Keys of one first hash are in the order of the second; hardly ever are there two.
    behind = np.flatnonzero(places < run.rows)
    while len(behind):
        behind = behind[run.first[places[behind]] == first[behind]]
        behind = behind[run.second[places[behind]] < second[behind]]
        places[behind] += 1
        behind = behind[places[behind] < run.rows]
    return places


def starts_of(first: Hashes, second: Hashes) -> Ints:
    """Where each key begins, among keys sorted by their hashes."""
    if not len(first):
        return np.zeros(0, np.int64)
    same = (first[1:] == first[:-1]) & (second[1:] == second[:-1])
    return np.flatnonzero(np.concatenate([[True], ~same]))


def has_collision(first: Hashes, second: Hashes) -> bool:
    """Whether keys that are sorted by their first hash share it but not the second."""
    return bool(((first[1:] == first[:-1]) & (second[1:] != second[:-1])).any())


def _find(run: Run, first: Hashes, second: Hashes) -> tuple[Ints, Ints]:
    """Which keys are in the run, and where."""
    stored, stored_second = run.first, run.second
    places = np.searchsorted(stored, first)
    rest = np.flatnonzero(places < len(stored))
    found: list[Ints] = []
    # Keys that differ in the second hash only stand next to each other; hardly ever is there a second round.
    while len(rest):
        rest = rest[stored[places[rest]] == first[rest]]
        hit = stored_second[places[rest]] == second[rest]
        found.append(rest[hit])
        rest = rest[~hit]
        places[rest] += 1
        rest = rest[places[rest] < len(stored)]
    which = np.concatenate(found) if found else np.zeros(0, np.int64)
    return which, places[which]


def _without_zeros(run: Run) -> Run:
    some = np.zeros(run.rows, np.bool_)
    moving: Accumulators = {}
    for number, difference in run.differences.items():
        nonzero = difference != 0
        if nonzero.any():
            some |= nonzero
            moving[number] = difference
    if some.all():
        return Run(run.first, run.second, moving)
    return Run(run.first[some], run.second[some], {number: d[some] for number, d in moving.items()})


def _chunk(run: Run, *, level: int) -> Chunk:
    columns = {FIRST: run.first, SECOND: run.second}
    table = pa.table(columns | {f"{_PREFIX}{number}": d for number, d in run.differences.items()})
    return Chunk(
        lambda: table, rows=table.num_rows, min_exp=FOREVER, max_exp=FOREVER, labels={"level": level}
    )


def _run(table: pa.Table) -> Run:
    return Run(_numpy(table, FIRST), _numpy(table, SECOND), _accumulators(table))


def _accumulators(table: pa.Table) -> Accumulators:
    names = [name for name in table.column_names if name.startswith(_PREFIX)]
    return {int(name.removeprefix(_PREFIX)): _numpy(table, name) for name in names}


def _numpy(table: pa.Table, name: str) -> npt.NDArray[Any]:
    return np.asarray(table.column(name).to_numpy())
