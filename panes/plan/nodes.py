"""The logical plan: immutable nodes, each with its children and its derived schema.

A plan is built bottom up, and a node that makes no sense is refused when it is built: PlanError names the
offending value. Patterns (`plan/patterns.py`) and EXPLAIN (`plan/explain.py`) are functions over these nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from panes.plan.expressions import Aggregate, Column, Expression, Value, walk
from panes.plan.over_functions import OverFunction
from panes.plan.remembered_hash import RememberedHash
from panes.plan.schema import Field, Schema
from panes.plan.sort_key import SortKey
from panes.plan.types import BIGINT, BINARY, BOOLEAN, DOUBLE, TIMESTAMP
from panes.plan.windows import WindowSpec


class PlanError(ValueError):
    """A node that cannot be: the message names the value that is wrong."""


@dataclass(frozen=True)
class Node(RememberedHash):
    @property
    def children(self) -> tuple[Node, ...]:
        return ()

    @property
    def schema(self) -> Schema:
        raise TypeError(f"{type(self).__name__} has no schema")


TIME = "_time"
"""The column of a scan, behind its alias, that has the event time of its tuples. A tuple that comes late enters
windows when it comes, and keeps this time."""


@dataclass(frozen=True)
class StreamScan(Node):
    """All tuples of a base stream, for ever. Column names are qualified by the alias.

    A scan whose tuples look up a non-retroactive table has one column more: `TIME`.
    """

    stream: str
    alias: str
    columns: Schema
    queries: tuple[str, ...] = field(default=(), repr=False)
    """The registered queries through whose texts it is read, the innermost first. It says nothing of what is
    computed, so it is in no digest."""

    @property
    def schema(self) -> Schema:
        return self.columns

    def attribute(self, column: str) -> str:
        """The name that the stream has for a column of the scan."""
        return _attribute(self.alias, column)


@dataclass(frozen=True)
class TableScan(Node):
    """A relation. Updates of a retroactive one also concern tuples that arrived before them."""

    table: str
    alias: str
    columns: Schema
    retroactive: bool
    stream: str | None = None
    """Of one that tuples look up as it was at their time: the base stream whose tuples do. Its clock says when a
    change takes effect."""
    queries: tuple[str, ...] = field(default=(), repr=False)
    """As in a StreamScan."""

    @property
    def schema(self) -> Schema:
        return self.columns

    def attribute(self, column: str) -> str:
        """The name that the table has for a column of the scan."""
        return _attribute(self.alias, column)


@dataclass(frozen=True)
class Values(Node):
    """Rows of constants, which were always there and stay."""

    columns: Schema
    rows: tuple[tuple[Value, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            _need(len(row) == len(self.columns), f"{row} has not the columns ({self.columns})")

    @property
    def schema(self) -> Schema:
        return self.columns


def _attribute(alias: str, column: str) -> str:
    return column.removeprefix(f"{alias}.")


@dataclass(frozen=True)
class _Unary(Node):
    child: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.child,)

    @property
    def schema(self) -> Schema:
        return self.child.schema


DROP_BUCKETS = 32
"""The number of groups into which the tuples that pass a drop box fall, for the jackknife."""


@dataclass(frozen=True)
class Drop(_Unary):
    """A drop box: of the tuples of a stream those whose hash lies below the share that is kept at their time.

    It stands directly above a StreamScan. The hash is that of the seed, the event time and all columns of the
    stream, so that the same tuples pass wherever and whenever they are read. The share comes with each epoch, from
    a `BoxSchedule`, and is no part of the plan.
    """

    seed: int
    weight: str | None = None
    """The column, one more, that has how many tuples a tuple that passes stands for: 1 / the share."""
    bucket: str | None = None
    """The column, one more, that has the number of its group, one of `DROP_BUCKETS`, by another hash."""

    def __post_init__(self) -> None:
        _need(isinstance(self.child, StreamScan), "a drop box stands directly above a stream")
        self.schema  # noqa: B018  two columns of one name are refused here

    @property
    def stream(self) -> str:
        assert isinstance(self.child, StreamScan)
        return self.child.stream

    @cached_property
    def _schema(self) -> Schema:
        added = [Field(self.weight, DOUBLE)] if self.weight else []
        added += [Field(self.bucket, BIGINT)] if self.bucket else []
        return self.child.schema + Schema(tuple(added))

    @property
    def schema(self) -> Schema:
        return self._schema


@dataclass(frozen=True)
class Window(_Unary):
    """A stream seen through a window: the child must be a stream (MONOTONIC)."""

    spec: WindowSpec

    def __post_init__(self) -> None:
        for name in self.spec.partition_by:
            _need(name in self.schema, f"PARTITION BY {name}: there is no such column in ({self.schema})")


@dataclass(frozen=True)
class Select(_Unary):
    predicate: Expression

    def __post_init__(self) -> None:
        _need_condition(self.predicate, self.child)


@dataclass(frozen=True)
class TemporalFilter(_Unary):
    """The rows for which `value <op> τ + distance_us` is true at the instant τ of the answer: each for a part of
    its lifetime. With `slides` the condition is tested at their multiples alone."""

    value: Expression
    op: str
    distance_us: int
    slides: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _need(self.op in ("lt", "le", "gt", "ge", "eq"), f"{self.op} does not bound a time")
        _need(self.value.type == TIMESTAMP, f"{self.value} {self.value.type} is no instant")
        _need_columns(self.value, self.child)


@dataclass(frozen=True)
class Project(_Unary):
    columns: tuple[tuple[str, Expression], ...]

    def __post_init__(self) -> None:
        _need(bool(self.columns), "a projection needs at least one column")
        for _, expression in self.columns:
            _need_columns(expression, self.child)
        self.schema  # noqa: B018  two columns of one name are refused here

    @cached_property
    def _schema(self) -> Schema:
        return Schema(tuple(Field(name, e.type) for name, e in self.columns))

    @property
    def schema(self) -> Schema:
        return self._schema


@dataclass(frozen=True)
class Unnest(_Unary):
    """The rows of the child, once for each item of a list, which is one more column.

    A row whose list is empty or NULL is left out.
    """

    expression: Expression
    column: str

    def __post_init__(self) -> None:
        _need(self.expression.type.item is not None, f"{self.expression} {self.expression.type} is no list")
        _need_columns(self.expression, self.child)
        self.schema  # noqa: B018  two columns of one name are refused here

    @cached_property
    def _schema(self) -> Schema:
        assert self.expression.type.item is not None
        return self.child.schema + Schema((Field(self.column, self.expression.type.item),))

    @property
    def schema(self) -> Schema:
        return self._schema


@dataclass(frozen=True)
class Distinct(_Unary):
    """One row per distinct value."""


@dataclass(frozen=True)
class GroupBy(_Unary):
    """One row per group: its keys, then its aggregates. Without keys there is always exactly one row,
    except over a stream that has not begun: SQL's one row for an empty input holds for windows."""

    keys: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]

    def __post_init__(self) -> None:
        _need(bool(self.keys or self.aggregates), "GROUP BY needs a key or an aggregate")
        for key in self.keys:
            _need(
                key in self.child.schema, f"GROUP BY {key}: there is no such column in ({self.child.schema})"
            )
        for aggregate in self.aggregates:
            for arg in aggregate.args:
                _need_columns(arg, self.child)

    @cached_property
    def _schema(self) -> Schema:
        keys = tuple(self.child.schema[key] for key in self.keys)
        return Schema(keys + tuple(Field(a.name, a.type) for a in self.aggregates))

    @property
    def schema(self) -> Schema:
        return self._schema


