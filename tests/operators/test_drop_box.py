"""Drop boxes: which tuples pass, and that nothing but their event time and their values decides it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from panes.delta.delta import EXP, FOREVER, Delta
from panes.operators.drop_box import DropBox
from panes.plan import nodes
from panes.plan.box_schedule import BoxSchedule
from panes.plan.schema import Schema
from panes.plan.sheddable import why_not_sheddable, with_drop_boxes
from panes.plan.types import BIGINT, STRING
from panes.plan.windows import RowsWindow
from panes.testing import counted
from tests.properties.drawn import Cases, drawn
from tests.properties.shards import Shards
from tests.properties.streams import STREAMS, Arrivals

SCAN = nodes.StreamScan("r", "r", Schema.of([("r.a", BIGINT), ("r.b", STRING)]))


def rows(count: int, seed: int = 1) -> pa.Table:
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "r.a": random.integers(0, 1000, count),
            "r.b": random.choice(["x", "yy", "zzz"], count),
            "_ts": random.integers(0, 1_000_000, count),
        }
    ).append_column(EXP, pa.array(np.full(count, FOREVER)))


def passed(table: pa.Table, *steps: tuple[int, float], seed: int = 7, **columns: str) -> pa.Table:
    box = DropBox(nodes.Drop(SCAN, seed, **columns))
    box.schedule = BoxSchedule(steps)
    return box.process([Delta(table, 0)], 0, 0).table


def test_about_the_share_that_is_kept_passes():
    for share in (0.01, 0.31, 0.9):
        assert abs(passed(rows(100_000), (0, share)).num_rows / 100_000 - share) < 0.005


def test_a_smaller_share_keeps_a_part_of_what_a_greater_one_does():
    table = rows(1000)
    less, more = counted(passed(table, (0, 0.2))), counted(passed(table, (0, 0.6)))
    assert less <= more


def test_the_share_is_that_of_the_event_time():
    table = rows(20_000)
    left = passed(table, (250_000, 0.5), (500_000, 0.1), (750_000, 1.0))
    ts, before = np.asarray(left.column("_ts")) // 250_000, np.asarray(table.column("_ts")) // 250_000
    shares = np.bincount(ts) / np.bincount(before)
    assert np.allclose(shares, [1, 0.5, 0.1, 1], atol=0.03)
    assert shares[0] == shares[3] == 1


def test_another_seed_keeps_other_rows():
    table = rows(10_000)
    both = counted(passed(table, (0, 0.5), seed=1)) & counted(passed(table, (0, 0.5), seed=2))
    assert abs(both.total() / 10_000 - 0.25) < 0.02


def test_rows_in_any_order_and_in_any_parts_are_kept_alike():
    table = rows(5000)
    whole = counted(passed(table, (0, 0.3), weight="w", bucket="g"))
    shuffled = table.take(np.random.default_rng(3).permutation(5000))
    parts = [passed(shuffled.slice(at, 700), (0, 0.3), weight="w", bucket="g") for at in range(0, 5000, 700)]
    assert counted(pa.concat_tables(parts)) == whole


def test_a_row_that_passes_stands_for_others_and_has_a_group():
    left = passed(rows(20_000), (500_000, 0.25), weight="w", bucket="g")
    assert left.column_names == ["r.a", "r.b", "w", "g", "_ts", EXP]
    weights = np.asarray(left.column("w"))
    assert (weights == np.where(np.asarray(left.column("_ts")) >= 500_000, 4.0, 1.0)).all()
    groups = np.bincount(np.asarray(left.column("g")))
    assert len(groups) == nodes.DROP_BUCKETS
    assert groups.min() > 0.7 * groups.mean()


def test_everything_passes_a_box_that_keeps_all():
    table = rows(100)
    assert passed(table).equals(table)
    assert passed(table, (0, 0.5), (400_000, 1.0), weight="w").num_rows < 100


def test_a_window_of_rows_holds_as_many_rows_that_have_passed():
    plan = with_drop_boxes(nodes.Window(SCAN, RowsWindow(10)))
    shards = Shards.of(plan, 1, boxes={"r": BoxSchedule(((0, 0.2),))})
    table = rows(500).drop_columns([EXP]).rename_columns(["a", "b", "_ts"])
    shards.process({"r": table}, -1, 1_000_000)
    left = passed(rows(500), (0, 0.2), seed=plan.child.seed).sort_by("_ts")
    assert counted(shards.answer(1_000_000)) == counted(left.slice(left.num_rows - 10).select(["r.a", "r.b"]))


BOXES = dict.fromkeys(STREAMS, BoxSchedule(((0, 0.7), (8, 0.4), (20, 1.0), (30, 0.6))))


def is_drawn(case) -> bool:
    return why_not_sheddable(case.plan) is None


def left_by(plan: nodes.Node, arrivals: Arrivals, shards: int) -> Counter[tuple[object, ...]]:
    at_work = Shards.of(plan, shards, boxes=BOXES)
    for came, since, clock in arrivals.spans():
        at_work.process(came, since, clock)
    return counted(at_work.answer(arrivals.clocks[-1]))


@drawn(Cases(deepest=2, most_rows=60), share=0.05)
def test_cuts_and_shards_change_nothing_in_what_is_left(case):
    if is_drawn(case):
        plan, arrivals = with_drop_boxes(case.plan), case.arrivals
        at_once = replace(arrivals, clocks=arrivals.clocks[-1:])
        whole = left_by(plan, at_once, 1)
        assert whole == left_by(plan, arrivals, 1)
        assert whole == left_by(plan, arrivals, 3)


@drawn(Cases(deepest=2, most_rows=60, out_of_order=True), share=0.03)
def test_late_rows_are_kept_alike_on_any_number_of_shards(case):
    if is_drawn(case):
        plan = with_drop_boxes(case.plan)
        assert left_by(plan, case.arrivals, 1) == left_by(plan, case.arrivals, 3)


@drawn(Cases(deepest=2, most_rows=60), share=0.05)
def test_answers_are_those_without_boxes_while_everything_is_kept(case):
    if not is_drawn(case):
        return
    plan = with_drop_boxes(case.plan)
    names = case.plan.schema.names
    for strategy in ("upa", "nt"):
        boxed, plain = (Shards.of(p, 2, strategy=strategy) for p in (plan, case.plan))
        for came, since, clock in case.arrivals.spans():
            boxed.process(came, since, clock)
            plain.process(came, since, clock)
            left = boxed.answer(clock)
            assert counted(left.select(names)) == counted(plain.answer(clock))
            errors = [name for name in left.column_names if name not in names]
            assert all(value == 0 for name in errors for value in left.column(name).to_pylist())


def test_many_drawn_plans_can_shed():
    cases = Cases(deepest=2)
    drawn_plans = [cases.draw(bytes([n, 1])).plan for n in range(100)]
    assert sum(why_not_sheddable(plan) is None for plan in drawn_plans) > 15


def test_a_box_stands_above_a_stream_alone():
    with pytest.raises(nodes.PlanError, match="directly above a stream"):
        nodes.Drop(nodes.Window(SCAN, RowsWindow(1)), 1)
