"""Which queries may shed load, and the plans of those that do, with their drop boxes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count

from panes.plan.estimated_group_by import ERROR, TupleColumns, estimated_group_by
from panes.plan.expressions import Column, columns_of
from panes.plan.nodes import (
    HIDDEN,
    AntiJoin,
    Distinct,
    Drop,
    Dstream,
    Except,
    GroupBy,
    Intersect,
    Istream,
    Join,
    MultiJoin,
    Node,
    OrderBy,
    OuterJoin,
    Over,
    Project,
    Rstream,
    Select,
    SemiJoin,
    StreamScan,
    TableScan,
    TopN,
    Union,
    Unnest,
    Values,
    Window,
    Wstream,
    with_children,
)
from panes.plan.walk import is_table_only, walk
from panes.plan.windows import BeginEndWindow, RowsWindow, SessionWindow

_ESTIMATED = ("count", "sum", "avg")
_REFUSED: dict[type[Node], str] = {
    AntiJoin: "negation gives rows because others are missing",
    OuterJoin: "an outer join gives rows alone because others are missing",
    Distinct: "DISTINCT cannot tell how many values are missing",
    Intersect: "INTERSECT cannot tell which rows are missing on the other side",
    Except: "EXCEPT gives rows because others are missing",
    Over: "functions with OVER read rows that may be missing",
    TopN: "LIMIT gives rows in places that missing rows would take",
    Istream: "an output stream keeps what it has given when the load is over",
    Dstream: "an output stream keeps what it has given when the load is over",
    Rstream: "an output stream keeps what it has given when the load is over",
    Wstream: "an output stream keeps what it has given when the load is over",
}
_ALLOWED = (
    Drop,
    GroupBy,
    Join,
    MultiJoin,
    OrderBy,
    Project,
    Select,
    SemiJoin,
    StreamScan,
    TableScan,
    Union,
    Unnest,
    Values,
)


def why_not_sheddable(plan: Node) -> str | None:
    """Why no tuples may be dropped for a query: nothing would bound the error of its answer. None when they may.

    Selections and joins give the rows that are left. Of aggregates, count, sum and avg are estimated.
    """
    return next(_reasons(plan), None)


def _reasons(plan: Node) -> Iterator[str]:
    if is_table_only(plan):
        yield "it reads no stream"
    for node in walk(plan):
        if type(node) in _REFUSED:
            yield _REFUSED[type(node)]
        elif isinstance(node, Window):
            yield from _of_window(node)
        elif isinstance(node, SemiJoin) and not is_table_only(node.right):
            yield "EXISTS and IN cannot tell which matches are missing"
        elif not isinstance(node, _ALLOWED):
            yield f"no bound is known for {type(node).__name__}"
    yield from _of_groups(plan)


def _of_window(node: Window) -> Iterator[str]:
    if node.spec.internal:
        yield "an INTERNAL window keeps results when the load is over"
    if isinstance(node.spec, SessionWindow):
        yield "a session would end where rows are missing"
    if isinstance(node.spec, BeginEndWindow):
        yield "a BEGIN … END window is applied when the query is invoked"


def _of_groups(plan: Node) -> Iterator[str]:
    groups = [node for node in walk(plan) if isinstance(node, GroupBy)]
    if not groups:
        return
    top = plan
    while isinstance(top, (OrderBy, Project, Select)):
        top = top.child
    if len(groups) > 1 or top is not groups[0]:
        yield "what is computed from aggregates has no bound"
        return
    (group_by,) = groups
    if not group_by.aggregates:
        yield "GROUP BY without an aggregate is DISTINCT, which cannot tell how many values are missing"
    for aggregate in group_by.aggregates:
        if aggregate.distinct:
            yield f"{aggregate} cannot tell how many values are missing"
        elif aggregate.function not in _ESTIMATED or aggregate.path:
            yield f"{aggregate} has no bound: only count, sum and avg are estimated"
        elif aggregate.type.is_decimal:
            yield f"{aggregate} is a DECIMAL, and estimates are not exact; write CAST(… AS DOUBLE)"
    if any(isinstance(node, Window) and isinstance(node.spec, RowsWindow) for node in walk(group_by)):
        yield "a window of ROWS holds other rows when some are dropped, so that its aggregates have no bound"
    if any(isinstance(node, Union) and not _is_of_single_tuples(node) for node in walk(group_by)):
        yield "UNION ALL of anything but streams, below an aggregate, has no bound"
    yield from _above(plan, {aggregate.name for aggregate in group_by.aggregates})


def _is_of_single_tuples(node: Node) -> bool:
    """Whether each row of a node is made of one tuple, whose weight is its own."""
    if isinstance(node, Union):
        return all(map(_is_of_single_tuples, node.children))
    return sum(isinstance(below, StreamScan) for below in walk(node)) == 1


def _above(plan: Node, aggregates: set[str]) -> Iterator[str]:
    """What is done to aggregates above the group-by, other than to show them."""
    if isinstance(plan, GroupBy):
        return
    (child,) = plan.children
    below = _shown(child, aggregates)
    if isinstance(plan, Select) and columns_of(plan.predicate) & below:
        yield "HAVING decides by aggregates, which are estimates"
    if isinstance(plan, Project):
        for _, expression in plan.columns:
            if not isinstance(expression, Column) and columns_of(expression) & below:
                yield f"{expression} is computed from aggregates, which are estimates"
    yield from _above(child, aggregates)


def _shown(node: Node, aggregates: set[str]) -> set[str]:
    """The columns of a node above a group-by that have its aggregates."""
    if isinstance(node, GroupBy):
        return aggregates
    (child,) = node.children
    below = _shown(child, aggregates)
    return {name for name, e in node.columns if columns_of(e) & below} if isinstance(node, Project) else below


def with_drop_boxes(plan: Node) -> Node:
    """A sheddable plan with a drop box above each stream.

    The answer has the same columns, and behind them for each aggregate the half width of its 95 % interval, in a
    column whose name begins with `ERROR`. While the boxes keep everything the answer is that of the plan.
    """
    group_by = next((node for node in walk(plan) if isinstance(node, GroupBy)), None)
    if group_by is None:
        return _Boxes(is_weighted=False, is_grouped=False).boxed(plan)[0]
    gives_many = any(isinstance(node, (Join, MultiJoin, Unnest)) for node in walk(group_by))
    boxes = _Boxes(is_weighted=True, is_grouped=gives_many)
    return boxes.above(plan)


_Tuples = tuple[TupleColumns, ...]


@dataclass
class _Boxes:
    """Puts drop boxes into a plan, and hands their hidden columns up."""

    is_weighted: bool
    is_grouped: bool
    """Whether one tuple may give many rows, so that the jackknife needs its group."""
    _numbers: Iterator[int] = field(default_factory=count)
    _scans: dict[str, int] = field(default_factory=dict)
    """How often each stream was read under an alias so far."""

    def above(self, node: Node) -> Node:
        """The part of a plan from the group-by up."""
        if isinstance(node, GroupBy):
            child, tuples = self.boxed(node.child)
            return estimated_group_by(replace(node, child=child), tuples)
        (below,) = node.children
        child = self.above(below)
        if not isinstance(node, Project):
            return with_children(node, child)
        # Estimates are shown as they are, under whatever name; what an answer is only sorted by has no interval.
        errors = tuple(
            (f"{ERROR}{name}", Column(child.schema[f"{ERROR}{e.name}"].type, f"{ERROR}{e.name}"))
            for name, e in node.columns
            if isinstance(e, Column) and f"{ERROR}{e.name}" in child.schema and not name.startswith(HIDDEN)
        )
        return Project(child, node.columns + errors)

    def boxed(self, node: Node) -> tuple[Node, _Tuples]:
        """A relation with its boxes, and the hidden columns of the tuples that its rows are made of."""
        if isinstance(node, StreamScan):
            return self._box(node)
        below = [self.boxed(child) for child in node.children]
        children, tuples = [child for child, _ in below], [some for _, some in below]
        if isinstance(node, Project):
            hidden = _columns(tuples[0])
            return Project(
                children[0], node.columns + tuple((c.name, c) for c in _as_columns(children[0], hidden))
            ), tuples[0]
        if isinstance(node, Union) and self.is_weighted:
            return self._union(node, children, tuples)
        return with_children(node, *children), tuple(one for some in tuples for one in some)

    def _box(self, scan: StreamScan) -> tuple[Node, _Tuples]:
        number = next(self._numbers)
        weight = f"_kept_{number}" if self.is_weighted else None
        bucket = f"_bucket_{number}" if self.is_grouped else None
        # Two scans of one stream drop independently of each other, so that weights of pairs are products. In
        # whichever order a plan joins them, and in all queries, scans drop alike.
        name = f"{scan.stream} AS {scan.alias}"
        place = self._scans[name] = self._scans.get(name, 0) + 1
        digest = hashlib.sha256(f"{name} {place}".encode()).digest()
        box = Drop(scan, int.from_bytes(digest[:8]), weight, bucket)
        return box, () if weight is None else (TupleColumns(weight, bucket),)

    def _union(self, node: Union, children: list[Node], tuples: list[_Tuples]) -> tuple[Node, _Tuples]:
        """Both sides with their hidden columns last, under the names of the left."""
        left, right = (
            Project(
                child,
                tuple((c.name, c) for c in _as_columns(child, (*side.schema.names, *_columns(some)))),
            )
            for side, child, some in zip(node.children, children, tuples, strict=True)
        )
        return Union(left, right), tuples[0]


def _columns(tuples: _Tuples) -> tuple[str, ...]:
    return tuple(name for one in tuples for name in (one.weight, one.bucket) if name is not None)


def _as_columns(node: Node, names: tuple[str, ...]) -> list[Column]:
    return [Column(node.schema[name].type, name) for name in names]
