"""Sketches of how many different values there are: HyperLogLog, over hashes of the values.

Registers are small arrays of numpy, because a whole column is added at once. The binding of Apache DataSketches
adds one value per call, which takes longer than the routing itself.

A *cell* is a register together with a number of zeros that was seen in it. The cells of some values say all that
registers do: how many copies of each cell there are can be counted up and down, so that values may leave again.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from panes.delta.hashing import Hashes
from panes.plan.sketch_sizes import COUNT_ERROR, REGISTER_BITS

Registers = npt.NDArray[np.uint8]
Cells = npt.NDArray[np.int32]

_REGISTERS = 1 << REGISTER_BITS
"""The first bits of a hash choose the register, as the last ones say the shard of a row."""
_REST = 53
"""Of the other bits of a hash, those that are looked at: as many as a float holds exactly."""
_BLOCK = 16_384
"""Hashes that are added at once: what is computed of them stays in the caches of the processor."""
_NONE = np.uint64(np.iinfo(np.uint64).max)
_RANKS = 64
"""The numbers from one register to the next among cells; more than there are numbers of zeros."""
ERROR = COUNT_ERROR
"""The standard error of a count, as a share of it."""


def distinct_sketch(hashes: Hashes) -> Registers:
    """In each register the most zeros that the hashes of that register begin with behind its bits, plus one; zero
    where there are none. The sketch of some rows and others together is the greater of both, register by register.
    """
    least = np.full(_REGISTERS, _NONE)
    for begin in range(0, len(hashes), _BLOCK):
        some = hashes[begin : begin + _BLOCK]
        # The hash that begins with the most zeros is the least one, so one pass finds it for all registers.
        np.minimum.at(least, _register(some), some << np.uint64(REGISTER_BITS))
    return np.where(least == _NONE, 0, _zeros(least) + 1).astype(np.uint8)


def distinct_in(registers: Registers) -> float:
    """About how many different hashes a sketch was made of.

    >>> distinct_in(distinct_sketch(np.zeros(0, np.uint64)))
    0.0
    """
    counts = np.bincount(registers, minlength=_REST + 2)
    return float(_estimates(counts[np.newaxis])[0])


def cells_of(hashes: Hashes) -> Cells:
    """The cell of each hash."""
    zeros = _zeros(hashes << np.uint64(REGISTER_BITS))
    return np.asarray(_register(hashes) * _RANKS + zeros + 1, np.int32)


def register_of(cells: Cells) -> Cells:
    """The register of each cell. Of the cells of a register, the greatest decides."""
    registers: Cells = cells // _RANKS
    return registers


def distinct_in_cells(groups: npt.NDArray[np.int64], cells: Cells, count: int) -> npt.NDArray[np.float64]:
    """About how many different hashes each of `count` groups has, from its cells, sorted by group and cell."""
    of_register = groups * _REGISTERS + register_of(cells)
    last = np.append(of_register[1:] != of_register[:-1], True)[: len(cells)]
    counts = np.zeros((count, _REST + 2), np.int64)
    np.add.at(counts, (groups[last], cells[last] % _RANKS), 1)
    counts[:, 0] = _REGISTERS - counts.sum(axis=1)
    return _estimates(counts)


def _register(hashes: Hashes) -> npt.NDArray[np.int64]:
    return (hashes >> np.uint64(64 - REGISTER_BITS)).view(np.int64)


def _zeros(rest: Hashes) -> npt.NDArray[np.int64]:
    """How many zeros the bits behind those of the register begin with."""
    return np.asarray(_REST - np.frexp((rest >> np.uint64(64 - _REST)).astype(np.float64))[1], np.int64)


def _estimates(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """About how many hashes there are, from how many registers of each sketch have which number.

    The estimator is that of Ertl (2017), which is right for few values as for many.
    """
    found = np.zeros(len(counts))
    some = counts[:, 0] < _REGISTERS
    there = counts[some]
    total = _REGISTERS * _tau(1 - there[:, _REST + 1] / _REGISTERS)
    for zeros in range(_REST, 0, -1):
        total = (total + there[:, zeros]) / 2
    total += _REGISTERS * _sigma(there[:, 0] / _REGISTERS)
    found[some] = _REGISTERS * _REGISTERS / (2 * np.log(2) * total)
    return found


def _sigma(share: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The part of registers that nothing fell into."""
    power, total, before = 1.0, share, np.full(len(share), -1.0)
    while (total != before).any():
        before = total
        share = share * share
        total = total + share * power
        power += power
    return total


def _tau(share: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The part of registers that can go no further."""
    power, total, before = 1.0, 1 - share, np.full(len(share), -1.0)
    is_end = (share == 0.0) | (share == 1.0)
    while (total != before)[~is_end].any():
        before = total
        share = np.sqrt(share)
        power /= 2
        total = total - (1 - share) ** 2 * power
    return np.where(is_end, 0.0, total / 3)
