"""The cost of an operator: a line through what its steps cost, fixed per span and per row.

A step ran several spans in an epoch, on several shards. They count as spans of equally many rows, and the line is
the one with the least squares. Its sums decay from epoch to epoch, slower than those of other facts: what an
operator costs depends on the machine, and a single measurement is off by much.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import add

from panes.operators.measures import Measures
from panes.optimizer.assumed import FIXED, WEIGH, assumed_cost
from panes.optimizer.fact_sums import FactSums

_KEPT = 0.95
_VARIES = 0.05
"""From how great a variance of rows on, as a share of the square of their mean, a line can be trusted."""
_PARTS = ("probe", "insert", "expire", "visit", WEIGH)

CostSums = Sequence[float]
"""Spans, rows, CPU time, rows², rows · CPU time; then the CPU time of each part, visits, and results that were
weighed."""


def cost_sums(steps: Iterable[Measures]) -> CostSums:
    """What some steps of an operator add to its sums."""
    sums = [0.0] * 12
    for done in steps:
        spans, rows, cpu = done.spans, done.rows_in, done.cpu_us
        each = rows / spans
        sums[0] += spans
        sums[1] += rows
        sums[2] += cpu
        sums[3] += each * rows
        sums[4] += each * cpu
        if done.probe_us:
            parts = done.probe_us, done.insert_us, done.expire_us, done.visit_us, done.weigh_us
            weighed = done.rows_out if done.weigh_us else 0.0
            sums[5:] = map(add, sums[5:], (*parts, done.visits, weighed))
    return sums


def cost_after(before: FactSums | None, new: CostSums, epoch: int) -> FactSums:
    """The sums after an epoch."""
    if before is None:
        return FactSums(tuple(new), 1, epoch)
    sums = tuple(_KEPT * old + added for old, added in zip(before.sums, new, strict=True))
    return FactSums(sums, before.epochs + 1, epoch)


def costs_of(operator: str, sums: CostSums) -> Mapping[str, float]:
    """The cost by part: `fixed` per span and `row` per row; of a join also what `row` is made of."""
    if not sums[1]:
        return {FIXED: sums[2] / sums[0]}  # nobody knows what a row costs
    fixed, row = _line(sums, assumed_cost(operator, FIXED), assumed_cost(operator, "row"))
    _, rows, cpu, _, _, *parts, visits, weighed = sums
    found = {FIXED: fixed, "row": row}
    if cpu and any(parts):
        # The fixed cost is spread over the parts as all of it is.
        numbers = rows, rows, rows, visits, weighed
        for name, part, number in zip(_PARTS, parts, numbers, strict=True):
            if number:
                found[name] = row * rows * part / cpu / number
    return found


def _line(sums: CostSums, assumed_fixed: float, assumed_row: float) -> tuple[float, float]:
    """What a span and what a row costs; neither is less than nothing. Where rows hardly vary, both are as many
    times as high as assumed."""
    spans, rows, cpu, squares, products = sums[:5]
    variance = spans * squares - rows * rows
    if variance > _VARIES * rows * rows:
        row = (spans * products - rows * cpu) / variance
        fixed = (cpu - row * rows) / spans
        if row >= 0 and fixed >= 0:
            return fixed, row
        if fixed < 0:
            return 0.0, products / squares
    times = cpu / (assumed_fixed * spans + assumed_row * rows)
    return times * assumed_fixed, times * assumed_row
