"""Which rows of an order are at some places of it, from one instant to the next."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from panes.aggregates.base import Ints
from panes.delta.delta import Instants
from panes.delta.grouped import are_first, cumsum_within, starts_of


@dataclass(frozen=True)
class PlacesInOrder:
    """Distinct rows of some partitions in their order, how often each is there at first, and events: how many more
    of a row there are from an instant on.

    A partition is looked at before all events, and at each instant at which it has one: these are its moments.
    """

    partition: Ints
    """Of each row; the rows of a partition lie together."""
    before: Ints
    """How often each row is there at first."""
    row_of: Ints
    """The row of each event."""
    instants: Instants
    counts: Ints

    @property
    def cells(self) -> int:
        """How many numbers are held in memory to answer: one for each row and moment."""
        return int((self._heights * self._moments).sum())

    def changes(self, low: int, high: int) -> tuple[Ints, Instants, Ints]:
        """How many more of a row come to be at the places from `low` up to just before `high`, and when: the row,
        the instant and the number, below zero where there are fewer."""
        heights, moments = self._heights, self._moments
        sizes = heights * moments
        begins = np.cumsum(sizes) - sizes
        cell = np.arange(int(sizes.sum()))
        of = np.repeat(np.arange(len(sizes)), sizes)
        inside = cell - begins[of]
        # Row by row, from moment to moment: how often each is there.
        row_begins = np.repeat(begins, heights) + self._place * np.repeat(moments, heights)
        there = np.zeros(len(cell), np.int64)
        there[row_begins] = self.before
        _, _, step_of = self._steps
        np.add.at(there, row_begins[self.row_of] + self._moment[step_of], self.counts)
        there = np.maximum(cumsum_within(there, row_begins), 0)
        # Moment by moment, from row to row: how many come before each.
        moment, place = np.divmod(inside, heights[of])
        there = there[begins[of] + place * moments[of] + moment]
        ends = cumsum_within(there, np.flatnonzero(place == 0))
        shown = np.maximum(np.minimum(ends, high) - np.maximum(ends - there, low), 0)
        later = np.flatnonzero(moment)
        change = shown[later] - shown[later - heights[of[later]]]
        changed = later[change != 0]
        of, moment, place = of[changed], moment[changed], place[changed]
        _, instants, _ = self._steps
        first_rows, first_steps = np.cumsum(heights) - heights, np.cumsum(moments - 1) - (moments - 1)
        return first_rows[of] + place, instants[first_steps[of] + moment - 1], change[change != 0]

    @cached_property
    def _number(self) -> Ints:
        """The number of the partition of each row."""
        numbers: Ints = np.cumsum(are_first(self.partition)) - 1
        return numbers

    @cached_property
    def _heights(self) -> Ints:
        """How many rows each partition has."""
        return np.bincount(self._number)

    @cached_property
    def _place(self) -> Ints:
        """The place of each row in its partition."""
        return np.arange(len(self._number)) - (np.cumsum(self._heights) - self._heights)[self._number]

    @cached_property
    def _steps(self) -> tuple[Ints, Instants, Ints]:
        """The partition and the instant of each moment but the first ones, by both; and the step of each event."""
        of_event = self._number[self.row_of]
        order = np.lexsort((self.instants, of_event))
        by = of_event[order], self.instants[order]
        step_of = np.empty(len(order), np.int64)
        step_of[order] = np.cumsum(are_first(*by)) - 1 if len(order) else 0
        starts = starts_of(*by) if len(order) else order
        return by[0][starts], by[1][starts], step_of

    @cached_property
    def _moments(self) -> Ints:
        """How many moments each partition has."""
        of_step, _, _ = self._steps
        return np.bincount(of_step, minlength=len(self._heights)) + 1

    @cached_property
    def _moment(self) -> Ints:
        """The moment of its partition that each step is."""
        of_step, _, _ = self._steps
        steps = self._moments - 1
        return np.arange(len(of_step)) - (np.cumsum(steps) - steps)[of_step] + 1