@dataclass(frozen=True)
class Over(_Unary):
    """The rows of the child, each with one more column per function over its partition.

    The rows of a partition are in the order of the sort keys; where a function tells peers apart, these are in the
    order of their other columns.
    """

    partition_by: tuple[str, ...]
    order: tuple[SortKey, ...]
    functions: tuple[OverFunction, ...]

    def __post_init__(self) -> None:
        _need(bool(self.functions), "OVER needs a function")
        for name in (*self.partition_by, *(key.column for key in self.order)):
            _need(name in self.child.schema, f"OVER: there is no column {name} in ({self.child.schema})")
        for function in self.functions:
            if function.arg is not None:
                _need_columns(function.arg, self.child)
        self.schema  # noqa: B018  two columns of one name are refused here

    @cached_property
    def _schema(self) -> Schema:
        return self.child.schema + Schema(tuple(Field(f.name, f.type) for f in self.functions))

    @property
    def schema(self) -> Schema:
        return self._schema


@dataclass(frozen=True)
class TopN(_Unary):
    """Of each partition the rows number offset + 1 to offset + limit, in the order of the keys; rows that agree on
    these go by all other columns, and equal rows count as often as they are there."""

    order: tuple[SortKey, ...]
    limit: int
    offset: int = 0
    partition_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _need(self.limit >= 0, f"LIMIT {self.limit} is below zero")
        _need(self.offset >= 0, f"OFFSET {self.offset} is below zero")
        _need_sortable(self.order, self.child)
        for name in self.partition_by:
            _need(name in self.schema, f"PARTITION BY {name}: there is no such column in ({self.schema})")
        for column in self.schema:
            _need(not column.type.is_nested, f"{column.name} {column.type} cannot be compared")


