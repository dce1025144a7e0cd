"""The columns of the rows of a synopsis, and how rows become one.

A row stands for the tuples of one pane, one group and one instant from which on they are seen. Its columns are
the keys, what holistic aggregates keep, counts and sums, `_ts` (that instant) and `_upto` (the end of the pane).
All but the keys are named by what they hold, so a query finds its columns whatever other queries there are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl
import pyarrow as pa

from panes.aggregates.base import Partial
from panes.aggregates.linear import ROWS, is_linear
from panes.aggregates.partials import KeptValue, partial_schema, partials_of, values_of
from panes.delta.delta import TS
from panes.operators.tools.combined_partials import summed_partials
from panes.plan.nodes import SIGNATURE, GroupBy
from panes.plan.types import DOUBLE, Type

UPTO = "_upto"
"""The end of the pane that a row is of: it holds the tuples up to this instant, from the end of the one before."""

_ENDS = ("min", "max")


@dataclass(frozen=True)
class Layout:
    """The columns of a synopsis, by what they are for."""

    keys: tuple[str, ...]
    values: tuple[str, ...]
    """What is kept value by value: rows with another one stay apart."""
    ends: tuple[tuple[str, Type], ...]
    """Of these only the least and the greatest value matter."""
    partials: tuple[Partial, ...]
    """The counts and sums."""
    schema: pa.Schema
    """All columns, with `_ts` and `_upto` at the end."""

    @classmethod
    def of(cls, group_by: GroupBy) -> Layout:
        kept = values_of(group_by)
        ends = tuple((value_column(v), v.type) for _, v in kept if _is_ended(group_by, v))
        partials = tuple(replace(partial, name=partial_column(partial)) for partial in partials_of(group_by))
        values = tuple(value_column(v) for _, v in kept if not _is_ended(group_by, v))
        schema = named(group_by, partial_schema(group_by).arrow.empty_table()).schema
        for name in (TS, UPTO):
            schema = schema.append(pa.field(name, pa.int64()))
        return cls(group_by.keys, values, ends, partials, schema)

    @property
    def signed(self) -> Layout:
        """The same of rows that have signatures: those of different ones stay apart."""
        schema = self.schema.insert(0, pa.field(SIGNATURE, pa.binary()))
        return replace(self, keys=(SIGNATURE, *self.keys), schema=schema)

    @property
    def is_subtractable(self) -> bool:
        """Whether the sums of a window are those up to its end less those up to its begin, exactly."""
        are_integers = all(partial.type.is_integer for partial in self.partials)
        return not self.values and not self.ends and are_integers

    def has(self, other: Layout) -> bool:
        """Whether rows of these columns say all that rows of the other ones do. Where only the least and the
        greatest of some values are kept, the column is there, and what lies between them is not."""
        names, ends = set(self.schema.names), {name for name, _ in self.ends}
        return names.issuperset(other.schema.names) and ends.isdisjoint(other.values)

    def merged(self, rows: pa.Table) -> pa.Table:
        """The rows of one group, and of one time where they have times, as one; as two where the least and the
        greatest value are kept. Rows whose sums would not say all that they say stay as they are."""
        apart = [*self.keys, *self.values, *(name for name in (TS, UPTO) if name in rows.column_names)]
        if self.ends:
            rows = self._with_ends_only(rows, apart)
        names = [name for name, _ in self.ends]
        return summed_partials(rows, [*apart, *names], self.partials, is_weighted=False)

    def _with_ends_only(self, rows: pa.Table, apart: Sequence[str]) -> pa.Table:
        """The rows with the least and the greatest values of their groups, in place of any values between: the
        first row of a group has the least ones, all others the greatest."""
        if rows.num_rows < 2:
            return rows
        group = [pl.col(name) for name in apart] or [pl.lit(0)]
        frame = pl.DataFrame(rows)
        is_first = pl.int_range(pl.len()).over(group) == 0
        columns = []
        for name, type_ in self.ends:
            # NaN is greater than any number.
            greatest = pl.col(name).nan_max() if type_ == DOUBLE else pl.col(name).max()
            least = pl.col(name).min()
            columns.append(
                pl.when(is_first).then(least.over(group)).otherwise(greatest.over(group)).alias(name)
            )
        return frame.with_columns(columns).to_arrow().cast(rows.schema)


def named(group_by: GroupBy, rows: pa.Table) -> pa.Table:
    """The partial rows of a group-by with the names that columns have in a synopsis."""
    return rows.rename_columns([_names(group_by).get(name, name) for name in rows.column_names])


def own_rows(group_by: GroupBy, canonical: GroupBy, rows: pa.Table) -> pa.Table:
    """The rows of a synopsis as partial rows of a group-by, which has its own names for columns; `canonical` is
    the same group-by over the stream as synopses know it, with aggregates in the same order."""
    schema = partial_schema(group_by).arrow
    names = dict(zip(schema.names, partial_schema(canonical).names, strict=True))
    known = _names(canonical)
    columns = {own: rows.column(known.get(name, name)) for own, name in names.items()}
    return pa.table(columns, schema=schema)


def _names(group_by: GroupBy) -> dict[str, str]:
    """The names of columns in a synopsis, by those that the group-by has for them."""
    found = {partial.name: partial_column(partial) for partial in partials_of(group_by)}
    return found | {name: value_column(value) for name, value in values_of(group_by)}


def partial_column(partial: Partial) -> str:
    """The column of a count or a sum: the same for all queries that need it."""
    if partial.name == ROWS:
        return ROWS
    return f"_{partial.function}_{_digest(partial.arg, partial.other)}"


def value_column(value: KeptValue) -> str:
    """The column of what a holistic aggregate keeps."""
    return f"_value_{_digest(value)}"


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def _is_ended(group_by: GroupBy, value: KeptValue) -> bool:
    """Whether nothing but the least or the greatest of these values is asked for."""
    if value.by is not None or value.form != "value" or value.type.item is not None or value.type.fields:
        return False
    holistic = (a for a in group_by.aggregates if not is_linear(a) and a.arg is not None)
    return all(a.function in _ENDS for a in holistic if KeptValue.of(a) == value)
