"""The interval synopsis: a window is a few intervals of one pane, two, four, …"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from panes.delta.delta import BEGINNING, EXP, TS
from panes.delta.rows import with_column
from panes.state.storage.manifest import INTERVALS, PANES
from panes.synopses.interval import intervals_of
from panes.synopses.layout import Layout
from panes.synopses.synopsis_store import SynopsisStore
from tests.synopses.figure import (
    LONGEST,
    MAX,
    SECOND,
    SUM,
    VALUES,
    group_by_of,
    partial_rows,
    store_of,
    total,
    values,
)


def test_the_greatest_of_seven_panes_is_that_of_three_intervals():
    #  3   5   7   2   6   1   4   8
    #      (s 2s] (2s  4s] (4s    8s]
    probed = store_of("interval", MAX).window(8 * SECOND, 7 * SECOND)
    assert (probed.probes, values(probed.rows)[-1]) == (3, 8)


def test_there_are_two_intervals_per_pane_at_most():
    store = store_of("interval", SUM)
    rows = sum(chunk.rows for chunks in store.chunks.values() for chunk in chunks)
    assert rows == 8 + 4 + 2 + 1


@pytest.mark.parametrize("first", range(9))
def test_every_window_is_at_most_two_intervals_of_each_length(first: int):
    for last in range(first, 64):
        found = list(intervals_of(first, last, 1))
        covered = [pane for level, end in found for pane in range(end - 2**level, end)]
        assert covered == list(range(first, last))
        levels = [level for level, _ in found]
        assert all(levels.count(level) <= 2 for level in levels)


def test_intervals_are_the_same_however_time_is_cut():
    group_by = group_by_of(SUM)
    for cuts in ((0, 8), (0, 3, 8), (0, 1, 2, 3, 4, 5, 6, 7, 8)):
        store = SynopsisStore(Layout.of(group_by), SECOND)
        for since, clock in pairwise(cuts):
            store.add(partial_rows(group_by, VALUES[since:clock], first=since + 1), LONGEST)
            store.complete("interval", since * SECOND, clock * SECOND, LONGEST)
        found = [total(store.window(8 * SECOND, n * SECOND).rows, group_by) for n in range(1, 9)]
        assert found == [sum(VALUES[-n:]) for n in range(1, 9)], cuts


def test_who_reads_intervals_whose_panes_have_left_knows_how_long_a_pane_is():
    #  24      28      32      36      40      44
    #          t                                      the tuple of the pane that ends at 28, which has left
    #   ───────────────)                              is in the intervals that end at 32
    #                  ────────────────────────       and not in the window from 28 to 44
    group_by = group_by_of(SUM)
    rows = partial_rows(group_by, [5])
    rows = with_column(with_column(rows, TS, np.array([28])), EXP, np.array([28 + 32]))
    store = SynopsisStore(Layout.of(group_by), pane_us=4)
    store.add(rows, 32)
    store.complete("interval", BEGINNING, 48, 32)
    store.expire(28 + 32, 32)
    assert (len(store.chunks[PANES]), len(store.chunks[INTERVALS])) == (0, 3)
    reader = SynopsisStore(Layout.of(group_by), chunks=store.chunks)
    assert reader.window(44, 16).rows.num_rows == 0