HIDDEN = "_by"
"""What the names of columns begin with that an answer is sorted by and does not show."""


@dataclass(frozen=True)
class OrderBy(_Unary):
    """The order in which an answer is read: the rows are those of the child. It stands at the top of a plan.

    The child may have columns that are `HIDDEN`: rows are sorted by them, and given without them.
    """

    order: tuple[SortKey, ...]

    def __post_init__(self) -> None:
        _need(bool(self.order), "ORDER BY needs a key")
        _need_sortable(self.order, self.child)

    @cached_property
    def _schema(self) -> Schema:
        return Schema(tuple(field for field in self.child.schema if not field.name.startswith(HIDDEN)))

    @property
    def schema(self) -> Schema:
        return self._schema


@dataclass(frozen=True)
class _Binary(Node):
    left: Node
    right: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def schema(self) -> Schema:
        return self.left.schema


@dataclass(frozen=True)
class _Matching(_Binary):
    """Pairs left and right rows whose keys are equal (NULL equals nothing) and that pass the residual.

    With `time` it is a lookup: the right side is a non-retroactive table, and each left row meets it as it was at
    the instant in that column of the left side.
    """

    left_keys: tuple[str, ...]
    right_keys: tuple[str, ...]
    residual: Expression | None = None
    time: str | None = None
    keep_us: int = 0
    """Of a lookup: how far before the clock the times of left rows may lie. Those that lie further back meet the
    oldest version that is known. FOREVER: rows may be taken back at any age, so that no version is forgotten."""

    def __post_init__(self) -> None:
        _need(len(self.left_keys) == len(self.right_keys), "a join needs as many left keys as right keys")
        for left, right in zip(self.left_keys, self.right_keys, strict=True):
            _need(left in self.left.schema, f"there is no column {left} in ({self.left.schema})")
            _need(right in self.right.schema, f"there is no column {right} in ({self.right.schema})")
            a, b = self.left.schema[left].type, self.right.schema[right].type
            _need(a == b, f"the join keys {left} {a} and {right} {b} are of different types")
        if self.residual is not None:
            _need_condition(self.residual, self.left, self.right)
        if self.time is not None:
            _need(self.time in self.left.schema, f"there is no time {self.time} in ({self.left.schema})")


@dataclass(frozen=True)
class Join(_Matching):
    """All matching pairs. Without keys it is a product filtered by the residual.

    When one side is a TableScan the streaming side must come first: `left` is the stream or window.
    """

    @property
    def schema(self) -> Schema:
        return self.left.schema + self.right.schema


