"""Rows with at least one match: EXISTS and IN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from panes.delta.delta import EXP, TS, WEIGHT, Delta
from panes.delta.keys import has_null
from panes.operators.base import Operator
from panes.operators.distinct import Distinct, distinct
from panes.operators.distinct_star import DistinctStar
from panes.operators.join import Join
from panes.operators.tools.edge import Edge, harder
from panes.plan.expressions import Expression
from panes.plan.schema import Field, Schema
from panes.plan.types import BIGINT
from panes.state.buffers.base import State
from panes.state.buffers.choose import choose_to_read
from panes.state.buffers.lent import Lent


@dataclass
class SemiJoin(Operator):
    """Left rows for which the right side holds a row with an equal key that passes the residual.

    `null_aware` counts a key that is NULL, on either side, as equal to every key: the left rows that NOT IN
    leaves out are those that this operator then gives.

    Output: a left row as long as it has a match; when its last match is known to leave and another one lives
        longer, a further row for the rest of the time. WEAK over inputs without negative tuples, else STRICT.
    State: the left input, as its pattern wants it, and the distinct right keys, which δ* keeps and lends to the
        join. With a residual (or null aware) the pairs cannot be told from the keys: then both inputs, the
        distinct left rows that match, and the left input again.
    Cost: that of a DISTINCT over the right keys and a join with it; with a residual that of the join of both
        sides, of a DISTINCT over its pairs and of a join by whole rows.
    """

    left: Edge
    right: Edge
    left_keys: Sequence[str]
    right_keys: Sequence[str]
    residual: Expression | None = None
    null_aware: bool = False
    _pairs: Sequence[Join] = field(init=False)
    _matched: DistinctStar | Distinct = field(init=False)
    _join: Join = field(init=False)
    _lent: Lent | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._pairs = []
        if self._is_simple:
            keys = _numbered(self.right, self.right_keys)
            self._matched = distinct(keys)
            by = keys.schema.names if self.right_keys else []
            self._join = Join(self.left, self._matched.output, self.left_keys, by)
            if self.right_keys:
                self._lend()
            return
        pairs = Join(self.left, self.right, self.left_keys, self.right_keys, self.residual)
        self._pairs = [pairs]
        if self.null_aware:
            self._pairs += [Join(self.left, self.right, [], [], self.residual) for _ in range(2)]
        rows = _numbered(self.left, self.left.schema.names)
        self._matched = distinct(replace(pairs.output, schema=rows.schema, has_until=False))
        self._join = Join(
            self.left, self._matched.output, self.left.schema.names, rows.schema.names, nulls_equal=True
        )
        self._lend()

    def _lend(self) -> None:
        """Lets the join read the rows that δ* keeps: those are its right side. DIRECT keeps what it reads."""
        if isinstance(self._matched, DistinctStar) and self._matched.edge.strategy == "upa":
            self._lent = self._join.right_state = choose_to_read(self._matched.state, "matched_shown")

    @property
    def _is_simple(self) -> bool:
        return self.residual is None and not self.null_aware

    @property
    def buffers(self) -> Mapping[str, State]:
        parts: dict[str, Operator] = {f"pairs{i}": join for i, join in enumerate(self._pairs)}
        parts |= {"matched": self._matched, "join": self._join}
        return {f"{part}_{name}": state for part, op in parts.items() for name, state in op.buffers.items()}

    @cached_property
    def output(self) -> Edge:
        """The edge that leaves this operator."""
        return self.left.derived(
            self.left.schema,
            harder(self.left.pattern, self.right.pattern),
            leaves_early=self._join.output.leaves_early,
            has_until=self.left.has_until,
        )

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:
        left, right = inputs
        names = self._matched_names
        if self._is_simple:
            keys = _renamed(right.filter(~has_null(right.table, self.right_keys)), self.right_keys, names)
        else:
            keys = self._matching(left, right, since, clock)
        if self._lent is not None:
            self._lent.borrow(since)
        matched = self._matched.process([keys], since, clock)
        joined = self._join.process([left, matched], since, clock)
        return Delta(joined.table.select(self.output.columns.names), clock)

    @property
    def _matched_names(self) -> Sequence[str]:
        return self._matched.output.schema.names

    def _matching(self, left: Delta, right: Delta, since: int, clock: int) -> Delta:
        """The left rows of all pairs, under the names of the rows that match."""
        sides = [(left, right)]
        if self.null_aware:
            left_null, right_null = (
                has_null(left.table, self.left_keys),
                has_null(right.table, self.right_keys),
            )
            sides += [(left, right.filter(right_null)), (left.filter(left_null), right.filter(~right_null))]
        found = [join.process(side, since, clock) for join, side in zip(self._pairs, sides, strict=True)]
        tables = [_renamed(pairs, self.left.schema.names, self._matched_names).table for pairs in found]
        return Delta(pa.concat_tables(tables), clock)


def _numbered(edge: Edge, columns: Sequence[str]) -> Edge:
    """An edge with these columns under names of its own, so that a join can carry both."""
    fields = tuple(Field(f"_match{i}", edge.schema[name].type) for i, name in enumerate(columns))
    # Without columns all rows are one value; a constant stands for it, as no table is without columns.
    fields = fields or (Field("_match0", BIGINT),)
    return edge.derived(Schema(fields), edge.pattern, leaves_early=edge.leaves_early)


def _renamed(delta: Delta, columns: Sequence[str], names: Sequence[str]) -> Delta:
    """Some columns of a delta under other names, and its hidden columns."""
    hidden = [name for name in (TS, EXP, WEIGHT) if name in delta.table.column_names]
    chosen = [delta.table.column(name) for name in columns] or [
        pa.array(np.zeros(delta.rows, dtype=np.int64))
    ]
    chosen += [delta.table.column(name) for name in hidden]
    return Delta(pa.Table.from_arrays(chosen, names=[*names, *hidden]), delta.clock)
