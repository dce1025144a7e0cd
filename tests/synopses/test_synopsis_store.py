"""The state of a synopsis does not grow with the number of windows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from panes.plan.expressions import Aggregate
from panes.plan.windows import RangeWindow
from panes.sharing.shared_indexes import Members
from panes.sharing.shared_synopsis import SharedSynopsis
from panes.sharing.store import Arrivals
from panes.stages.fragment_run import FragmentRun
from panes.stages.make_plan import make_plan
from panes.synopses.definition import EVERY, FORMS, Definition, SynopsisReader
from panes.synopses.layout import Layout
from panes.synopses.synopsis_store import SynopsisStore
from tests.synopses.figure import (
    BY_K,
    COUNT,
    LONGEST,
    MAX,
    MIN,
    SECOND,
    SUM,
    VALUES,
    group_by_of,
    store_of,
    total,
)

ROWS = 4_000


def kept_for(*lengths: int) -> SharedSynopsis:
    """The synopsis of sums over windows of some lengths, after some epochs."""
    readers = [SynopsisReader(BY_K, EVERY, RangeWindow(n * SECOND, SECOND), (SUM,)) for n in lengths]
    node = Definition.of(readers).node("basic", len(readers))
    (stage,) = make_plan(node).stages
    store = SharedSynopsis(node)
    rng = np.random.default_rng(3)
    for epoch in range(10):
        ts = rng.integers(epoch * 10 * SECOND, (epoch + 1) * 10 * SECOND, ROWS // 10)
        rows = pa.table({"k": rng.integers(0, 5, len(ts)), "x": rng.integers(0, 9, len(ts)), "_ts": ts})
        came, _ = FragmentRun(rows).input(stage.inputs[0], epoch * 10 * SECOND - 1)
        members = Members()
        since, clock = epoch * 10 * SECOND - 1, (epoch + 1) * 10 * SECOND - 1
        store.advance(Arrivals({"input-0": came}, members, since, clock, is_first=epoch == 0))
    return store


def test_twenty_windows_keep_about_as_much_as_the_longest():
    one, many = kept_for(40), kept_for(*range(2, 42, 2))
    size = {
        name: sum(c.table.nbytes for c in s.chunks["panes"]) for name, s in (("one", one), ("many", many))
    }
    assert size["many"] <= 1.1 * size["one"]
    assert many.rows <= 1.1 * one.rows


def test_a_store_over_the_chunks_of_another_goes_on_as_that_would():
    for form in ("basic", "interval", "running"):
        store = store_of(form, SUM)
        again = SynopsisStore(store.panes.layout, chunks=store.chunks)
        for length in range(1, 9):
            found, expected = (s.window(8 * SECOND, length * SECOND) for s in (again, store))
            assert found.rows.equals(expected.rows)
            assert found.probes == expected.probes


@pytest.mark.parametrize("kept", [(SUM, MAX), (SUM, MAX, MIN), (SUM, COUNT)], ids=len)
@pytest.mark.parametrize("form", FORMS)
def test_who_needs_less_reads_sums_of_a_synopsis_that_keeps_values(form: str, kept: tuple[Aggregate, ...]):
    store, asked = store_of(form, *kept), group_by_of(SUM)
    reading = SynopsisStore(Layout.of(asked), chunks=store.chunks)
    for panes in range(1, 9):
        assert total(reading.window(LONGEST, panes * SECOND).rows, asked) == sum(VALUES[-panes:])
