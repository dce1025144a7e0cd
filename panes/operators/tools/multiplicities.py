"""Numbers that change with time, per value: built up from rows, and cut into rows again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from panes.delta.delta import FOREVER, Instants
from panes.delta.grouped import Numbers, are_first, starts_of
from panes.delta.rows import Positions, where

_DIGIT = 21
"""The bits of a digit: three digits fit into a number, and hold up to 2²⁰ rows of one value."""
_LARGEST = 1 << (_DIGIT - 1)


class Multiplicities:
    """Rises and falls of up to three numbers of each value, such as how often it is held on the left and right.

    A rise or fall by one is a single number: the value, the instant, and which number moves up or down, in this
    order of bits. So one sort of numbers puts all of them into place. What they add up to is a number again, with
    the numbers of the value as its digits. Digits are added up apart where one might become too large.
    """

    def __init__(self, numbers: int, values: int) -> None:
        self._numbers = numbers
        self._values = values
        self._endless: list[tuple[int, Positions, Numbers]] = []
        """The rows that never end, of which numbers: what is left of a number after its last move."""
        self._moves: list[tuple[Positions, Instants, Numbers | int]] = []

    def add(
        self,
        number: int,
        codes: Positions,
        exp: Instants,
        weight: Numbers | None = None,
        ts: Instants | None = None,
    ) -> None:
        """Adds rows that begin at `ts` to a number; without `ts`, rows that were there before the span. Without
        weights each counts once."""
        if ts is not None:
            self._move(number, codes, ts, weight, is_rise=True)
        if len(exp) and exp.max() == FOREVER:
            is_endless = exp == FOREVER
            endless, ends = where(is_endless), where(~is_endless)
            ones = np.ones(len(endless), dtype=np.int64)
            self._endless.append((number, codes[endless], ones if weight is None else weight[endless]))
            codes, exp = codes[ends], exp[ends]
            weight = None if weight is None else weight[ends]
        self._move(number, codes, exp, weight, is_rise=False)

    def _move(
        self, number: int, codes: Positions, times: Instants, weight: Numbers | None, *, is_rise: bool
    ) -> None:
        sign = 1 if weight is None or not len(weight) else int(weight.min())
        if abs(sign) == 1 and (weight is None or (weight == sign).all()):
            self._moves.append((codes, times, 2 * number + (is_rise == (sign > 0))))
            return
        assert weight is not None
        copies = np.abs(weight)
        if copies.max() > 1:
            codes, times, weight = (np.repeat(column, copies) for column in (codes, times, weight))
        self._moves.append((codes, times, 2 * number + (weight > 0 if is_rise else weight < 0)))

    def sums(self) -> tuple[Positions, Instants, list[Numbers]]:
        """At each instant at which something of a value changes: the value, the instant, the numbers."""
        moves, low, bits, ranked = self._sorted()
        which = moves & 7
        moves >>= 3
        is_last = np.ones(len(moves), dtype=np.bool_)
        np.not_equal(moves[1:], moves[:-1], out=is_last[:-1])
        last = np.flatnonzero(is_last)
        moves = moves[last]
        times = moves & ((1 << bits) - 1)
        times += low
        moves >>= bits
        codes = moves
        if ranked is not None:
            times = ranked[times]
        starts = starts_of(codes)
        ends = np.append(starts, len(codes))[1:] - 1
        sums: list[Numbers] = []
        for numbers in self._together(last, ends):
            change = np.zeros(8, dtype=np.int64)
            for place, number in enumerate(numbers):
                change[2 * number : 2 * number + 2] = np.array([-1, 1]) << (place * _DIGIT)
            total = change[which]
            total = np.cumsum(total, out=total)[last]
            # What the moves of all values before add up to is no part of the number; what there was before the
            # first move is what ends by the moves, as after the last of them only what never ends is left.
            left = self._left(numbers)
            left[codes[ends]] -= total[ends]
            total += left[codes]
            sums += _digits(total, len(numbers))
        return codes, times, sums

    def _left(self, numbers: Sequence[int]) -> Numbers:
        """How often each value is there for ever, with these numbers as digits."""
        left = np.zeros(self._values, dtype=np.int64)
        for place, number in enumerate(numbers):
            for of, codes, weight in self._endless:
                if of == number:
                    np.add.at(left, codes, weight << (place * _DIGIT))
        return left

    def _sorted(self) -> tuple[Numbers, int, int, Instants | None]:
        """The moves as sorted numbers, the instant that their instants are counted from, the bits of these, and
        what they stand for where they are ranks."""
        times = [part[1] for part in self._moves]
        some = [part for part in times if len(part)]
        low = min((int(part.min()) for part in some), default=0)
        bits = (max((int(part.max()) for part in some), default=0) - low).bit_length()
        ranked: Instants | None = None
        if bits + self._values.bit_length() + 3 > 63:
            ranked, ranks = np.unique(np.concatenate(times), return_inverse=True)
            times = np.split(ranks, np.cumsum([len(part) for part in times])[:-1])
            low, bits = 0, len(ranked).bit_length()
        moves = np.empty(sum(map(len, times)), dtype=np.int64)
        end = 0
        for (codes, _, which), instants in zip(self._moves, times, strict=True):
            part = moves[end : end + len(codes)]
            end += len(codes)
            np.left_shift(codes, bits, out=part)
            part |= instants - low
            part <<= 3
            part |= which
        moves.sort()
        return moves, low, bits, ranked

    def _together(self, last: Positions, ends: Positions) -> list[list[int]]:
        """The numbers, in order, by which of them are added up at once."""
        every = list(range(self._numbers))
        most = int(last[-1]) + 1 if len(last) else 0
        endless = [
            int(np.bincount(codes, np.abs(weight)).max(initial=0)) for _, codes, weight in self._endless
        ]
        if most + sum(endless) >= _LARGEST:
            # All moves together might be too many; those of one value are what counts.
            most = int(np.diff(last[ends], prepend=-1).max(initial=0))
        return [every] if most + sum(endless) < _LARGEST or self._numbers == 1 else [[n] for n in every]


def _digits(sums: Numbers, count: int) -> list[Numbers]:
    """The numbers that are the digits of the sums, which this uses up: none of several is below zero, a single one
    may be."""
    digits = []
    for _ in range(count - 1):
        digits.append(sums & ((1 << _DIGIT) - 1))
        sums >>= _DIGIT
    return [*digits, sums]


def rows_of(
    code: Positions, time: Instants, number: Numbers
) -> tuple[Positions, Instants, Instants, Numbers]:
    """A number of each value, from each instant to the next, as rows: code, ts, exp and weight 1 or -1.

    A row begins where the number moves away from zero, and the oldest ends where it moves back to it.
    """
    parts = [_rows_above_zero(code, time, number, number > 0, 1)]
    is_below = number < 0
    if is_below.any():
        parts.append(_rows_above_zero(code, time, -number, is_below, -1))
    codes, ts, exp, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    return codes, ts, exp, weight


def _rows_above_zero(
    code: Positions, time: Instants, number: Numbers, is_above: npt.NDArray[np.bool_], weight: int
) -> tuple[Positions, Instants, Instants, Numbers]:
    # Nothing rises or falls where the number is zero or less, and was.
    is_there = is_above.copy()
    is_there[1:] |= is_above[:-1]
    there = where(is_there)
    code, number = code[there], number[there]
    np.maximum(number, 0, out=number)
    step = number.copy()
    step[1:] -= number[:-1]
    stays = are_first(code)[1:] & (number[:-1] != 0)
    if stays.any():
        # What is left of a value that never ends is no part of the next one.
        begins = where(stays) + 1
        step[begins] = number[begins]
    up, down = where(step > 0), where(step < 0)
    rises, falls = _repeated(up, step[up]), _repeated(down, -step[down])
    exp = time[there[falls]]
    if len(falls) < len(rises):
        # What is left at the last instant of a value never ends.
        ends = np.append(starts_of(code)[1:], len(code)) - 1
        left = np.repeat(ends, number[ends])
        order = np.argsort(np.append(falls, left), kind="stable")
        exp = np.append(exp, np.full(len(left), FOREVER))[order]
    # A value falls as often as it rises, so the rows of all values end in the order of their falls.
    return code[rises], time[there[rises]], exp, np.full(len(rises), weight)


def _repeated(places: Positions, counts: Numbers) -> Positions:
    return places if not len(counts) or counts.max() == 1 else np.repeat(places, counts)
