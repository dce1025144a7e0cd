"""Numbers that change with time, per value: built up from rows, and cut into rows again."""

from __future__ import annotations

import numpy as np

from panes.delta.delta import FOREVER, Instants
from panes.delta.grouped import Numbers, cumsum_within, last_of_instants, sort_by_group, starts_of
from panes.delta.rows import where


class Multiplicities:
    """Rises and falls of some numbers of each value, such as how often it is held on the left and right."""

    def __init__(self, numbers: int, values: int) -> None:
        self._before = np.zeros((numbers, values), dtype=np.int64)
        self._parts: list[tuple[Numbers, Instants, Numbers, Numbers]] = []

    def add(
        self, number: int, codes: Numbers, exp: Instants, weight: Numbers, ts: Instants | None = None
    ) -> None:
        """Adds rows that begin at `ts` to a number; without `ts`, rows that were there before the span."""
        column = np.full(len(codes), number, dtype=np.int64)
        if ts is None:
            np.add.at(self._before[number], codes, weight)
        else:
            self._parts.append((codes, ts, weight, column))
        ends = where(exp < FOREVER)
        self._parts.append((codes[ends], exp[ends], -weight[ends], column[ends]))

    def sums(self) -> tuple[Numbers, Instants, list[Numbers]]:
        """At each instant at which something of a value changes: the value, the instant, the numbers."""
        codes, times, weights, columns = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        order = sort_by_group(codes, times)
        codes, times, weights, columns = codes[order], times[order], weights[order], columns[order]
        starts = starts_of(codes)
        last = last_of_instants(codes, times)
        at = codes[last]
        sums = [
            cumsum_within(np.where(columns == number, weights, 0), starts)[last] + before[at]
            for number, before in enumerate(self._before)
        ]
        return at, times[last], sums


def rows_of(code: Numbers, time: Instants, number: Numbers) -> tuple[Numbers, Instants, Instants, Numbers]:
    """A number of each value, from each instant to the next, as rows: code, ts, exp and weight 1 or -1.

    A row begins where the number moves away from zero, and the oldest ends where it moves back to it.
    """
    parts = [_unsigned_rows(code, time, np.maximum(sign * number, 0), sign) for sign in (1, -1)]
    codes, ts, exp, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    return codes, ts, exp, weight


def _unsigned_rows(
    code: Numbers, time: Instants, number: Numbers, sign: int
) -> tuple[Numbers, Instants, Instants, Numbers]:
    starts = starts_of(code)
    step = number.copy()
    step[1:] -= number[:-1]
    step[starts] = number[starts]
    up, down = where(step > 0), where(step < 0)
    rises, falls = np.repeat(up, step[up]), np.repeat(down, -step[down])
    rise_code, fall_code = code[rises], code[falls]
    rank = np.arange(len(rises)) - np.searchsorted(rise_code, rise_code)
    first_fall = np.searchsorted(fall_code, rise_code)
    has_fall = rank < np.searchsorted(fall_code, rise_code, side="right") - first_fall
    end = np.full(len(rises), FOREVER)
    end[has_fall] = time[falls[(first_fall + rank)[has_fall]]]
    return rise_code, time[rises], end, np.full(len(rises), sign)
