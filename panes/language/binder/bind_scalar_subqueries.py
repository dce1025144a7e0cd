"""Subqueries that stand for a value: joins with the one row that each gives.

One that reads its own streams and tables alone is an aggregate over all their rows; every row is joined with it.
One that is tied to the query around it by equalities is grouped by its side of them, and a row without a group has
what the aggregates give for no rows: NULL, or 0 for count.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from sqlglot import exp

from panes.language.binder.bind_from import renamed
from panes.language.binder.bind_groups import GroupedBinder, group, is_grouped, unaliased
from panes.language.binder.bind_lookup import with_times
from panes.language.binder.bind_over import has_over
from panes.language.binder.refusals import (
    check_aggregates,
    check_bounded,
    check_bounded_with_tables,
    check_internal,
    check_with_tables,
)
from panes.language.binder.scope import Scope
from panes.language.parser.syntax import Nested, SelectBlock, Sorted
from panes.language.positions import offset_of
from panes.plan.expressions import Aggregate, Call, Case, Column, Expression, Literal, columns_of, substitute
from panes.plan.join_keys import split_equality, with_keys
from panes.plan.nodes import Join, Node, OuterJoin, Project
from panes.plan.selected import selected
from panes.plan.types import BIGINT
from panes.plan.unused import unused
from panes.plan.walk import is_table_only

if TYPE_CHECKING:
    from panes.language.binder.bind_query import QueryBinder

_ZERO_OF_NOTHING = ("count", "approx_count_distinct")
"""The aggregates that are not NULL where there are no rows."""


@dataclass(frozen=True)
class Scalar:
    """A subquery that stands for a value."""

    node: Nested
    relation: Node
    """What the query around it is joined with."""
    pairs: tuple[tuple[Expression, Expression], ...]
    """The keys of the join: an expression of the query around it, and a column of the relation."""
    value: Expression
    """The value, over the columns of the relation."""
    may_be_empty: bool = False
    """Whether the relation may have no row: the value is NULL then."""
    ties: tuple[tuple[Expression, Expression], ...] = ()
    """Equalities of WHERE between the query around it and the relation: rows without them are left out."""


def bind_scalar(binder: QueryBinder, node: Nested, scope: Scope) -> Scalar:
    """A subquery in an expression of the scope; refused when it may give more than one row."""
    if _is_limited(node):
        return _first_row(binder, node, scope)
    block = _block(binder, node)
    inner, plan, correlated = binder.source(block, scope)
    values = GroupedBinder(inner, {})
    value = values.bind(unaliased(block.expressions[0]))
    having = block.args.get("having")
    condition = values.having(having, block) if having is not None else None
    if not values.aggregates:
        _refuse_several(binder, node)
    keys = _keys(binder, correlated, scope, plan, node)
    if keys and values.scalars:
        binder.refuse(
            "a subquery inside this one cannot stand beside its aggregates", values.scalars[0].node,
            "join it in FROM instead",
        )  # fmt: skip
    plan = with_scalars(binder, plan, values.below.scalars)
    prefix = scope.next_subquery()
    names: dict[Expression, str] = {}
    for inside in dict.fromkeys(keys.values()):
        taken = [*plan.schema.names, *names.values()]
        names[inside] = inside.name if isinstance(inside, Column) else unused(str(inside), taken)
    plan, timed = with_times(
        plan, list(values.aggregates.values()), binder.catalog, binder.text, values.places
    )
    aggregates = [replace(a, name=f"{prefix}.{a.name}") for a in timed]
    grouped = group(plan, names, aggregates)
    check_aggregates(grouped, binder.text, {f"{prefix}.{name}": at for name, at in values.places.items()})
    relation = _with_own_keys(with_scalars(binder, grouped, values.scalars), set(names.values()), prefix)
    scope.computed.update(relation.schema.names)
    results: dict[str, Expression] = {f.name: Column(f.type, f.name) for f in relation.schema}
    for known, aggregate in zip(values.aggregates, aggregates, strict=True):
        column = results[aggregate.name]
        results[known] = _or_zero(aggregate, column) if keys else column
    value = substitute(value, results)
    if condition is not None:
        value = Case(value.type, ((substitute(condition, results), value),), Literal(value.type, None))
    pairs = tuple((outside, results[f"{prefix}.{names[inside]}"]) for outside, inside in keys.items())
    return Scalar(node, relation, pairs, value)


def _is_limited(node: Nested) -> bool:
    """Whether a subquery says itself that it gives one row at most."""
    tree = _inside(node)
    limit = tree.args.get("limit") if isinstance(tree, Sorted) else None
    return limit is not None and int(limit.name) <= 1


def _first_row(binder: QueryBinder, node: Nested, scope: Scope) -> Scalar:
    """A subquery with LIMIT 1; the value is NULL while it gives no row."""
    plan = binder.query(_inside(node), scope)
    if len(plan.schema) != 1:
        binder.refuse("a subquery that stands for a value gives one column", node)
    relation = renamed(plan, scope.next_subquery())
    scope.computed.update(relation.schema.names)
    (column,) = relation.schema
    return Scalar(node, relation, (), Column(column.type, column.name), may_be_empty=True)


def _inside(node: Nested) -> exp.Expression:
    """The query in parentheses."""
    tree: exp.Expression = node
    while isinstance(tree, Nested):
        tree = tree.this
    return tree


def _with_own_keys(node: Node, keys: Set[str], prefix: str) -> Node:
    """The groups of a subquery, whose keys have names that no other subquery has."""
    if not keys:
        return node
    columns = ((f"{prefix}.{f.name}" if f.name in keys else f.name, f) for f in node.schema)
    return Project(node, tuple((name, Column(f.type, f.name)) for name, f in columns))


def with_scalars(binder: QueryBinder, plan: Node, scalars: Sequence[Scalar]) -> Node:
    """The plan with the columns that the values of subqueries are computed from."""
    for scalar in scalars:
        plan = _joined(binder, plan, scalar)
    return plan


def filtered_by_scalars(
    binder: QueryBinder, plan: Node, scalars: Sequence[Scalar], conditions: Sequence[Expression]
) -> Node:
    """The rows of a plan that pass conditions on the values of subqueries.

    Rows whose own value is that of a subquery meet it by that value, so that others are not looked at.
    """
    rest = list(conditions)
    for scalar in scalars:
        found = [] if scalar.pairs or scalar.may_be_empty else _ties(rest, plan, scalar)
        plan = _joined(binder, plan, replace(scalar, ties=tuple(pair for _, pair in found)))
        rest = [c for c in rest if c not in [condition for condition, _ in found]]
    return selected(plan, rest)


def _ties(
    conditions: Sequence[Expression], plan: Node, scalar: Scalar
) -> list[tuple[Expression, tuple[Expression, Expression]]]:
    """The conditions that are equalities between the plan and the subquery, with their two sides."""
    names = frozenset(plan.schema.names)
    pairs = ((c, split_equality(c, names, scalar.relation)) for c in conditions)
    return [(condition, pair) for condition, pair in pairs if pair is not None]


def _joined(binder: QueryBinder, plan: Node, scalar: Scalar) -> Node:
    offset, relation = offset_of(scalar.node), scalar.relation
    for outside, _ in scalar.pairs:
        for name in columns_of(outside):
            if name not in plan.schema:
                binder.refuse(
                    f"this subquery reads {name}, which is not in GROUP BY or not in the query directly around it",
                    scalar.node, "add it to GROUP BY, or join a derived table in FROM instead",
                )  # fmt: skip
    check_with_tables(plan, relation, binder.text, offset)
    check_bounded_with_tables(plan, relation, binder.text, offset)
    check_bounded("a subquery in an expression", binder.text, offset, plan)
    if scalar.pairs or scalar.may_be_empty:
        join: Node = OuterJoin(*with_keys(plan, relation, scalar.pairs))
    else:
        left, right, left_keys, right_keys = with_keys(plan, relation, scalar.ties)
        join = Join(left, right, left_keys, right_keys)
        if is_table_only(left) and not is_table_only(right):
            join = Join(right, left, right_keys, left_keys)  # a stream stands before a table
    check_internal(join, binder.text, offset)
    return join


def _block(binder: QueryBinder, node: Nested) -> SelectBlock:
    """The SELECT of a subquery, which gives one column of one row."""
    tree = _inside(node)
    if not isinstance(tree, SelectBlock) or tree.args.get("group") or not is_grouped(tree):
        _refuse_several(binder, node)
    if has_over(tree):
        binder.refuse(
            "a subquery that stands for a value has no OVER and no QUALIFY", tree,
            "put the query with OVER in its FROM, and wrap the value in max(…)",
        )  # fmt: skip
    if len(tree.expressions) != 1 or isinstance(tree.expressions[0], exp.Star):
        binder.refuse("a subquery that stands for a value gives one column", tree)
    return tree


def _refuse_several(binder: QueryBinder, node: Nested) -> NoReturn:
    binder.refuse(
        "a subquery that stands for a value gives one row, and this one may give several", node,
        "wrap its value in max(…), without GROUP BY, or add LIMIT 1",
    )  # fmt: skip


def _keys(
    binder: QueryBinder, correlated: Sequence[Expression], scope: Scope, plan: Node, node: Nested
) -> dict[Expression, Expression]:
    """Expressions of the query around a subquery, and those of the subquery that are equal to them."""
    keys: dict[Expression, Expression] = {}
    for condition in correlated:
        around = frozenset(name for name in columns_of(condition) if name not in plan.schema)
        pair = split_equality(condition, around, plan)
        if pair is None or pair[0] in keys:
            binder.refuse(
                f"a subquery for a value reads the query around it in equalities alone, and not in {condition}",
                node, "join a derived table in FROM instead",
            )  # fmt: skip
        if not all(map(scope.is_own, around)):
            binder.refuse(
                f"a subquery reads only the query directly around it, and {min(around)} is further out", node
            )
        keys[pair[0]] = pair[1]
    return keys


def _or_zero(aggregate: Aggregate, column: Expression) -> Expression:
    if aggregate.function not in _ZERO_OF_NOTHING:
        return column
    return Call(BIGINT, "coalesce", (column, Literal(BIGINT, 0)))
