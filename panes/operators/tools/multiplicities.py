"""Numbers that change with time, per value: built up from rows, and cut into rows again."""

from __future__ import annotations

import numpy as np

from panes.delta.delta import FOREVER, Instants
from panes.delta.grouped import Numbers, starts_of
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
        self._before: list[tuple[int, Positions, Numbers]] = []
        self._endless: list[tuple[Positions, Numbers]] = []
        """Of the rows before the span those that never end: all others are moves as well."""
        self._moves: list[tuple[Positions, Instants, Numbers]] = []

    def add(
        self, number: int, codes: Positions, exp: Instants, weight: Numbers, ts: Instants | None = None
    ) -> None:
        """Adds rows that begin at `ts` to a number; without `ts`, rows that were there before the span."""
        if ts is None:
            self._before.append((number, codes, weight))
        else:
            self._move(number, codes, ts, weight)
        if len(exp) and exp.max() == FOREVER:
            is_endless = exp == FOREVER
            if ts is None:
                self._endless.append((codes[is_endless], weight[is_endless]))
            ends = where(~is_endless)
            codes, exp, weight = codes[ends], exp[ends], weight[ends]
        self._move(number, codes, exp, -weight)

    def _move(self, number: int, codes: Positions, times: Instants, weight: Numbers) -> None:
        copies = np.abs(weight)
        if len(copies) and copies.max() > 1:
            codes, times, weight = (np.repeat(column, copies) for column in (codes, times, weight))
        self._moves.append((codes, times, 2 * number + (weight > 0)))

    def sums(self) -> tuple[Positions, Instants, list[Numbers]]:
        """At each instant at which something of a value changes: the value, the instant, the numbers."""
        moves, low, bits, ranked = self._sorted()
        which = moves & 7
        moves >>= 3
        is_last = np.ones(len(moves), dtype=np.bool_)
        np.not_equal(moves[1:], moves[:-1], out=is_last[:-1])
        last = np.flatnonzero(is_last)
        moves = moves[last]
        codes = moves >> bits
        times = (moves & ((1 << bits) - 1)) + low
        if ranked is not None:
            times = ranked[times]
        starts = starts_of(codes)
        heads = codes[starts]
        sums: list[Numbers] = []
        for numbers in self._together(last, starts):
            change = np.zeros(8, dtype=np.int64)
            before = np.zeros(self._values, dtype=np.int64)
            for place, number in enumerate(numbers):
                change[2 * number : 2 * number + 2] = np.array([-1, 1]) << (place * _DIGIT)
                for of, some, weight in self._before:
                    if of == number:
                        np.add.at(before, some, weight << (place * _DIGIT))
            total = np.cumsum(change[which])[last]
            # What the moves of all values before add up to is no part of the number.
            before[heads] -= np.append(0, total)[starts]
            total += before[codes]
            sums += _digits(total, len(numbers))
        return codes, times, sums

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

    def _together(self, last: Positions, starts: Positions) -> list[list[int]]:
        """The numbers, in order, by which of them are added up at once."""
        every = list(range(self._numbers))
        ends = last[np.append(starts[1:], len(last)) - 1] if len(last) else last
        most = int(np.diff(ends, prepend=-1).max(initial=0))
        for codes, weight in self._endless:
            most += int(np.bincount(codes, np.abs(weight)).max(initial=0))
        return [every] if most < _LARGEST or self._numbers == 1 else [[number] for number in every]


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
    is_there = number != 0
    is_there[1:] |= is_there[:-1].copy()
    there = where(is_there)
    if 2 * len(there) < len(number):
        # Nothing rises or falls where the number is zero, and was.
        code, time, number = code[there], time[there], number[there]
    starts = starts_of(code)
    signs = (1, -1) if len(number) and number.min() < 0 else (1,)
    numbers = [np.maximum(number if sign > 0 else -number, 0) for sign in signs]
    parts = [
        _unsigned_rows(code, time, some, starts, sign) for sign, some in zip(signs, numbers, strict=True)
    ]
    codes, ts, exp, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    return codes, ts, exp, weight


def _unsigned_rows(
    code: Positions, time: Instants, number: Numbers, starts: Positions, sign: int
) -> tuple[Positions, Instants, Instants, Numbers]:
    step = number.copy()
    step[1:] -= number[:-1]
    step[starts] = number[starts]
    up, down = where(step > 0), where(step < 0)
    rises, falls = _repeated(up, step[up]), _repeated(down, -step[down])
    exp = time[falls]
    if len(falls) < len(rises):
        # What is left at the last instant of a value never ends.
        ends = np.append(starts[1:], len(code)) - 1
        left = np.repeat(ends, number[ends])
        order = np.argsort(np.append(falls, left), kind="stable")
        exp = np.append(exp, np.full(len(left), FOREVER))[order]
    # A value falls as often as it rises, so the rows of all values end in the order of their falls.
    return code[rises], time[rises], exp, np.full(len(rises), sign)


def _repeated(places: Positions, counts: Numbers) -> Positions:
    return places if not len(counts) or counts.max() == 1 else np.repeat(places, counts)
