"""Windows of any two lengths are sums of cells."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from panes.aggregates.linear import ROWS
from panes.delta.delta import BEGINNING, EXP, TS
from panes.delta.rows import int64
from panes.plan.expressions import Aggregate
from panes.plan.nodes import GroupBy, StreamScan, Window
from panes.plan.schema import Field, Schema
from panes.plan.types import BIGINT
from panes.plan.windows import RangeWindow
from panes.synopses.basic_interval import BasicInterval
from panes.synopses.join_cells import JoinCells
from panes.synopses.layout import Layout

PANE = 10
PANES = 8
SCAN = StreamScan("s", "s", Schema((Field("s.k", BIGINT),)))
COUNTED = GroupBy(Window(SCAN, RangeWindow(PANE, PANE)), ("s.k",), (Aggregate("n", "count", None, BIGINT),))
LAYOUT = Layout.of(COUNTED)
LENGTHS = [(one, other) for one in range(1, PANES + 1) for other in range(1, PANES + 1)]
"""All windows of up to eight panes, in panes."""

Pairs = list[tuple[int, int, int, int]]
"""Pairs of one group, with the times of both tuples, and when they were seen."""


def drawn_pairs(random: Random, most: int = 300) -> Pairs:
    found = []
    for _ in range(most):
        left, right = random.randint(1, 200), random.randint(1, 200)
        late = random.choice((0, 0, 0, random.randint(0, 60)))
        found.append((random.randint(0, 2), left, right, max(left, right) + late))
    return found


def cells_of(pairs: Pairs) -> JoinCells:
    cells = JoinCells(LAYOUT, PANE)
    add(cells, pairs)
    return cells


def add(cells: JoinCells, pairs: Pairs) -> None:
    group, left, right, seen = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    rows = pa.table({"s.k": group, ROWS: np.ones(len(pairs), np.int64)})
    cells.add(rows, left, right, seen)


def windows(one: int, other: int, slide: int = 1) -> tuple[RangeWindow, RangeWindow]:
    return RangeWindow(one * PANE, slide * PANE), RangeWindow(other * PANE, slide * PANE)


def held(pairs: Pairs, at: int, one: int, other: int) -> dict[int, int]:
    counts: dict[int, int] = {}
    for group, left, right, seen in pairs:
        if left > at - one * PANE and right > at - other * PANE and seen <= at:
            counts[group] = counts.get(group, 0) + 1
    return counts


def counts(rows: pa.Table) -> dict[int, int]:
    return dict(zip(rows.column("s.k").to_pylist(), rows.column(ROWS).to_pylist(), strict=True))


@pytest.mark.parametrize("seed", range(2))
def test_windows_of_any_two_lengths_hold_what_they_should(seed: int) -> None:
    pairs = drawn_pairs(Random(seed))
    cells = cells_of(pairs)
    for one, other in LENGTHS:
        for at in (80, 130, 200):
            assert counts(cells.window(at, windows(one, other))) == held(pairs, at, one, other), (
                one,
                other,
                at,
            )


def test_windows_that_end_together_are_read_in_one_pass_over_the_cells(monkeypatch) -> None:
    pairs = drawn_pairs(Random(3))
    cells = cells_of(pairs)
    read = []
    seen = BasicInterval.seen
    monkeypatch.setattr(
        BasicInterval, "seen", lambda self, after, *rest: read.append(after) or seen(self, after, *rest)
    )
    for at in (80, 130, 200):
        asked = [(one * PANE, other * PANE) for one, other in LENGTHS]
        found = cells.windows(at, asked)
        for (one, other), probed in zip(LENGTHS, found, strict=True):
            assert counts(probed.rows) == held(pairs, at, one, other), (one, other, at)
    assert read == [at - PANES * PANE for at in (80, 130, 200)], "once for all 64 windows"
    found = cells.windows(200, [(30, 20), (70, 70), (10, 10), (50, 30)])
    assert max(probed.probes for probed in found) == 7, "not 3 + 7 + 1 + 5"


def test_cells_tell_which_of_two_old_tuples_a_window_of_six_panes_has_lost() -> None:
    """Where figure 8.4 fails: of tuples in the panes between six and eight back, a pair is in the (6, 8) window or
    not by its left pane alone, which cells know."""
    pairs = [(0, 25, 15, 25), (0, 15, 25, 25), (0, 15, 15, 25), (0, 25, 25, 25)]
    cells = cells_of(pairs)
    assert counts(cells.window(80, windows(6, 8))) == {0: 2}
    assert counts(cells.window(80, windows(8, 6))) == {0: 2}
    assert counts(cells.window(80, windows(6, 6))) == {0: 1}


def test_lifetimes_say_what_is_held_at_every_slide() -> None:
    pairs = drawn_pairs(Random(7), 120)
    cells = cells_of(pairs)
    for one, other in ((2, 2), (3, 7), (8, 1)):
        for slide in (1, 2):
            rows = cells.lifetimes(windows(one, other, slide), BEGINNING, 240)
            enters, leaves = int64(rows, TS), int64(rows, EXP)
            for at in range(0, 241, slide * PANE):
                here = rows.filter(pa.array((enters <= at) & (at < leaves)))
                found: dict[int, int] = {}
                for group, count in zip(here["s.k"].to_pylist(), here[ROWS].to_pylist(), strict=True):
                    found[group] = found.get(group, 0) + count
                assert found == held(pairs, at, one, other), (one, other, slide, at)


def test_lifetimes_of_a_span_are_those_that_it_can_see() -> None:
    cells = cells_of(drawn_pairs(Random(8), 120))
    everything = cells.lifetimes(windows(3, 5), BEGINNING, 170)
    some = cells.lifetimes(windows(3, 5), 120, 170)
    assert 0 < some.num_rows < everything.num_rows
    assert some.num_rows == int((int64(everything, EXP) > 120).sum())


def test_state_stays_as_large_as_the_longest_windows() -> None:
    cells = JoinCells(LAYOUT, PANE)
    sizes = []
    for pane in range(60):
        now = PANE * pane
        new = [(0, now - back * PANE + 5, now + 5, now + 5) for back in range(PANES)]
        add(cells, new)
        cells.expire(now, (PANES * PANE + PANE, PANES * PANE + PANE))
        sizes.append(cells.rows)
        if pane >= PANES:
            at = now + PANE
            expected = sum(PANES - back for back in range(PANES))
            assert counts(cells.window(at, windows(PANES, PANES))) == {0: expected}
    assert max(sizes[30:]) <= max(sizes[:30])


def test_a_row_stands_for_all_pairs_of_a_cell_and_group() -> None:
    cells = cells_of([(0, 3, 12, 12), (0, 4, 13, 13), (0, 14, 3, 14), (1, 3, 12, 12)])
    assert cells.rows == 3
    assert [chunk.rows for chunk in JoinCells(LAYOUT, chunks=cells.chunks).chunks] == [3]
