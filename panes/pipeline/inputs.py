"""The inputs of a stage: what Spark computes of them with its own expressions, below the shuffle."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from panes.aggregates.partials import partial_schema, partials_of, values_of
from panes.delta.delta import EXP, TS
from panes.pipeline.cut import StageInput
from panes.pipeline.expressions import spark_column
from panes.pipeline.types import spark_type
from panes.plan.nodes import Node, Project, Select, StreamScan
from panes.plan.schema import Schema
from panes.plan.types import DOUBLE

SHARD = "_shard"
CAME = "_came"
"""The place of a row in its epoch, where the order of tuples of one time matters."""


@dataclass(frozen=True)
class InputColumns:
    """How to compute an input over the rows of its stream.

    Rows that pass all `conditions` are grouped by `groups`, if there are any, with `sums`; `row` is the struct of
    the input's columns, numbered, and `shard` the hash of its keys. Made once per input: every column takes
    several calls into Java, and an epoch is to take a fraction of a second.
    """

    conditions: tuple[SparkColumn, ...]
    groups: tuple[SparkColumn, ...]
    sums: tuple[SparkColumn, ...]
    row: SparkColumn
    shard: SparkColumn
    type: StructType
    """Of `row`."""

    @classmethod
    def of(cls, source: StageInput, *, is_ordered: bool) -> InputColumns:
        conditions, columns = _stateless(source.node)
        names = column_names(source, is_ordered=is_ordered)
        groups: tuple[SparkColumn, ...] = ()
        sums: tuple[SparkColumn, ...] = ()
        if source.group_by is None:
            schema = source.node.schema
            hidden = {TS: F.col(TS), CAME: F.monotonically_increasing_id()}
            values = [columns[name] if name in columns else hidden[name] for name in names]
        else:
            schema = partial_schema(source.group_by)
            groups, sums = _partials(source, columns)
            values = [F.col(f"c{place}") for place in range(len(names))]
        row = F.struct(*(value.alias(f"c{place}") for place, value in enumerate(values)))
        keys = [_key(values[names.index(name)], schema, name) for name in source.keys]
        # Rows without keys may go anywhere: deal them out in turn.
        shard = F.xxhash64(*keys) if keys else F.monotonically_increasing_id()
        types = [spark_type(schema[name].type) if name in schema else LongType() for name in names]
        fields = [StructField(f"c{place}", type_) for place, type_ in enumerate(types)]
        return cls(conditions, groups, sums, row, shard, StructType(fields))

    def over(self, rows: DataFrame) -> DataFrame:
        for condition in self.conditions:
            rows = rows.where(condition)
        return rows.groupBy(*self.groups).agg(*self.sums) if self.groups else rows


def column_names(source: StageInput, *, is_ordered: bool) -> list[str]:
    """The names of the columns of the struct, which are numbered there."""
    if source.group_by is None:
        return [*source.node.schema.names, TS, *([CAME] if is_ordered else [])]
    return [*partial_schema(source.group_by).names, TS, EXP]


def _stateless(node: Node) -> tuple[tuple[SparkColumn, ...], dict[str, SparkColumn]]:
    """A chain of selections and projections over a stream: the conditions, and each column of the node."""
    if isinstance(node, StreamScan):
        prefix = f"{node.alias}."
        return (), {name: F.col(f"`{name.removeprefix(prefix)}`") for name in node.schema.names}
    assert isinstance(node, (Select, Project)), node
    conditions, columns = _stateless(node.child)
    if isinstance(node, Select):
        return (*conditions, spark_column(node.predicate, columns.__getitem__)), columns
    return conditions, {name: spark_column(e, columns.__getitem__) for name, e in node.columns}


def _partials(
    source: StageInput, columns: dict[str, SparkColumn]
) -> tuple[tuple[SparkColumn, ...], tuple[SparkColumn, ...]]:
    """Partial sums per pane and group: what PreAggregate over the window would give, computed in Spark."""
    group_by, window = source.group_by, source.window
    assert group_by is not None
    assert window is not None
    assert window.slide_us is not None
    groups = [columns[name] for name in group_by.keys]
    groups += [spark_column(arg, columns.__getitem__) for _, arg in values_of(group_by)]
    sums = []
    for partial in partials_of(group_by):
        arg = F.lit(1) if partial.arg is None else spark_column(partial.arg, columns.__getitem__)
        function = F.count if partial.function == "count" else F.sum
        sums.append(function(arg).cast(spark_type(partial.type)))
    lifetime = [
        _round_up(F.col(TS), window.slide_us),
        _round_up(F.col(TS) + window.range_us, window.slide_us),
    ]
    numbered = [column.alias(f"c{place}") for place, column in enumerate([*groups, *sums, *lifetime])]
    grouped = numbered[: len(groups)] + numbered[-len(lifetime) :]
    return tuple(grouped), tuple(numbered[len(groups) : -len(lifetime)])


def _round_up(instant: SparkColumn, step: int) -> SparkColumn:
    return instant + F.pmod(-instant, F.lit(step))


def _key(column: SparkColumn, schema: Schema, name: str) -> SparkColumn:
    # 0.0 and -0.0 are equal and must meet on one shard.
    return column + F.lit(0.0) if schema[name].type == DOUBLE else column
