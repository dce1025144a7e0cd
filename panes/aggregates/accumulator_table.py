"""Accumulators by key: a log-structured table of differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.aggregates.base import Accumulators, Ints
from panes.delta.hashing import Hashes
from panes.state.buffers.base import State
from panes.state.buffers.chunk import Chunk
from panes.state.log import MergePolicy

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


class Found(NamedTuple):
    """Which keys were found in a run, and for every key where it is or would have to be put."""

    keys: Ints
    places: Ints


class AccumulatorTable(State):
    """The sum of all differences that were added under a key, found by the pair of hashes of the key.

    Each chunk is sorted by the first hash and holds a key once. What does not change is not touched, and rows that
    became zero vanish in merges. `keys` are the columns that the hashes are of.
    """

    kind = "accumulators"

    def __init__(
        self, keys: Sequence[str] = (), reason: str = "sums by key, changed by adding differences"
    ) -> None:
        super().__init__(MergePolicy(), reason, keys)

    def look_up(self, first: Hashes, second: Hashes) -> Accumulators:
        """The accumulators of each key, zeros for a key that is not there."""
        return self._look_up(first, second)[0]

    def add(self, first: Hashes, second: Hashes, differences: Accumulators) -> Accumulators:
        """Adds to the accumulators of keys, and gives what they were before; the keys are distinct, and sorted
        by their first hashes."""
        before, found = self._look_up(first, second)
        added = _without_zeros(Run(first, second, differences))
        if added.rows < len(first):
            found = None

        def merged(chunks: Sequence[Chunk]) -> Chunk | None:
            nonlocal found
            known, found = found, None  # it is where the added keys are in the chunk before them
            return self._merged(chunks, known)

        if added.rows:
            self._log.append(_chunk(added), merged)
        return before

    def _merged(self, chunks: Sequence[Chunk], found: Found | None = None) -> Chunk | None:
        """`found` says where the keys of the youngest chunk are in the one before it."""
        *older, youngest = chunks
        run = _run(youngest.table)
        for chunk in reversed(older):
            self.touched += chunk.rows
            old = _run(chunk.table)
            run = _merged(old, run, found or _find(old, run.first, run.second))
            found = None
        return _chunk(run) if run.rows else None

    def _look_up(self, first: Hashes, second: Hashes) -> tuple[Accumulators, Found | None]:
        """The accumulators, and where in the last chunk the keys are."""
        sums: Accumulators = {}
        found: Found | None = None
        for chunk in self._log.parts:
            run = _run(chunk.table)
            found = _find(run, first, second)
            self.touched += len(found.keys)
            at = found.places[found.keys]
            for number, stored in run.differences.items():
                if number in sums:
                    sums[number][found.keys] += stored[at]
                else:
                    sums[number] = np.zeros(len(first), np.int64)
                    sums[number][found.keys] = stored[at]
        return sums, found


def _merged(old: Run, new: Run, found: Found) -> Run:
    """The sums of both: what is in both is added up, the rest of the new one put in between; zeros are gone."""
    more = np.ones(new.rows, np.bool_)
    more[found.keys] = False
    rest = np.flatnonzero(more)
    same = found.places[found.keys]
    sums: Accumulators = {}
    # Only rows that something was added to may have become zero.
    is_zero = np.ones(len(same), np.bool_)
    for number in sorted({*old.differences, *new.differences}):
        change = old.differences.get(number, np.zeros(old.rows, np.int64))
        changed = change[same]
        if number in new.differences:
            changed += new.differences[number][found.keys]
            change = change.copy()
            change[same] = changed
        is_zero &= changed == 0
        sums[number] = change
    stays = np.ones(old.rows, np.bool_)
    stays[same[is_zero]] = False
    kept = np.flatnonzero(stays)
    if not len(rest) and len(kept) == old.rows:
        return Run(old.first, old.second, _not_all_zero(sums))
    places = np.append(0, np.cumsum(stays))[found.places[rest]] + np.arange(len(rest))
    is_old = np.ones(len(kept) + len(rest), np.bool_)
    is_old[places] = False
    old_places = np.flatnonzero(is_old)

    def together(stored: npt.NDArray[Any], added: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
        column = np.empty(len(is_old), stored.dtype)
        column[old_places] = stored[kept]
        column[places] = 0 if added is None else added[rest]
        return column

    differences = {number: together(stored, new.differences.get(number)) for number, stored in sums.items()}
    # The second hashes of keys of one column of fixed width are zero, unless it is NULL.
    second = together(old.second, new.second) if old.second.any() or new.second.any() else None
    first = together(old.first, new.first)
    return Run(first, np.zeros_like(first) if second is None else second, _not_all_zero(differences))


def _not_all_zero(differences: Accumulators) -> Accumulators:
    return {number: difference for number, difference in differences.items() if difference.any()}


def has_collision(first: Hashes, second: Hashes) -> bool:
    """Whether keys that are sorted by their first hash share it but not the second."""
    return bool(((first[1:] == first[:-1]) & (second[1:] != second[:-1])).any())


def _find(run: Run, first: Hashes, second: Hashes) -> Found:
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
    return Found(np.concatenate(found) if found else np.zeros(0, np.int64), places)


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
    rows = np.flatnonzero(some)
    return Run(run.first[rows], run.second[rows], {number: d[rows] for number, d in moving.items()})


def _chunk(run: Run) -> Chunk:
    columns = {FIRST: run.first, SECOND: run.second}
    table = pa.table(columns | {f"{_PREFIX}{number}": d for number, d in run.differences.items()})
    return Chunk.of_sorted(table, FIRST)


def _run(table: pa.Table) -> Run:
    return Run(_numpy(table, FIRST), _numpy(table, SECOND), _accumulators(table))


def _accumulators(table: pa.Table) -> Accumulators:
    names = [name for name in table.column_names if name.startswith(_PREFIX)]
    return {int(name.removeprefix(_PREFIX)): _numpy(table, name) for name in names}


def _numpy(table: pa.Table, name: str) -> npt.NDArray[Any]:
    return np.asarray(table.column(name).to_numpy())
