"""The inputs of a stage: what Spark computes of them with its own expressions, below the shuffle."""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from panes.aggregates.partials import partial_schema, partials_of, values_of
from panes.delta.delta import EXP, TS
from panes.pipeline.cut import StageInput
from panes.pipeline.expressions import spark_column
from panes.pipeline.types import spark_type
from panes.plan.nodes import Node, Project, Select, StreamScan
from panes.plan.schema import Schema
from panes.plan.types import DOUBLE

ROW = "_row"
SHARD = "_shard"
CAME = "_came"
"""The place of a row in its epoch, where the order of tuples of one time matters."""


def input_frame(source: StageInput, rows: DataFrame, *, is_ordered: bool) -> DataFrame:
    """The rows of an input over those of its stream: `_row`, a struct of its columns, and `_shard`, a hash of its
    keys. The columns of the struct are numbered; `column_names` gives their names."""
    frame, columns = _stateless(source.node, rows)
    if source.group_by is None:
        schema = source.node.schema
        named = [columns[name].alias(f"c{place}") for place, name in enumerate(schema.names)]
        came = [F.monotonically_increasing_id().alias(CAME)] if is_ordered else []
        frame = frame.select(*named, F.col(TS), *came)
    else:
        schema = partial_schema(source.group_by)
        frame = _partials(source, frame, columns)
    keys = [_key(schema, name) for name in source.keys]
    # Rows without keys may go anywhere: deal them out in turn.
    shard = F.xxhash64(*keys) if keys else F.monotonically_increasing_id()
    return frame.select(F.struct("*").alias(ROW), shard.alias(SHARD))


def column_names(source: StageInput, *, is_ordered: bool) -> list[str]:
    """The names of the columns of `_row`."""
    if source.group_by is None:
        return [*source.node.schema.names, TS, *([CAME] if is_ordered else [])]
    return [*partial_schema(source.group_by).names, TS, EXP]


def _stateless(node: Node, rows: DataFrame) -> tuple[DataFrame, dict[str, SparkColumn]]:
    """A chain of selections and projections over a stream: a frame, and each column of the node over it."""
    if isinstance(node, StreamScan):
        prefix = f"{node.alias}."
        return rows, {name: F.col(f"`{name.removeprefix(prefix)}`") for name in node.schema.names}
    assert isinstance(node, (Select, Project)), node
    frame, columns = _stateless(node.child, rows)
    if isinstance(node, Select):
        return frame.where(spark_column(node.predicate, columns.__getitem__)), columns
    return frame, {name: spark_column(e, columns.__getitem__) for name, e in node.columns}


def _partials(source: StageInput, frame: DataFrame, columns: dict[str, SparkColumn]) -> DataFrame:
    """Partial sums per pane and group: what PreAggregate over the window would give, computed in Spark."""
    group_by, window = source.group_by, source.window
    assert group_by is not None
    assert window is not None
    assert window.slide_us is not None
    lifetime = [
        _round_up(F.col(TS), window.slide_us).alias(TS),
        _round_up(F.col(TS) + window.range_us, window.slide_us).alias(EXP),
    ]
    together = [columns[name] for name in group_by.keys]
    together += [spark_column(arg, columns.__getitem__) for _, arg in values_of(group_by)]
    named = [column.alias(f"c{place}") for place, column in enumerate(together)]
    sums = []
    for place, partial in enumerate(partials_of(group_by), start=len(named)):
        arg = F.lit(1) if partial.arg is None else spark_column(partial.arg, columns.__getitem__)
        function = F.count if partial.function == "count" else F.sum
        sums.append(function(arg).cast(spark_type(partial.type)).alias(f"c{place}"))
    grouped = frame.groupBy(*named, *lifetime).agg(*sums)
    return grouped.select(*(f"c{place}" for place in range(len(named) + len(sums))), TS, EXP)


def _round_up(instant: SparkColumn, step: int) -> SparkColumn:
    return instant + F.pmod(-instant, F.lit(step))


def _key(schema: Schema, name: str) -> SparkColumn:
    column = F.col(f"c{schema.names.index(name)}")
    # 0.0 and -0.0 are equal and must meet on one shard.
    return column + F.lit(0.0) if schema[name].type == DOUBLE else column