@dataclass(frozen=True)
class MultiJoin(Node):
    """All combinations of a row of each input that have equal keys (NULL equals nothing) and pass the residual.

    It is the same as a tree of joins of its inputs, and only the optimizer makes it. The order of the inputs is
    the global join order: a new row of one of them meets the others in that order.
    """

    inputs: tuple[Node, ...]
    keys: tuple[tuple[str, ...], ...]
    """The keys of each input. Those in one place are equal in all of them."""
    residual: Expression | None = None

    def __post_init__(self) -> None:
        _need(len(self.inputs) > 1, "a join needs at least two inputs")
        _need(len(self.keys) == len(self.inputs), "a join of many inputs needs keys for each of them")
        types = [
            tuple(node.schema[k].type for k in own) for node, own in zip(self.inputs, self.keys, strict=True)
        ]
        _need(bool(types[0]), "a join of many inputs needs a key")
        _need(len(set(types)) == 1, f"the join keys {self.keys} are of different types")
        if self.residual is not None:
            _need_condition(self.residual, *self.inputs)
        self.schema  # noqa: B018  two columns of one name are refused here

    @property
    def children(self) -> tuple[Node, ...]:
        return self.inputs

    @cached_property
    def _schema(self) -> Schema:
        return sum((node.schema for node in self.inputs), Schema(()))

    @property
    def schema(self) -> Schema:
        return self._schema


@dataclass(frozen=True)
class OuterJoin(_Matching):
    """All matching pairs, and the left rows without a match, with NULL in the columns of the right.

    `is_full` is FULL JOIN: the right rows without a match are there too.
    """

    is_full: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _need(
            not self.is_full or self.time is None, "a table that is looked up has no rows of its own to keep"
        )

    @property
    def schema(self) -> Schema:
        return self.left.schema + self.right.schema


@dataclass(frozen=True)
class SemiJoin(_Matching):
    """Left rows with at least one match: EXISTS and IN."""


@dataclass(frozen=True)
class AntiJoin(_Matching):
    """Left rows without a match: NOT EXISTS, and NOT IN.

    `null_aware` is NOT IN: a left row whose key is NULL, or any row while the right side holds a NULL key,
    is not in the answer (unless the right side is empty). Its residual reads the right side only, and rows
    that do not pass it are not there.
    """

    null_aware: bool = False


@dataclass(frozen=True)
class _SetOperation(_Binary):
    """Both sides have the same types, column by column; names are those of the left."""

    def __post_init__(self) -> None:
        a, b = self.left.schema.types, self.right.schema.types
        _need(a == b, f"the two sides have different columns: ({self.left.schema}) and ({self.right.schema})")


@dataclass(frozen=True)
class Union(_SetOperation):
    """Bag union (UNION ALL): a merge, in timestamp order."""


@dataclass(frozen=True)
class Intersect(_SetOperation):
    """Bag intersection (INTERSECT ALL): min of the two multiplicities."""


@dataclass(frozen=True)
class Except(_SetOperation):
    """Bag difference (EXCEPT ALL): multiplicity left minus right, never below zero."""


@dataclass(frozen=True)
class Istream(_Unary):
    """The stream of tuples that enter the relation. With `restore`, also those that came and went
    between two slides."""

    restore: bool = False


@dataclass(frozen=True)
class Dstream(_Unary):
    """The stream of tuples that leave the relation."""


@dataclass(frozen=True)
class Rstream(_Unary):
    """The whole relation, again at every slide (or at every change when nothing slides)."""

    restore: bool = False


@dataclass(frozen=True)
class Wstream(_Unary):
    """The youngest results (`ROWS n`) or those of the last d (`RANGE d`), whether or not they expired.

    A result counts when it is generated, also while an equal one expires (`plan/output_streams.py`)."""

    spec: WindowSpec


QUERY = "_query"
"""The column that says for which of the queries that share a plan a row is."""


@dataclass(frozen=True)
class Matched(_Unary):
    """The rows of the child, once for each query of a group whose selection they pass.

    It stands in a plan that many queries share, in place of the selection of one of them. `scan_number` tells the
    streams of the plan apart: each query has a selection of its own on each.
    """

    scan_number: int = 0

    @property
    def query_column(self) -> str:
        return f"{QUERY}_{self.scan_number}" if self.scan_number else QUERY

    @cached_property
    def _schema(self) -> Schema:
        return Schema((Field(self.query_column, BIGINT), *self.child.schema.fields))

    @property
    def schema(self) -> Schema:
        return self._schema


