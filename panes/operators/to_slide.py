"""Putting off what happens between two slides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from panes.delta.delta import TS, Delta
from panes.delta.rows import with_column
from panes.operators.base import Operator
from panes.plan.windows import round_up


@dataclass
class ToSlide(Operator):
    """Lets the rows of a stream come at the next multiple of the slide.

    Output: every row, with its `_ts` rounded up; it may then lie after the clock: ReleaseOnTime follows.
    State: none.
    Cost: constant per row.
    """

    slide_us: int

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:  # noqa: ARG002
        (delta,) = inputs
        return Delta(with_column(delta.table, TS, round_up(delta.ts, self.slide_us)), clock)
