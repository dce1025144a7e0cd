"""[NOT] EXISTS and [NOT] IN (subquery): semi- and anti-joins.

Equalities between the subquery and the query around it become keys, other conditions that read both stay
with the join as its residual.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from panes.language.binder.bind_expressions import ExpressionBinder
from panes.language.binder.bind_from import renamed
from panes.language.binder.bind_groups import is_grouped
from panes.language.binder.bind_lookup import bind_lookup, is_looked_up
from panes.language.binder.bind_over import has_over
from panes.language.binder.refusals import check_bounded, check_bounded_with_tables, check_with_tables
from panes.language.binder.scope import Scope
from panes.language.parser.syntax import Nested, Output, SelectBlock, Sorted
from panes.language.positions import offset_of
from panes.plan.expressions import Call, Column, Expression, columns_of, conjunction
from panes.plan.join_keys import split_equality, with_keys
from panes.plan.nodes import AntiJoin, Node, SemiJoin

if TYPE_CHECKING:
    from panes.language.binder.bind_query import QueryBinder


@dataclass(frozen=True)
class Predicate:
    """A conjunct of WHERE with a subquery; `subject` is the left side of IN."""

    node: exp.Expression
    query: exp.Expression
    subject: exp.Expression | None
    negated: bool


def as_predicate(node: exp.Expression) -> Predicate | None:
    """The predicate that a conjunct is, or None when it has no subquery at its top."""
    negated, inside = False, node
    while isinstance(inside, (exp.Not, exp.Paren)):
        negated ^= isinstance(inside, exp.Not)
        inside = inside.this
    if isinstance(inside, exp.Exists):
        return Predicate(inside, inside.this, None, negated)
    if isinstance(inside, exp.In) and inside.args.get("query"):
        return Predicate(inside, inside.args["query"], inside.this, negated)
    return None


def conjuncts(node: exp.Expression) -> list[exp.Expression]:
    """The parts of `a AND b AND c`, from left to right, also inside parentheses."""
    stack, parts = [node], []
    while stack:
        part = stack.pop()
        if isinstance(part, exp.And):
            stack += [part.expression, part.this]
        elif isinstance(part, exp.Paren) and isinstance(
            part.this, (exp.And, exp.Exists, exp.In, exp.Not, exp.Paren)
        ):
            stack.append(part.this)
        else:
            parts.append(part)
    return parts


def filtered(binder: QueryBinder, plan: Node, predicate: Predicate, scope: Scope) -> Node:
    """The plan, less the rows that the predicate does not let through."""
    block = relation_of(predicate)
    if isinstance(block, SelectBlock) and not is_grouped(block) and not has_over(block):
        inner, right, correlated = binder.source(block, scope)
        # EXISTS does not look at the SELECT list, but a mistake in it is one all the same.
        subject = _subject(binder, predicate, binder.projected(right, block, inner).columns)
    else:
        correlated = []
        right = renamed(binder.query(block, scope), scope.prefix_for("subquery"))
        subject = _subject(binder, predicate, [(f.name, Column(f.type, f.name)) for f in right.schema])
    left_names = frozenset(plan.schema.names)
    pairs, residual = [], []
    for condition in correlated:
        _check_reach(binder, condition, left_names, right, predicate)
        pair = split_equality(condition, left_names, right)
        if pair is not None:
            pairs.append(pair)
        else:
            residual.append(condition)
    if subject is not None:
        assert predicate.subject is not None
        pairs.append(_in_pair(binder, predicate, subject, scope))
    null_aware = predicate.negated and predicate.subject is not None
    if null_aware and correlated:
        binder.refuse(
            "NOT IN with a subquery that reads the query around it is not supported", predicate.node,
            "nearest: NOT EXISTS (SELECT * FROM … WHERE inner = outer)",
        )  # fmt: skip
    sides = with_keys(plan, right, pairs)
    if not predicate.negated:
        return _met(binder, SemiJoin(*sides, conjunction(tuple(residual))), predicate)
    anti_join = AntiJoin(*sides, conjunction(tuple(residual)), null_aware=null_aware)
    return _met(binder, anti_join, predicate)


def _met(binder: QueryBinder, node: SemiJoin | AntiJoin, predicate: Predicate) -> Node:
    """The semi- or anti-join, as a lookup where it is one."""
    offset = offset_of(predicate.node)
    if is_looked_up(node.left, node.right):
        return bind_lookup(node, binder.catalog, binder.text, offset)
    check_with_tables(node.left, node.right, binder.text, offset)
    check_bounded_with_tables(node.left, node.right, binder.text, offset)
    what = f"{'NOT ' * predicate.negated}{'IN' if predicate.subject is not None else 'EXISTS'}"
    check_bounded(what, binder.text, offset, node.left, node.right)
    return node


def relation_of(predicate: Predicate) -> exp.Expression:
    """The query without parentheses and without an Rstream around it: inside EXISTS the relation is meant. Whether
    it has a row, its first row tells."""
    query = predicate.query
    while (
        isinstance(query, Nested)
        or (isinstance(query, Output) and query.args["kind"] == "Rstream" and not query.args.get("restore"))
        or (predicate.subject is None and _has_first_row(query))
    ):
        query = query.this
    return query


def _has_first_row(query: exp.Expression) -> bool:
    """Whether a query is limited to its first rows, as in EXISTS (SELECT … LIMIT 1)."""
    if not isinstance(query, Sorted) or query.args.get("order") or query.args.get("offset"):
        return False
    return int(query.args["limit"].name) > 0


def _subject(
    binder: QueryBinder, predicate: Predicate, columns: Sequence[tuple[str, Expression]]
) -> Expression | None:
    """The expression that a subquery of IN gives, over its own columns; None for EXISTS."""
    if predicate.subject is None:
        return None
    if len(columns) != 1:
        binder.refuse("a subquery of IN gives one column", predicate.query)
    ((_, subject),) = columns
    if not columns_of(subject):
        binder.refuse("a subquery of IN gives a column, not a constant", predicate.query)
    return subject


def _check_reach(
    binder: QueryBinder, condition: Expression, left_names: frozenset[str], right: Node, predicate: Predicate
) -> None:
    for name in columns_of(condition):
        if name not in left_names and name not in right.schema:
            binder.refuse(
                f"a subquery reads only the query directly around it, and {name} is further out",
                predicate.query,
            )


def _in_pair(
    binder: QueryBinder, predicate: Predicate, subject: Expression, scope: Scope
) -> tuple[Expression, Expression]:
    assert predicate.subject is not None
    expressions = ExpressionBinder(scope)
    left = expressions.bind(predicate.subject)
    if not columns_of(left) or not all(map(scope.is_own, columns_of(left))):
        binder.refuse("the left side of IN (subquery) needs a column of its own query", predicate.subject)
    equality = expressions.call("eq", (left, subject), predicate.node)
    assert isinstance(equality, Call)
    one, other = equality.args
    return one, other
