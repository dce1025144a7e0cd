"""The basic interval synopsis: a window is the sum of its panes, and all windows are read in one pass."""

from __future__ import annotations

import pytest

from panes.synopses.basic_interval import BasicInterval
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


def test_a_window_of_seven_panes_reads_seven():
    #  3   5   7   2   6   1   4   8
    #      |---------- 7s ---------|
    probed = store_of("basic", MAX).window(8 * SECOND, 7 * SECOND)
    assert (probed.probes, values(probed.rows)[-1]) == (7, 8)


def test_windows_that_end_together_read_as_many_panes_as_the_longest_has():
    store, group_by = store_of("basic", SUM), group_by_of(SUM)
    ranges = [3 * SECOND, 7 * SECOND, SECOND, 5 * SECOND]
    found = store.windows(8 * SECOND, ranges)
    assert [total(probed.rows, group_by) for probed in found] == [13, 33, 8, 21]
    assert max(probed.probes for probed in found) == 7, "not 3 + 7 + 1 + 5"


def test_one_pass_opens_each_pane_once(monkeypatch: pytest.MonkeyPatch):
    opened: list[tuple[int, int]] = []
    seen = BasicInterval.seen

    def noted(self: BasicInterval, after: int, upto: int, at: int) -> object:
        opened.append((after, upto))
        return seen(self, after, upto, at)

    monkeypatch.setattr(BasicInterval, "seen", noted)
    store_of("basic", SUM).windows(8 * SECOND, [SECOND * n for n in (2, 4, 4, 7)])
    panes = [(upto - after) // SECOND for after, upto in opened]
    assert sum(panes) == 7


def test_a_tuple_that_came_late_is_in_no_window_before_it_came():
    #  1   2   3   4   5   6   7   8
    #          .               L        of the third pane, seen from 7 on
    group_by = group_by_of(SUM)
    store = SynopsisStore(Layout.of(group_by), SECOND)
    store.add(partial_rows(group_by, VALUES), LONGEST)
    store.add(partial_rows(group_by, [100], first=3, late=4), LONGEST)
    at = {second: total(store.window(second * SECOND, 5 * SECOND).rows, group_by) for second in (6, 7, 8)}
    assert at == {6: 5 + 7 + 2 + 6 + 1, 7: 7 + 2 + 6 + 1 + 4 + 100, 8: 2 + 6 + 1 + 4 + 8}


def test_panes_that_no_window_needs_are_forgotten():
    store = store_of("basic", SUM)
    store.panes.drop_through(8 * SECOND)
    assert store.rows == 0
