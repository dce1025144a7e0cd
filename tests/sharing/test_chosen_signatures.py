"""A query is the sum of the signatures that have its bit, or all of them less the others."""

from __future__ import annotations

import pyarrow as pa

from panes.aggregates.linear import ROWS
from panes.plan.expressions import Aggregate
from panes.plan.nodes import SIGNATURE, GroupBy, StreamScan, Window
from panes.plan.schema import Field, Schema
from panes.plan.types import BIGINT
from panes.plan.windows import RangeWindow
from panes.sharing.chosen_signatures import ChosenSignatures
from panes.synopses.layout import Layout
from panes.synopses.total import TOTAL, with_total

SCAN = StreamScan("s", "s", Schema((Field("s.k", BIGINT),)))
LAYOUT = Layout.of(
    GroupBy(Window(SCAN, RangeWindow(10, 10)), ("s.k",), (Aggregate("n", "count", None, BIGINT),))
)
COUNTS = {(b"\x01", 1): 4, (b"\x03", 1): 2, (b"\x05", 1): 1, (b"\x07", 2): 3, (b"\x06", 2): 5}
"""Tuples by signature and group; three predicates."""


def rows(counts: dict[tuple[bytes, int], int]) -> pa.Table:
    signatures, groups = zip(*counts, strict=True)
    table = pa.table({"s.k": groups, ROWS: list(counts.values())})
    return table.add_column(0, SIGNATURE, pa.array(signatures, pa.binary()))


def held(rows: pa.Table | None) -> dict[int, int]:
    assert rows is not None
    found: dict[int, int] = {}
    for group, count in zip(rows["s.k"].to_pylist(), rows[ROWS].to_pylist(), strict=True):
        found[group] = found.get(group, 0) + count
    return found


def test_the_way_with_fewer_signatures_is_taken_and_both_give_the_same():
    kept = with_total(rows(COUNTS))
    there = set(kept.column(SIGNATURE).to_pylist())
    expected = {0: ({1: 7, 2: 3}, 2, 4), 1: ({1: 2, 2: 8}, 3, 3), 2: ({1: 1, 2: 8}, 3, 3)}
    for number, (found, fewest, summed) in expected.items():
        least = ChosenSignatures.of(there, number)
        plain = ChosenSignatures.of(there, number, may_subtract=False)
        assert (least.probes, plain.probes) == (fewest, summed)
        for chosen in (least, plain):
            assert held(chosen.summed(chosen.rows(kept), LAYOUT)) == found
    assert TOTAL in ChosenSignatures.of(there, 0).plus


def test_a_group_of_which_nothing_is_left_is_not_there():
    kept = with_total(rows({(b"\x02", 7): 5, **{(bytes([1 | 4 * n]), 1): 1 for n in range(8)}}))
    chosen = ChosenSignatures.of(set(kept.column(SIGNATURE).to_pylist()), 0)
    assert (chosen.plus, chosen.minus) == ({TOTAL}, {b"\x02"})
    assert held(chosen.summed(chosen.rows(kept), LAYOUT)) == {1: 8}


def test_without_a_total_signatures_are_added_up():
    kept = rows(COUNTS)
    chosen = ChosenSignatures.of(set(kept.column(SIGNATURE).to_pylist()), 0)
    assert chosen.minus == frozenset()
    assert held(chosen.summed(chosen.rows(kept), LAYOUT)) == {1: 7, 2: 3}
