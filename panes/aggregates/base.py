"""What an aggregate is made of, in columns.

A *linear* aggregate (`aggregates/linear.py`) is computed in three steps, each where it is cheap:

1. partials: plain SQL counts and sums over rows of one lifetime (they can be computed in Spark);
2. `lift`: partials become int64 accumulators, for which adding, subtracting and merging are `+` and `-`,
   without any rounding: what left the window leaves no trace;
3. `results`: accumulators become the values that users see.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from panes.plan.expressions import Expression
from panes.plan.types import Type

Ints = npt.NDArray[np.int64]

Accumulators = dict[int, Ints]
"""Columns of accumulators by number. A column that is not there is zero in all rows."""


@dataclass(frozen=True)
class Partial:
    """One column of partial rows: `sum(arg)`, or `count(arg)`, or count(*) when there is no argument; or the sum
    of the products of `arg` and `other`: of the rounded ones (`product`), or of what rounding took away
    (`remainder`)."""

    name: str
    function: str
    arg: Expression | None
    type: Type
    other: Expression | None = None

    @property
    def args(self) -> tuple[Expression, ...]:
        """What is computed for each row."""
        return tuple(arg for arg in (self.arg, self.other) if arg is not None)
