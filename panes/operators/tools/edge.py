"""What an operator has to know of an edge of the plan to choose its state: columns, pattern, strategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from panes.config import SETTINGS
from panes.delta.delta import UNTIL, delta_schema
from panes.plan.patterns import Pattern
from panes.plan.schema import Schema
from panes.state.buffers.choose import choose_buffer
from panes.state.buffers.chunked import ChunkedBuffer


@dataclass(frozen=True)
class Edge:
    """One input or output of an operator.

    `pattern` is what really travels on it: under the strategy `nt` every edge above a window is STRICT.
    `leaves_early` says of a STRICT edge whether most of its rows leave by a negative tuple, not at `_exp`.
    `has_until` is true in plans with INTERNAL windows.
    """

    schema: Schema
    pattern: Pattern
    strategy: str = "upa"
    leaves_early: bool = True
    has_until: bool = False
    calendar_days: int = 10
    lazy_expiration: str = str(SETTINGS["lazy_expiration"].default)

    @property
    def is_weighted(self) -> bool:
        return self.pattern is Pattern.STRICT

    @cached_property
    def columns(self) -> pa.Schema:
        """The columns of its deltas, hidden ones included."""
        columns = delta_schema(self.schema, weighted=self.is_weighted)
        return columns.append(pa.field(UNTIL, pa.int64())) if self.has_until else columns

    def buffer(self, keys: Sequence[str], *, nulls_equal: bool = False) -> ChunkedBuffer:
        """An empty buffer for the rows of this edge, to be probed by `keys`."""
        return choose_buffer(
            self.pattern,
            self.strategy,
            keys,
            leaves_early=self.leaves_early,
            nulls_equal=nulls_equal,
            calendar_days=self.calendar_days,
            lazy_expiration=self.lazy_expiration,
        )

    def derived(
        self, schema: Schema, pattern: Pattern, *, leaves_early: bool = True, has_until: bool = False
    ) -> Edge:
        """Another edge of the same plan, with the same strategy and the same settings of state."""
        return replace(self, schema=schema, pattern=pattern, leaves_early=leaves_early, has_until=has_until)


def harder(left: Pattern, right: Pattern) -> Pattern:
    """The pattern of an operator that reorders rows (a join, DISTINCT) over inputs of these."""
    hardest = max(left, right)
    return Pattern.WEAK if hardest is Pattern.WEAKEST else hardest
