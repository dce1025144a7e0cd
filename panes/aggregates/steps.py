"""Changes of groups in the order of time: what each group was before and after each instant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from panes.aggregates.accumulator_table import has_collision
from panes.aggregates.base import Accumulators, Ints
from panes.delta.delta import Instants
from panes.delta.grouped import are_first, sorted_by_group, starts_of, sums_of
from panes.delta.hashing import Hashes, sorted_hashes


@dataclass(frozen=True)
class Steps:
    """One row per group and instant at which it changes, sorted by group and then by instant."""

    first: Hashes
    second: Hashes
    instants: Instants
    changes: Accumulators
    """What the events of the instant add up to."""
    event: Ints
    """An event of each step, from which the values of the keys can be taken."""
    step_of: Ints
    """The step of each event, where none is left out."""

    @cached_property
    def starts(self) -> Ints:
        """Where each group begins."""
        return starts_of(self.first, self.second)

    def totals(self) -> Accumulators:
        """The whole change of each group."""
        starts = self.starts
        return {number: sums_of(change, starts) for number, change in self.changes.items()}

    def running(self, base: Accumulators) -> tuple[Accumulators, Accumulators]:
        """The accumulators before and after each step, where `base` is what each group had at first."""
        starts = self.starts
        lengths = np.diff(np.append(starts, len(self.first)))
        before: Accumulators = {}
        after: Accumulators = {}
        for number in sorted({*self.changes, *base}):
            had = base.get(number, np.zeros(len(starts), np.int64))
            change = self.changes.get(number)
            if change is None:
                before[number] = after[number] = np.repeat(had, lengths)
                continue
            if len(starts) == len(change):
                before[number], after[number] = had, had + change
                continue
            summed = np.cumsum(change)
            after[number] = summed + np.repeat(had - (summed[starts] - change[starts]), lengths)
            before[number] = after[number] - change
        return before, after


def steps_of(
    first: Hashes, second: Hashes, instants: Instants, changes: Accumulators, *, keep_still: bool = False
) -> Steps:
    """Adds up the events of each group and instant; steps that change nothing are left out, unless
    `keep_still`."""
    order, first, second, instants, starts = _by_group_and_instant(first, second, instants)
    step_of = np.zeros(len(order), np.int64)
    if keep_still and len(order):
        step_of[order] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(order))))
    sums = {number: sums_of(c[order], starts) for number, c in changes.items() if c.any()}
    if not keep_still and sums:
        moves = np.flatnonzero(np.logical_or.reduce([change != 0 for change in sums.values()]))
        if len(moves) < len(starts):
            starts, sums = starts[moves], {number: change[moves] for number, change in sums.items()}
    elif not sums:
        starts = starts if keep_still else starts[:0]
        sums = {0: np.zeros(len(starts), np.int64)}
    return Steps(first[starts], second[starts], instants[starts], sums, order[starts], step_of)


def _by_group_and_instant(
    first: Hashes, second: Hashes, instants: Instants
) -> tuple[Ints, Hashes, Hashes, Instants, Ints]:
    """The order of events by group and instant, what they are in this order, and where each step begins."""
    order, ordered = sorted_hashes(first)
    by = ordered, second[order] if second.any() else second
    if has_collision(*by):
        order = np.lexsort((instants, second, first))
        sorted_by = first[order], second[order], instants[order]
        return order, *sorted_by, starts_of(*sorted_by)
    begins = are_first(by[0])
    if not len(order) or (instants == instants[0]).all():
        return order, *by, instants, np.flatnonzero(begins)
    # The groups lie in their order already, and so do their hashes.
    within, groups, times = sorted_by_group(np.cumsum(begins), instants[order])
    return order[within], *by, times, starts_of(groups, times)
