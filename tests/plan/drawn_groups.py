"""Groups of rows of one stream and of joins, drawn, with what their aggregates are and are estimated to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.operators.dataflow import Dataflow
from panes.operators.drop_box import DropBox
from panes.operators.lower import lower
from panes.plan import nodes
from panes.plan.box_schedule import BoxSchedule
from panes.plan.expressions import Aggregate, Column
from panes.plan.schema import Schema
from panes.plan.sheddable import with_drop_boxes
from panes.plan.types import BIGINT, DOUBLE
from panes.plan.windows import RangeWindow

SECOND = 1_000_000
LENGTH = 60 * SECOND
"""Of the time in which a group has its rows."""
GROUPS = 100
END = GROUPS * LENGTH
AGGREGATES = ("n", "total", "mean")
Doubles = npt.NDArray[np.float64]


def scan(stream: str) -> nodes.StreamScan:
    columns = [("key", BIGINT), ("match", BIGINT), ("v", DOUBLE), ("number", BIGINT)]
    return nodes.StreamScan(stream, stream, Schema.of((f"{stream}.{name}", kind) for name, kind in columns))


def window(stream: str) -> nodes.Node:
    return nodes.Window(scan(stream), RangeWindow(END))


def grouped(relation: nodes.Node, alias: str = "a") -> nodes.GroupBy:
    value = Column(DOUBLE, f"{alias}.v")
    return nodes.GroupBy(
        relation,
        (f"{alias}.key",),
        (
            Aggregate("n", "count", None, BIGINT),
            Aggregate("total", "sum", value, DOUBLE),
            Aggregate("mean", "avg", value, DOUBLE),
        ),
    )


ONE_STREAM = grouped(window("a"))
JOIN = grouped(nodes.Join(window("a"), window("b"), ("a.key", "a.match"), ("b.key", "b.match")))


@dataclass(frozen=True)
class Estimates:
    """Of each group that is left, by aggregate: the estimate, the half width and the true value."""

    values: Mapping[str, Doubles]
    half_widths: Mapping[str, Doubles]
    true: Mapping[str, Doubles]

    def is_covered(self, name: str) -> npt.NDArray[np.bool_]:
        distance = np.abs(self.values[name] - self.true[name])
        # A count is rounded to a whole number.
        covered: npt.NDArray[np.bool_] = distance <= self.half_widths[name] + 0.5 * (name == "n")
        return covered


def drawn_rows(random: np.random.Generator, groups: int, least: int, most: int, matches: int) -> pa.Table:
    """Rows of groups of different sizes and distributions, each in a minute of its own."""
    sizes = random.integers(least, most + 1, groups)
    key = np.repeat(np.arange(groups), sizes)
    rows = len(key)
    kinds = np.repeat(random.integers(0, 4, groups), sizes)
    value = np.choose(
        kinds,
        [
            random.normal(50, 10, rows),
            random.exponential(20, rows),
            random.integers(0, 100, rows).astype(float),
            random.lognormal(3, 0.6, rows),
        ],
    )
    ts = key * LENGTH + random.integers(1, LENGTH, rows)
    return pa.table(
        {
            "key": key,
            "match": random.integers(0, matches, rows),
            "v": value,
            "number": np.arange(rows),
            "_ts": ts,
        }
    )


def drawn_schedule(random: np.random.Generator, least: float) -> BoxSchedule:
    """For each minute a share, or one that changes within it; it may be 1 for a part."""
    box = BoxSchedule()
    for minute in range(GROUPS):
        for start in (1, *sorted(random.integers(2, LENGTH, random.integers(0, 3)).tolist())):
            share = 1.0 if random.random() < 0.1 else float(random.uniform(least, 1))
            box = box.changed(minute * LENGTH + start, share)
    return box


def estimates(plan: nodes.Node, rows: Mapping[str, pa.Table], boxes: Mapping[str, BoxSchedule]) -> Estimates:
    """What a plan says of rows with its drop boxes, and without them."""
    shed, true = answer(with_drop_boxes(plan), rows, boxes), answer(plan, rows, {})
    place = np.searchsorted(true["a.key"], shed["a.key"])
    return Estimates(
        {name: shed[name] for name in AGGREGATES},
        {name: shed[f"_error_{name}"] for name in AGGREGATES},
        {name: true[name][place] for name in AGGREGATES},
    )


def answer(
    plan: nodes.Node, rows: Mapping[str, pa.Table], boxes: Mapping[str, BoxSchedule]
) -> dict[str, Doubles]:
    """The columns of the answer at the end, by the key of the group."""
    dataflow = _lowered(plan, boxes)
    table = dataflow.process(rows, 0, END).table.sort_by("a.key")
    return {name: table.column(name).to_numpy().astype(float) for name in table.column_names}


def boxed(plan: nodes.Node, boxes: Mapping[str, BoxSchedule]) -> Dataflow:
    """A plan with its drop boxes, at work."""
    return _lowered(with_drop_boxes(plan), boxes)


def _lowered(plan: nodes.Node, boxes: Mapping[str, BoxSchedule]) -> Dataflow:
    dataflow = lower(plan)
    for operator in dataflow.operators:
        if isinstance(operator, DropBox):
            operator.schedule = boxes.get(operator.node.stream, BoxSchedule())
    return dataflow
