"""A sketch of how many different values some rows have: HyperLogLog over the hashes by which they are routed.

Registers are small arrays of numpy, because a whole column is added at once. The binding of Apache DataSketches
adds one value per call, which takes longer than the routing itself.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from panes.delta.hashing import Hashes

Registers = npt.NDArray[np.uint8]

_BITS = 10
"""Of a hash, to choose the register: the first ones, as the last ones say the shard of a row."""
_REGISTERS = 1 << _BITS
_REST = 53
"""Of the other bits of a hash, those that are looked at: as many as a float holds exactly."""
_BLOCK = 16_384
"""Hashes that are added at once: what is computed of them stays in the caches of the processor."""
_NONE = np.uint64(np.iinfo(np.uint64).max)
ERROR = 1.04 / math.sqrt(_REGISTERS)
"""The standard error of a count, as a share of it."""


def distinct_sketch(hashes: Hashes) -> Registers:
    """In each register the most zeros that the hashes of that register begin with behind its bits, plus one; zero
    where there are none. The sketch of some rows and others together is the greater of both, register by register.
    """
    least = np.full(_REGISTERS, _NONE)
    for begin in range(0, len(hashes), _BLOCK):
        some = hashes[begin : begin + _BLOCK]
        # The hash that begins with the most zeros is the least one, so one pass finds it for all registers.
        np.minimum.at(least, (some >> np.uint64(64 - _BITS)).view(np.int64), some << np.uint64(_BITS))
    zeros = _REST - np.frexp((least >> np.uint64(64 - _REST)).astype(np.float64))[1]
    return np.where(least == _NONE, 0, zeros + 1).astype(np.uint8)


def distinct_in(registers: Registers) -> float:
    """About how many different hashes a sketch was made of.

    The estimator is that of Ertl (2017), which is right for few values as for many.

    >>> distinct_in(distinct_sketch(np.zeros(0, np.uint64)))
    0.0
    """
    counts = np.bincount(registers, minlength=_REST + 2)
    if counts[0] == _REGISTERS:
        return 0.0
    total = _REGISTERS * _tau(1 - counts[_REST + 1] / _REGISTERS)
    for zeros in range(_REST, 0, -1):
        total = (total + counts[zeros]) / 2
    total += _REGISTERS * _sigma(counts[0] / _REGISTERS)
    return float(_REGISTERS * _REGISTERS / (2 * math.log(2) * total))


def _sigma(share: float) -> float:
    """The part of registers that nothing fell into."""
    power, total, before = 1.0, share, -1.0
    while total != before:
        before = total
        share *= share
        total += share * power
        power += power
    return total


def _tau(share: float) -> float:
    """The part of registers that can go no further."""
    if share in (0.0, 1.0):
        return 0.0
    power, total, before = 1.0, 1 - share, -1.0
    while total != before:
        before = total
        share = math.sqrt(share)
        power /= 2
        total -= (1 - share) ** 2 * power
    return total / 3
