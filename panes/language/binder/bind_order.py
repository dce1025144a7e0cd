"""ORDER BY, LIMIT, OFFSET and DISTINCT ON: which rows are the first, and in which order an answer is read.

What rows are sorted by may be no column of the SELECT list. It is then computed beside it, in a column that is
hidden, and goes once the rows are chosen; at the top of a query it goes when the answer is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from panes.language.binder.bind_expressions import ExpressionBinder, cast_to
from panes.language.binder.bind_groups import by_aliases
from panes.language.binder.refusals import check_bounded, check_internal
from panes.language.binder.scope import Scope
from panes.language.names import same
from panes.language.parser.syntax import SelectBlock, Sorted
from panes.language.positions import did_you_mean, offset_of, refuse
from panes.plan.expressions import Expression
from panes.plan.nodes import HIDDEN, Except, Node, OrderBy, TopN
from panes.plan.output_streams import OUTPUT_STREAMS
from panes.plan.patterns import MONOTONIC, has_internal, pattern_of
from panes.plan.sort_key import SortKey
from panes.plan.types import BIGINT, INTERVAL, NULL

if TYPE_CHECKING:
    from panes.language.binder.bind_query import QueryBinder

Columns = tuple[tuple[str, Expression], ...]


@dataclass
class Order:
    """What a query is sorted by, once its columns are known; and the columns of DISTINCT ON."""

    text: str
    nodes: Sequence[exp.Expression] = ()
    """Of ORDER BY."""
    on: Sequence[exp.Expression] = ()
    """Of DISTINCT ON."""
    keys: list[SortKey] = field(default_factory=list)
    partition_by: list[str] = field(default_factory=list)
    _hidden: dict[Expression, str] = field(default_factory=dict)

    def with_hidden(self, block: SelectBlock, columns: Columns, binder: ExpressionBinder) -> Columns:
        """The columns of a SELECT list, and those that it is sorted by besides."""
        for node in self.on:
            self._add_partition(self._of_block(node, block, columns, binder))
        for node in self.nodes:
            if _is_all(node):
                self._add_all(node, [name for name, _ in columns])
            else:
                self._add_key(node, self._of_block(node.this, block, columns, binder))
        return columns + tuple((name, expression) for expression, name in self._hidden.items())

    def of_columns(self, names: Sequence[str]) -> None:
        """The order of a query of which only the columns are known, such as a UNION."""
        for node in self.nodes:
            if _is_all(node):
                self._add_all(node, names)
                continue
            found = self._place(node.this, names) or _named(node.this, names)
            if found is None:
                hint = (
                    did_you_mean(node.this.name, list(names)) if isinstance(node.this, exp.Column) else None
                )
                refuse(
                    "here ORDER BY takes names of columns and their places", self.text, offset_of(node.this),
                    hint or "put the query into FROM to sort it by something else: SELECT * FROM (…)",
                )  # fmt: skip
            self._add_key(node, found)

    def _of_block(
        self, node: exp.Expression, block: SelectBlock, columns: Columns, binder: ExpressionBinder
    ) -> str:
        """The column that an expression is: of the SELECT list, by place, name or meaning, or a hidden one."""
        names = [name for name, _ in columns]
        known = self._place(node, names) or _named(node, names)
        if known is not None:
            return known
        bound = binder.bind(by_aliases(node, block, binder.scope))
        if not binder.reads_own(bound):
            refuse("ORDER BY cannot read a column of the query around it", self.text, offset_of(node))
        if bound.type == INTERVAL or bound.type.is_nested:
            refuse(f"rows cannot be sorted by a value of type {bound.type}", self.text, offset_of(node))
        if bound.type == NULL:
            bound = cast_to(bound, BIGINT)
        found = next((name for name, expression in columns if expression == bound), None)
        if found is None and block.args.get("distinct"):
            refuse(
                "with DISTINCT, rows are sorted by columns of the SELECT list", self.text, offset_of(node),
                "add it to the SELECT list, or leave DISTINCT out",
            )  # fmt: skip
        return found or self._hidden.setdefault(bound, f"{HIDDEN}{len(self._hidden) + 1}")

    def _place(self, node: exp.Expression, names: Sequence[str]) -> str | None:
        """The column that a number says, or None when it is none."""
        if not isinstance(node, exp.Literal) or node.is_string:
            return None
        if not node.name.isdecimal() or not 1 <= int(node.name) <= len(names):
            refuse(f"the SELECT list has no column {node.name}", self.text, offset_of(node))
        return names[int(node.name) - 1]

    def _add_all(self, node: exp.Expression, names: Sequence[str]) -> None:
        """ORDER BY ALL: by all columns of the SELECT list, from left to right."""
        if len(self.nodes) > 1:
            refuse("ALL stands alone in ORDER BY", self.text, offset_of(node), "it means all columns")
        for name in names:
            self._add_key(node, name)

    def _add_key(self, node: exp.Expression, column: str) -> None:
        if all(key.column != column for key in self.keys):  # the second time it decides nothing
            self.keys.append(SortKey(column, bool(node.args.get("desc")), bool(node.args.get("nulls_first"))))

    def _add_partition(self, column: str) -> None:
        if column not in self.partition_by:
            self.partition_by.append(column)


def bind_sorted(binder: QueryBinder, tree: Sorted, outer: Scope | None) -> Node:
    """The first rows of a query, and at the top of its plan the order in which they are read."""
    order = Order(binder.text, tree.args.get("order") or ())
    if isinstance(tree.this, SelectBlock):
        plan = binder.block(tree.this, outer, order)
    else:
        plan = binder.query(tree.this, outer)
        order.of_columns(plan.schema.names)
    _check_relation(plan, binder.text, offset_of(tree))
    limit, offset = tree.args.get("limit"), tree.args.get("offset")
    if limit is not None:
        plan = top_n(
            plan, order, int(limit.name), int(offset.name) if offset else 0, binder.text, offset_of(tree)
        )
    elif offset is not None:
        check_bounded("OFFSET", binder.text, offset_of(tree), plan)
        first = top_n(plan, order, int(offset.name), 0, binder.text, offset_of(tree))
        plan = Except(plan, first)
    return OrderBy(plan, tuple(order.keys) or tuple(SortKey(name) for name in plan.schema.names))


def distinct_on(plan: Node, order: Order, block: SelectBlock) -> Node:
    """The first row of each value of the columns of DISTINCT ON."""
    return top_n(plan, order, 1, 0, order.text, offset_of(block), tuple(order.partition_by))


def top_n(
    plan: Node, order: Order, limit: int, offset: int, text: str, at: int, partition_by: tuple[str, ...] = ()
) -> Node:
    """The rows at some places of an order, or of that of each partition."""
    what = "DISTINCT ON" if partition_by else "LIMIT"
    for column in plan.schema:
        if column.type.is_nested:
            refuse(
                f"{what} cannot compare {column.name}, a {column.type}", text, at,
                "rows that agree on the keys are told apart by all other columns",
            )  # fmt: skip
    node = TopN(plan, tuple(order.keys), limit, offset, partition_by)
    check_internal(node, text, at)
    if pattern_of(plan).pattern is not MONOTONIC:
        # Of rows that never leave, those beyond the top never come up: they need not be remembered.
        check_bounded(what, text, at, plan)
    return node


def _check_relation(plan: Node, text: str, at: int) -> None:
    if isinstance(plan, OUTPUT_STREAMS):
        refuse(
            f"{type(plan).__name__} gives a stream, which is in the order of time", text, at,
            f"nearest: {type(plan).__name__}(SELECT … ORDER BY … LIMIT …), the first rows as a stream",
        )  # fmt: skip
    if has_internal(plan):
        refuse(
            "results of INTERNAL windows are a stream, which is in the order of time", text, at,
            "leave INTERNAL out",
        )  # fmt: skip


def _is_all(node: exp.Expression) -> bool:
    return isinstance(node.this, exp.Var)


def _named(node: exp.Expression, names: Sequence[str]) -> str | None:
    """The column of a SELECT list that a bare name means."""
    if isinstance(node, exp.Column) and not node.text("table"):
        return next((name for name in names if same(name, node.name)), None)
    return None
