"""BEGIN … END aggregates: what they have in common with others, and what is each query's own.

Queries over the same tuples (the stream and the predicate) by the same keys are read from one store
(`synopses/timed_store.py`), whatever their windows, their aggregates, and what they compute of these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from panes.delta.evaluate import evaluate, mask_of
from panes.plan.expressions import Column, Expression, substitute
from panes.plan.nodes import GroupBy, Node, Project, Select, Timed
from panes.plan.order_of_answer import relation_of
from panes.plan.windows import BeginEndWindow
from panes.sharing.windowed_stream import windowed_stream_of
from panes.synopses.timed_aggregates import TimedAggregates
from panes.synopses.tuple_measures import is_measured


@dataclass(frozen=True)
class BeginEndAggregate:
    """A BEGIN … END aggregate."""

    store: Timed
    """What it has in common with those that share the store: the tuples, with the keys as columns of their own."""
    asked: TimedAggregates
    above: tuple[Select | Project, ...]
    """What is computed of the aggregates, from the bottom up."""

    def shown(self, groups: pa.Table) -> pa.Table:
        """The answer, from the aggregates of all groups. It may have more columns than are shown."""
        for node in self.above:
            if isinstance(node, Select):
                groups = groups.filter(mask_of(node.predicate, groups))
            else:
                columns = [evaluate(expression, groups) for _, expression in node.columns]
                groups = pa.table(columns, schema=node.schema.arrow)
        return groups


def begin_end_aggregate_of(plan: Node) -> BeginEndAggregate | None:
    """The BEGIN … END aggregate that a plan is; None when it is something else, or has an aggregate that is more
    than a sum, a count, a least or a greatest value."""
    above: list[Select | Project] = []
    node = relation_of(plan)
    while isinstance(node, (Select, Project)):
        above.insert(0, node)
        node = node.child
    if not isinstance(node, GroupBy) or not all(map(is_measured, node.aggregates)):
        return None
    read = windowed_stream_of(node.child)
    if read is None or not isinstance(read.window, BeginEndWindow):
        return None
    columns: dict[str, Expression] = dict(read.columns)
    keys = tuple((f"_key_{number}", columns[name]) for number, name in enumerate(node.keys))
    tuples = tuple((field.name, Column(field.type, field.name)) for field in read.scan.schema)
    below: Node = read.scan if read.predicate is None else Select(read.scan, read.predicate)
    aggregates = tuple(
        replace(
            aggregate,
            arg=None if aggregate.arg is None else substitute(aggregate.arg, columns),
            by=None if aggregate.by is None else substitute(aggregate.by, columns),
        )
        for aggregate in node.aggregates
    )
    return BeginEndAggregate(
        Timed(Project(below, (*tuples, *keys)), tuple(name for name, _ in keys)),
        TimedAggregates(read.window, aggregates, node.schema),
        tuple(above),
    )
