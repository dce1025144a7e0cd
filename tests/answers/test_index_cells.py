"""Tests of where rows lie in a doubly partitioned index, and of how large its cells become."""

import numpy as np
import pytest

from panes.answers.index_cells import IndexCells


def sizes(cells: IndexCells, panes: int, now: int) -> list[int]:
    """The rows of each cell at the end of a pane, when one row came in every pane for each pane to leave in.

    A row that came in pane i leaves in one of the panes i + 1 … i + p, so p (p + 1) / 2 rows are alive.
    """
    came = np.repeat(np.arange(now - panes + 1, now + 1), panes)
    leaves = came + np.tile(np.arange(1, panes + 1), panes)
    is_alive = leaves > now
    found = cells.cell_of(came[is_alive], leaves[is_alive], 1)
    assert len(found) == panes * (panes + 1) // 2
    return list(np.bincount(found, minlength=cells.count))


def average_variance(cells: IndexCells, panes: int) -> float:
    assert cells.panes == panes
    return float(np.mean([np.var(sizes(cells, panes, now)) for now in range(panes, 2 * panes)]))


@pytest.mark.parametrize(
    ("text", "panes", "in_turn", "by_range"), [("2x2", 8, 3.0, 13.0), ("4x4", 16, 3.8, 33.8)]
)
def test_cells_are_of_more_equal_size_when_panes_are_assigned_in_turn(text, panes, in_turn, by_range):
    assert round(average_variance(IndexCells.of(text), panes), 1) == in_turn
    assert round(average_variance(IndexCells.of(text, "chronological"), panes), 1) == by_range


@pytest.mark.parametrize("order", ["round_robin", "chronological"])
@pytest.mark.parametrize("text", ["1x1", "4x1", "1x4", "2x3", "4x4"])
def test_an_update_of_one_pane_concerns_one_row_and_one_column_of_cells(text, order):
    cells = IndexCells.of(text, order)
    for now in range(100):
        ahead = np.arange(1, cells.panes + 1)
        coming = set(cells.cell_of(np.full(len(ahead), now), now + ahead, 1))
        leaving = set(cells.cell_of(now - ahead, np.full(len(ahead), now), 1))
        assert len(coming) == cells.leavings
        assert len(leaving) == cells.comings
        assert len(coming | leaving) == cells.per_update


def test_the_cell_is_that_of_the_remainders_of_both_panes():
    #                 pane 0    pane 5           pane -1 lies before 1970
    ts, exp = np.array([3, 57, -1]), np.array([12, 93, 25])
    assert list(IndexCells.of("4x3").cell_of(ts, exp, 10)) == [0 * 3 + 1, 1 * 3 + 0, 3 * 3 + 2]


@pytest.mark.parametrize(
    ("longest", "pane"), [(1, 1), (16, 1), (17, 2), (32, 2), (33, 4), (3_600_000_000, 2**28)]
)
def test_a_pane_is_the_least_power_of_two_of_which_sixteen_hold_the_longest_lifetime(longest, pane):
    assert IndexCells.of("4x4").pane_for(longest) == pane
