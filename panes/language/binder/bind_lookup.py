"""Lookups: tuples of a stream meet a table that is not retroactive as it was at their own time.

The time of a tuple is a column of its scan (`TIME`). It is handed up from there to the lookup, through windows,
selections, projections, unnest and joins, and in the same way to the aggregates first and last; nothing else reads
it, and no SELECT list has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from panes.language.binder.known_relations import KnownRelations
from panes.language.positions import refuse
from panes.language.statements import CreateStream
from panes.plan.aggregates import AGGREGATES
from panes.plan.expressions import Aggregate, Column, columns_of
from panes.plan.lookups import Matching, has_lookup, is_lookup, table_below
from panes.plan.nodes import (
    TIME,
    AntiJoin,
    Distinct,
    Except,
    GroupBy,
    Intersect,
    Join,
    Node,
    OuterJoin,
    Over,
    Project,
    Select,
    SemiJoin,
    StreamScan,
    TableScan,
    TopN,
    Union,
    Unnest,
    Values,
    Window,
    with_children,
)
from panes.plan.schema import Field, Schema
from panes.plan.types import BIGINT
from panes.plan.unused import unused
from panes.plan.walk import is_table_only
from panes.plan.windows import FOREVER, WindowSpec


def is_looked_up(left: Node, right: Node) -> bool:
    """Whether rows of the left side look up a table on the right."""
    table = table_below(right)
    return table is not None and not table.retroactive and not is_table_only(left)


def bind_lookup(node: Matching, catalog: KnownRelations, text: str, offset: int) -> Matching:
    """The lookup that a join, semi- or anti-join with a table is; refuses it where tuples have lost their time."""
    table = table_below(node.right)
    assert table is not None
    read = set(node.left_keys) | (columns_of(node.residual) if node.residual is not None else set())
    try:
        carried = _Carrying(catalog).carried(node.left, read & set(node.left.schema.names))
    except _NoTime as lost:
        refuse(
            f"{table.table} is looked up as it was at the time of one tuple, and {lost.reason}",
            text, offset, lost.hint,
        )  # fmt: skip
    return replace(
        node,
        left=carried.node,
        right=_looked_up_by(node.right, carried.stream),
        time=carried.time,
        keep_us=carried.keep_us,
    )


def with_times(
    node: Node, aggregates: Sequence[Aggregate], catalog: KnownRelations, text: str, places: Mapping[str, int]
) -> tuple[Node, tuple[Aggregate, ...]]:
    """The rows that are to be grouped, and aggregates that may ask for the time of a tuple, with that time;
    refuses them where tuples have lost it. `places` says where each aggregate stands."""
    timed = []
    for aggregate in aggregates:
        if not aggregate.path and AGGREGATES[aggregate.function].needs_time:
            assert aggregate.arg is not None
            try:
                carried = _Carrying(catalog).carried(node, columns_of(aggregate.arg))
            except _NoTime as lost:
                refuse(
                    f"{aggregate.function} goes by the time of tuples, and {lost.reason}",
                    text, places[aggregate.name], "use min_by(x, y) or max_by(x, y), with a column for y",
                )  # fmt: skip
            node, aggregate = carried.node, replace(aggregate, by=Column(BIGINT, carried.time))
        timed.append(aggregate)
    return node, tuple(timed)


def with_time(
    node: Node, columns: Set[str], what: str, catalog: KnownRelations, text: str, offset: int
) -> tuple[Node, str]:
    """The rows of a node with the time of the tuple that these columns come from, and the column that has it;
    refuses what goes by it where tuples have lost it."""
    try:
        carried = _Carrying(catalog).carried(node, columns)
    except _NoTime as lost:
        refuse(
            f"{what} goes by the time of tuples, and {lost.reason}",
            text, offset, f"put the tuples of one stream, seen through a window, before {what}",
        )  # fmt: skip
    return carried.node, carried.time


def window_over(stream: Node, spec: WindowSpec) -> Node:
    """A stream seen through a window.

    A time window goes below lookups: it holds a tuple by its time alone, and what the tuple meets lives as long.
    """
    if not spec.is_timed or not has_lookup(stream):
        return Window(stream, spec)
    if is_lookup(stream):
        keep_us = spec.retained()
        return replace(
            stream,
            left=window_over(stream.left, spec),
            keep_us=stream.keep_us if keep_us is None else keep_us,
        )
    return with_children(stream, *(window_over(child, spec) for child in stream.children))


class _NoTime(Exception):
    """Rows do not have the time of one tuple."""

    def __init__(self, reason: str, hint: str) -> None:
        self.reason = reason
        self.hint = hint


_FIRST = "join the table with the stream first, in a derived table"
_MANY = {
    Distinct: "a row of DISTINCT stands for many",
    GroupBy: "a group has many",
    Over: "a row of OVER has values of many",
    Intersect: "a row of INTERSECT stands for many",
    Except: "a row of EXCEPT stands for many",
    TopN: "which rows are the first is decided by many",
}


@dataclass(frozen=True)
class _Carried:
    """A plan whose rows have the time of the tuple that they were made of in the column `time`."""

    node: Node
    time: str
    stream: str
    keep_us: int


@dataclass(frozen=True)
class _Carrying:
    catalog: KnownRelations

    def carried(self, node: Node, columns: Set[str]) -> _Carried:
        """The node with the time of the tuple that these columns come from. Raises _NoTime when there is none, or
        more than one."""
        match node:
            case StreamScan():
                return self._scan(node)
            case Window():
                below = self.carried(node.child, columns)
                keep_us = _keep_us(node.spec, below.keep_us)
                return replace(below, node=replace(node, child=below.node), keep_us=keep_us)
            case Select():
                below = self.carried(node.child, columns)
                return replace(below, node=replace(node, child=below.node))
            case Unnest():
                read = columns_of(node.expression) if node.column in columns else frozenset[str]()
                below = self.carried(node.child, (columns - {node.column}) | read)
                return replace(below, node=replace(node, child=below.node))
            case Project():
                return self._project(node, columns)
            case Join():
                return self._join(node, columns)
            case SemiJoin() | AntiJoin():
                below = self.carried(node.left, columns)
                return replace(below, node=replace(node, left=below.node))
            case OuterJoin():
                return self._outer_join(node, columns)
            case Union():
                return self._union(node, columns)
            case TableScan():
                raise _NoTime(f"a row of {node.table} has no such time", _FIRST)
            case Values():
                raise _NoTime("a row of VALUES has no such time", _FIRST)
        reason = _MANY.get(type(node), f"{type(node).__name__} gives its results times of their own")
        raise _NoTime(reason, _FIRST)

    def _scan(self, node: StreamScan) -> _Carried:
        time = f"{node.alias}.{TIME}"
        if time not in node.schema:
            node = replace(node, columns=node.columns + Schema((Field(time, BIGINT),)))
        found = self.catalog.stream(node.stream)
        assert isinstance(found, CreateStream)
        return _Carried(node, time, node.stream, found.stream.slack_us + (found.stream.retain_us or 0))

    def _project(self, node: Project, columns: Set[str]) -> _Carried:
        read = (columns_of(expression) for name, expression in node.columns if name in columns)
        below = self.carried(node.child, frozenset[str]().union(*read))
        time = Column(BIGINT, below.time)
        name = next((name for name, expression in node.columns if expression == time), None)
        if name is None:
            aliases = {name.rpartition(".")[0] for name in node.schema.names}
            wanted = f"{aliases.pop()}.{TIME}" if len(aliases) == 1 else below.time
            name = unused(wanted.lstrip("."), node.schema.names)
        shown = node.columns if name in node.schema else (*node.columns, (name, time))
        return replace(below, node=Project(below.node, shown), time=name)

    def _join(self, node: Join, columns: Set[str]) -> _Carried:
        if node.time is not None:
            # What a tuple has met is of the time of the tuple.
            on_left = {name if name in node.left.schema else node.time for name in columns}
            below = self.carried(node.left, on_left)
            return replace(below, node=replace(node, left=below.node))
        read = [{name for name in columns if name in side.schema and _is_of_stream(side, name)}
                for side in node.children]  # fmt: skip
        sides = [place for place, names in enumerate(read) if names]
        sides = sides or [place for place, side in enumerate(node.children) if not is_table_only(side)]
        if len(sides) > 1:
            one, other = (_alias_of(side, names) for side, names in zip(node.children, read, strict=True))
            raise _NoTime(
                f"there are two here, of {one} and of {other}",
                f"join it with {one} or with {other} first, in a derived table",
            )
        (place,) = sides
        below = self.carried(node.children[place], read[place])
        children = [below.node if n == place else child for n, child in enumerate(node.children)]
        return replace(below, node=with_children(node, *children))

    def _outer_join(self, node: OuterJoin, columns: Set[str]) -> _Carried:
        """The rows that a LEFT JOIN keeps have their time, whether or not they have a partner."""
        on_left = {name for name in columns if name in node.left.schema}
        is_told = columns <= on_left or node.time is not None
        if node.is_full or not is_told or is_table_only(node.left):
            raise _NoTime("a row of an outer join may be without that tuple", _FIRST)
        below = self.carried(node.left, on_left or {node.time} if node.time is not None else on_left)
        return replace(below, node=replace(node, left=below.node))

    def _union(self, node: Union, columns: Set[str]) -> _Carried:
        places = [place for place, name in enumerate(node.schema.names) if name in columns]
        left, right = (
            self.carried(side, {side.schema.names[place] for place in places}) for side in node.children
        )
        if left.stream != right.stream:
            raise _NoTime(
                f"the sides of UNION are tuples of {left.stream} and of {right.stream}, whose clocks differ",
                "join the table with each of them first, on its side of the UNION",
            )
        if _place_of_time(left, node.left) is None or (
            _place_of_time(left, node.left) != _place_of_time(right, node.right)
        ):
            left, right = _time_last(left, node.left), _time_last(right, node.right)
        return replace(left, node=Union(left.node, right.node), keep_us=max(left.keep_us, right.keep_us))


def _keep_us(spec: WindowSpec, of_stream: int) -> int:
    if not spec.is_timed:
        return FOREVER  # a row leaves when others come, at any age
    retained = spec.retained()
    return of_stream if retained is None else retained


def _is_of_stream(node: Node, column: str) -> bool:
    """Whether a column comes from tuples of a stream."""
    match node:
        case Window() | Select() | Distinct():
            return _is_of_stream(node.child, column)
        case Unnest():
            read = columns_of(node.expression) if column == node.column else {column}
            return any(_is_of_stream(node.child, name) for name in read)
        case Project():
            return any(_is_of_stream(node.child, name) for name in columns_of(dict(node.columns)[column]))
        case Join():
            if column in node.left.schema:
                return _is_of_stream(node.left, column)
            return node.time is not None or _is_of_stream(node.right, column)
        case OuterJoin():
            side = node.left if column in node.left.schema else node.right
            return (side is node.right and node.time is not None) or _is_of_stream(side, column)
        case SemiJoin() | AntiJoin():
            return _is_of_stream(node.left, column)
    return not is_table_only(node)


def _alias_of(node: Node, columns: Set[str]) -> str:
    """What a query calls a side of a join."""
    return min(columns or node.schema.names).rpartition(".")[0]


def _place_of_time(carried: _Carried, side: Node) -> int | None:
    """Where a side of a set operation had the time before; None when it had not."""
    return side.schema.names.index(carried.time) if carried.time in side.schema else None


def _time_last(carried: _Carried, side: Node) -> _Carried:
    """The columns of a side of a set operation, and then the time."""
    if carried.node.schema.names == (*side.schema.names, carried.time):
        return carried
    name = unused(carried.time, side.schema.names)
    columns = tuple((f.name, Column(f.type, f.name)) for f in side.schema)
    return replace(
        carried, node=Project(carried.node, (*columns, (name, Column(BIGINT, carried.time)))), time=name
    )


def _looked_up_by(right: Node, stream: str) -> Node:
    if isinstance(right, TableScan):
        return replace(right, stream=stream)
    return with_children(right, *(_looked_up_by(child, stream) for child in right.children))
