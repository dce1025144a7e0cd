"""Looking up many hashes at once in a column that is sorted by hash."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.delta.hashing import HASH, Hashes
from panes.delta.rows import Positions, array_of, fixed_width
from panes.state.buffers.chunk import Chunk

Pairs = tuple[Positions, Positions]
"""Positions in what is looked up, and the positions in what is stored that they equal."""

_WORTH_A_DIRECTORY = 16
"""A directory is made when at least one hash is looked up for that many that are stored."""
_FEWEST_WANTED = 2_000
"""Fewer hashes are found by bisection in less time than a directory takes for its first steps."""

_SINGLE_STEPS = 3
"""How many more hashes of one place are compared one after the other; the rest, of which few places have any, at
once."""


@dataclass(frozen=True)
class Directory:
    """Where in a sorted column the hashes with the same first bits lie.

    With up to twice as many places as hashes, a place holds less than one hash on average, so a lookup is
    one comparison with the first hash from the place on; only where a place is crowded, more are read. It is made
    in one pass, and lives as long as its chunk does in this process; it is never stored.
    """

    starts: npt.NDArray[np.int32]
    shift: np.uint64
    is_crowded: npt.NDArray[np.bool_]
    """Which places hold more than one hash."""

    @classmethod
    def of(cls, hashes: Hashes) -> Directory:
        bits = max(4, len(hashes).bit_length())
        shift = np.uint64(64 - bits)
        counts = np.bincount((hashes >> shift).view(np.int64), minlength=1 << bits)
        starts = np.zeros(len(counts) + 1, dtype=np.int32)
        np.cumsum(counts, out=starts[1:])
        return cls(starts, shift, counts > 1)

    def find(self, stored: Hashes, wanted: Hashes) -> Pairs:
        if not len(stored):
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        place = (wanted >> self.shift).view(np.int64)
        low = self.starts[place]
        # From an empty place on, the first hash is one of another place, which no hash of this place equals.
        at: Positions = np.flatnonzero(np.take(stored, low, mode="clip") == wanted)
        parts: list[Pairs] = [(at, low[at].astype(np.int64))]
        at = np.flatnonzero(self.is_crowded[place])
        place, stored_at = place[at], low[at].astype(np.int64) + 1
        counts: Positions = self.starts[place + 1] - stored_at
        for _ in range(_SINGLE_STEPS):
            if not len(at):
                break
            parts.append(_equal(stored, stored_at, wanted, at))
            more = np.flatnonzero(counts > 1)
            at, stored_at, counts = at[more], stored_at[more] + 1, counts[more] - 1
        else:
            at, stored_at = expanded(at, stored_at, counts)
            parts.append(_equal(stored, stored_at, wanted, at))
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


_directories: WeakKeyDictionary[Chunk, Directory] = WeakKeyDictionary()


def find_unsorted(chunk: Chunk, wanted: Hashes) -> Pairs:
    """All pairs of equal hashes of some that are in any order and of a chunk, which is sorted by them."""
    stored = chunk.numbers(HASH)
    if _is_worth_a_directory(chunk, len(wanted)):
        return _directory_of(chunk).find(stored, wanted)
    return find_each(stored, wanted)


def _is_worth_a_directory(chunk: Chunk, wanted: int) -> bool:
    if wanted < _FEWEST_WANTED:
        return False
    return chunk in _directories or chunk.rows <= _WORTH_A_DIRECTORY * wanted


def _directory_of(chunk: Chunk) -> Directory:
    directory = _directories.get(chunk)
    if directory is None:
        directory = _directories[chunk] = Directory.of(chunk.numbers(HASH))
    return directory


def hashes_of(table: pa.Table) -> Hashes:
    values = fixed_width(array_of(table, HASH))
    assert values is not None
    return values


class HashSearch:
    """Many hashes, sorted, to be looked up in chunk after chunk.

    A chunk that is smaller is looked up in the wanted hashes instead, and one that is much larger is
    searched by bisection; else a directory of the larger side leads to the places.
    """

    def __init__(self, wanted: Hashes) -> None:
        self._wanted = wanted
        self._directory: Directory | None = None

    def find_in(self, chunk: Chunk) -> Pairs:
        stored = chunk.numbers(HASH)
        if len(self._wanted) >= _FEWEST_WANTED and len(stored) < len(self._wanted):
            if self._directory is None:
                self._directory = Directory.of(self._wanted)
            stored_at, at = self._directory.find(self._wanted, stored)
            return at, stored_at
        if not _is_worth_a_directory(chunk, len(self._wanted)):
            return find(stored, self._wanted)
        return _directory_of(chunk).find(stored, self._wanted)


def find(stored: Hashes, wanted: Hashes) -> Pairs:
    """All pairs of equal hashes. Both must be sorted.

    The shorter side is searched for in the longer one: by bisection, so that the cost follows the shorter side and
    grows with the logarithm of the longer, or by a directory where the longer side is not much longer.
    """
    if len(stored) < len(wanted):
        stored_at, wanted_at = _find_shorter(wanted, stored)
        return wanted_at, stored_at
    return _find_shorter(stored, wanted)


def _find_shorter(longer: Hashes, shorter: Hashes) -> Pairs:
    if len(shorter) >= _FEWEST_WANTED and len(longer) <= _WORTH_A_DIRECTORY * len(shorter):
        return Directory.of(longer).find(longer, shorter)
    return find_each(longer, shorter)


def find_each(stored: Hashes, wanted: Hashes) -> Pairs:
    """`find`, always by searching for each of `wanted`, which need not be sorted."""
    if not len(stored) or not len(wanted):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    low = np.searchsorted(stored, wanted)
    hits = np.flatnonzero(stored[np.minimum(low, len(stored) - 1)] == wanted)
    low = low[hits]
    return expanded(hits, low, np.searchsorted(stored, wanted[hits], side="right") - low)


def expanded(hits: Positions, starts: Positions, counts: Positions) -> Pairs:
    """Each hit with its start, start + 1, …, as many as its count says."""
    if not len(counts) or counts.max() == 1:
        return hits, starts
    ends = np.cumsum(counts)
    within = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
    return np.repeat(hits, counts), np.repeat(starts, counts) + within


def _equal(stored: Hashes, stored_at: Positions, wanted: Hashes, at: Positions) -> Pairs:
    equal = np.flatnonzero(stored[stored_at] == wanted[at])
    return at[equal], stored_at[equal]
