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

    def end_to_end(stored: npt.NDArray[Any] | None, added: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
        """All rows of the old one, and then the rest of the new one."""
        column = np.empty(old.rows + len(rest), np.int64 if stored is None else stored.dtype)
        column[: old.rows] = 0 if stored is None else stored
        column[old.rows :] = 0 if added is None else added[rest]
        return column

    sums: Accumulators = {}
    # Only rows that something was added to may have become zero.
    is_zero = np.ones(len(same), np.bool_)
    for number in sorted({*old.differences, *new.differences}):
        added = new.differences.get(number)
        sums[number] = column = end_to_end(old.differences.get(number), added)
        changed = column[same]
        if added is not None:
            changed += added[found.keys]
            column[same] = changed
        is_zero &= changed == 0
    gone = same[is_zero]
    if not len(rest) and not len(gone):
        return Run(old.first, old.second, _not_all_zero(sums))
    stays = np.ones(old.rows, np.bool_)
    stays[gone] = False
    kept = np.flatnonzero(stays)
    # The rest of the new one goes in between, where it is among what stays.
    before = found.places[rest]
    places = before - np.searchsorted(np.sort(gone), before) + np.arange(len(rest))
    is_old = np.ones(len(kept) + len(rest), np.bool_)
    is_old[places] = False
    source = np.empty(len(is_old), np.int64)
    source[is_old] = kept
    source[places] = np.arange(old.rows, old.rows + len(rest))
    first = end_to_end(old.first, new.first)[source]
    # The second hashes of keys of one column of fixed width are zero, unless it is NULL.
    has_second = old.second.any() or new.second.any()
    second = end_to_end(old.second, new.second)[source] if has_second else np.zeros_like(first)
    return Run(first, second, _not_all_zero({number: column[source] for number, column in sums.items()}))


def _not_all_zero(differences: Accumulators) -> Accumulators:
    return {number: difference for number, difference in differences.items() if difference.any()}


def has_collision(first: Hashes, second: Hashes) -> bool:
    """Whether keys that are sorted by their first hash share it but not the second."""
    return bool(((first[1:] == first[:-1]) & (second[1:] != second[:-1])).any())


def _find(run: Run, first: Hashes, second: Hashes) -> Found:
    stored, stored_second = run.first, run.second
    places = np.searchsorted(stored, first)
    if not len(stored):
        return Found(np.zeros(0, np.int64), places)
    # A key greater than all that are stored does not equal the greatest of them.
    rest = np.flatnonzero(np.take(stored, places, mode="clip") == first)
    found: list[Ints] = []
    # Keys that differ in the second hash only stand next to each other; hardly ever is there a second round.
    while len(rest):
        is_hit = stored_second[places[rest]] == second[rest]
        if is_hit.all():
            found.append(rest)
            break
        found.append(rest[is_hit])
        rest = rest[~is_hit]
        places[rest] += 1
        rest = rest[places[rest] < len(stored)]
        rest = rest[stored[places[rest]] == first[rest]]
    return Found(np.concatenate(found) if found else rest, places)


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
