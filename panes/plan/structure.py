"""What a sub-plan computes, whatever its columns are called."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace

from panes.plan import nodes
from panes.plan.expressions import Aggregate, Column, Expression, substitute
from panes.plan.lifetime_window import LifetimeWindow
from panes.plan.lookups import Matching
from panes.plan.over_functions import OverFunction
from panes.plan.windows import RowsWindow, SessionWindow, WindowSpec

Places = Mapping[str, Expression]


def structure(node: nodes.Node) -> Hashable:
    """The same for two sub-plans exactly when they differ in aliases and names of columns alone: then they give
    the same rows, column by column.

    A column stands in it as its place among the columns that the node reads.
    """
    return (type(node).__name__, _own(node), *map(structure, node.children))


def _own(node: nodes.Node) -> Hashable:
    """What a node says beside its children, with places for columns."""
    places: dict[str, Expression] = {}
    for side, child in enumerate(node.children):
        for place, f in enumerate(child.schema):
            places.setdefault(f.name, Column(f.type, f"{side}.{place}"))

    def named(name: str) -> str:
        return str(places[name])

    match node:
        case nodes.StreamScan():
            return node.stream, tuple((node.attribute(f.name), f.type) for f in node.schema)
        case nodes.TableScan():
            attributes = tuple((node.attribute(f.name), f.type) for f in node.schema)
            return node.table, attributes, node.retroactive, node.stream
        case nodes.Values():
            return node.schema.types, node.rows
        case nodes.Window():
            return _spec(node.spec, named)
        case nodes.Select():
            return substitute(node.predicate, places)
        case nodes.Project():
            return tuple(substitute(expression, places) for _, expression in node.columns)
        case nodes.Unnest():
            return substitute(node.expression, places)
        case nodes.GroupBy():
            aggregates = tuple(_aggregate(aggregate, places) for aggregate in node.aggregates)
            return tuple(map(named, node.keys)), aggregates
        case nodes.Over():
            order = tuple(replace(key, column=named(key.column)) for key in node.order)
            functions = tuple(_over_function(function, places) for function in node.functions)
            return tuple(map(named, node.partition_by)), order, functions
        case nodes.TopN():
            order = tuple(replace(key, column=named(key.column)) for key in node.order)
            return order, node.limit, node.offset, tuple(map(named, node.partition_by))
        case nodes.Join() | nodes.OuterJoin() | nodes.SemiJoin() | nodes.AntiJoin():
            return _matching(node, places, named)
        case nodes.MultiJoin():
            residual = None if node.residual is None else substitute(node.residual, places)
            return tuple(tuple(map(named, own)) for own in node.keys), residual
        case nodes.Istream() | nodes.Rstream():
            return node.restore
        case nodes.Wstream():
            return node.spec
        case nodes.Distinct() | nodes.Dstream() | nodes.Union() | nodes.Intersect() | nodes.Except():
            return None
    return node  # it equals itself alone


def _spec(spec: WindowSpec, named: Callable[[str], str]) -> WindowSpec:
    if isinstance(spec, (RowsWindow, SessionWindow)):
        return replace(spec, partition_by=tuple(map(named, spec.partition_by)))
    if isinstance(spec, LifetimeWindow):
        return replace(spec, ends=replace(spec.ends, column=named(spec.ends.column)))
    return spec


def _aggregate(aggregate: Aggregate, places: Places) -> Aggregate:
    arg, by = (None if e is None else substitute(e, places) for e in (aggregate.arg, aggregate.by))
    return replace(aggregate, name="", arg=arg, by=by)


def _over_function(function: OverFunction, places: Places) -> OverFunction:
    arg = None if function.arg is None else substitute(function.arg, places)
    return replace(function, name="", arg=arg)


def _matching(node: Matching, places: Places, named: Callable[[str], str]) -> Hashable:
    keys = tuple(zip(map(named, node.left_keys), map(named, node.right_keys), strict=True))
    residual = None if node.residual is None else substitute(node.residual, places)
    time = None if node.time is None else named(node.time)
    is_full = isinstance(node, nodes.OuterJoin) and node.is_full
    null_aware = isinstance(node, nodes.AntiJoin) and node.null_aware
    return keys, residual, time, node.keep_us, is_full, null_aware
