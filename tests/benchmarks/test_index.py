from __future__ import annotations

import numpy as np
import pytest

from benchmarks.index import KEYS, LONGEST, UPDATES, Layout, Records, measure_lookups, of_cells, run


def test_as_many_records_come_in_all_updates_as_are_alive():
    records = Records(100, np.random.default_rng(1))
    alive = records.alive()
    assert alive.num_rows == pytest.approx(100 * UPDATES, rel=0.1)
    assert set(alive.column("key").to_pylist()) <= set(range(KEYS))
    assert max(alive.column("_exp").to_pylist()) <= LONGEST


@pytest.mark.parametrize(
    "layout", [layout for layout in of_cells(2) if layout.name in ("Rebuild", "NoRebuild", "R-ins")], ids=str
)
def test_an_update_touches_the_cells_that_it_must(layout: Layout):
    (found,) = run([layout], 1_800)
    expected = layout.index.cells.per_update if layout.rebuild else layout.leavings
    assert found["cells"] == pytest.approx(expected, rel=0.15)
    if not layout.rebuild:
        assert found["written"] < 200


def test_lookups_are_measured_with_and_without_epochs():
    figures = {point.figure for point in measure_lookups(20_000, 0.2)}
    assert {"lookup, quiet", "lookup, busy", "lookup, whole", "lookup, epochs"} <= figures