@dataclass(frozen=True)
class Timed(_Unary):
    """The rows of the child as they are kept by key and time, so that aggregates of any span of time can be read
    from them. It stands in a plan that many queries share, in place of their windows and aggregates."""

    keys: tuple[str, ...]

    @property
    def schema(self) -> Schema:
        return self.child.schema


@dataclass(frozen=True)
class Synopsis(_Unary):
    """The partial sums of a group-by per pane of its window, for all queries that can be computed from them.

    The window of the group-by has the length of the longest of theirs, and slides by one pane. Each query has a
    window, aggregates and conditions of its own, which are applied when somebody reads it.
    """

    form: str
    """basic, interval or running."""
    reach_us: int
    """The greatest sum of the range and the slide of a window: for how long a pane may be needed."""
    has_total: bool = False
    """Whether the sums of all signatures together are kept as well."""


SIGNATURE = "_signature"


@dataclass(frozen=True)
class Signed(_Unary):
    """The rows of the child that pass any of some predicates, with one more column: which ones they pass.

    That is their signature: a bit for each predicate, by its number. Tuples of different signatures can be summed
    apart, and what passes one predicate is the sum of the signatures that have its bit.
    """

    predicates: tuple[Expression, ...]

    @cached_property
    def _schema(self) -> Schema:
        return Schema((Field(SIGNATURE, BINARY), *self.child.schema.fields))

    @property
    def schema(self) -> Schema:
        return self._schema


@dataclass(frozen=True)
class JoinSynopsis(_Unary):
    """The partial sums of a group-by over a join of two streams, per pair of panes of its windows, for all queries
    that can be computed from them.

    Each window of the join has the length of the longest of theirs on its side, and slides by one pane.
    """

    reaches: tuple[int, int]
    """For each side the greatest sum of the range and the slide of a window: for how long a pane may be needed."""


@dataclass(frozen=True)
class MatchedPairs(Matched):
    """The pairs of a join of two streams, without windows, once for each query of a group that they are for.

    It stands for all of what these queries do: their windows are applied when they are read.
    """

    def __post_init__(self) -> None:
        _need(isinstance(self.child, Join), "pairs are those of a join")


AnyNode = TypeVar("AnyNode", bound=Node)


def with_children(node: AnyNode, *children: Node) -> AnyNode:
    """The same node over other children; the node itself when it has these."""
    if isinstance(node, _Unary):
        (child,) = children
        return node if child is node.child else replace(node, child=child)
    if isinstance(node, _Binary):
        left, right = children
        return node if left is node.left and right is node.right else replace(node, left=left, right=right)
    if isinstance(node, MultiJoin):
        is_same = all(one is other for one, other in zip(children, node.inputs, strict=True))
        return node if is_same else replace(node, inputs=children)
    if children:
        raise PlanError(f"{type(node).__name__} has no children")
    return node


def _need(condition: bool, message: str) -> None:
    if not condition:
        raise PlanError(message)


def _need_sortable(order: tuple[SortKey, ...], child: Node) -> None:
    for key in order:
        _need(key.column in child.schema, f"ORDER BY {key}: there is no such column in ({child.schema})")
    columns = [key.column for key in order]
    _need(len(set(columns)) == len(columns), f"ORDER BY names a column twice: {', '.join(columns)}")


def _need_condition(condition: Expression, *inputs: Node) -> None:
    _need(condition.type == BOOLEAN, f"a condition must be BOOLEAN, not {condition.type}")
    _need_columns(condition, *inputs)


def _need_columns(expression: Expression, *inputs: Node) -> None:
    for column in walk(expression):
        if not isinstance(column, Column):
            continue
        found = [node.schema[column.name] for node in inputs if column.name in node.schema]
        if not found:
            have = "; ".join(str(node.schema) for node in inputs)
            raise PlanError(f"{expression}: there is no column {column.name} in ({have})")
        if all(field.type != column.type for field in found):
            raise PlanError(f"{expression}: the column is {found[0]}, not {column.type}")
