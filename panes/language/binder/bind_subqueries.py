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
from panes.language.binder.bind_joins import split_equality, with_keys
from panes.language.binder.refusals import check_bounded, check_table_lookup, is_table_only
from panes.language.binder.scope import Scope
from panes.language.parser.syntax import Nested, Output, SelectBlock
from panes.language.positions import offset_of, with_article
from panes.plan.expressions import Call, Column, Expression, columns_of, conjunction, conjuncts
from panes.plan.nodes import AntiJoin, Node, Select, SemiJoin, TableScan

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


def filtered(binder: QueryBinder, plan: Node, predicate: Predicate, scope: Scope) -> Node:
    """The plan, less the rows that the predicate does not let through."""
    block = _relation_of(predicate.query)
    if isinstance(block, SelectBlock) and not is_grouped(block):
        inner, right, correlated = binder.source(block, scope)
        # EXISTS does not look at the SELECT list, but a mistake in it is one all the same.
        subject = _subject(binder, predicate, binder.projected(right, block, inner).columns)
    else:
        correlated = []
        right = renamed(binder.query(block, scope), scope.prefix_for("subquery"))
        subject = _subject(binder, predicate, [(f.name, Column(f.type, f.name)) for f in right.schema])
    right, taken = _bare_table(right)
    left_names = frozenset(plan.schema.names)
    pairs, residual = [], list(taken)
    for condition in correlated:
        _check_reach(binder, condition, left_names, right, predicate)
        pair = split_equality(condition, left_names, right)
        if pair is not None:
            pairs.append(pair)
        else:
            residual.append(condition)
    if subject is not None:
        assert predicate.subject is not None
        pairs.append(_in_pair(binder, predicate, subject, scope, right))
    null_aware = predicate.negated and predicate.subject is not None
    if null_aware and correlated:
        binder.refuse(
            "NOT IN with a subquery that reads the query around it is not supported", predicate.node,
            "nearest: NOT EXISTS (SELECT * FROM … WHERE inner = outer)",
        )  # fmt: skip
    _check_sides(binder, plan, right, predicate)
    plan, right, left_keys, right_keys = with_keys(plan, right, pairs)
    if predicate.negated:
        return AntiJoin(
            plan, right, left_keys, right_keys, conjunction(tuple(residual)), null_aware=null_aware
        )
    return SemiJoin(plan, right, left_keys, right_keys, conjunction(tuple(residual)))


def _relation_of(query: exp.Expression) -> exp.Expression:
    """The query without parentheses and without an Rstream around it: inside EXISTS the relation is meant."""
    while isinstance(query, Nested) or (
        isinstance(query, Output) and query.args["kind"] == "Rstream" and not query.args.get("restore")
    ):
        query = query.this
    return query


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


def _bare_table(right: Node) -> tuple[Node, tuple[Expression, ...]]:
    """A table is looked up in itself: the conditions on it go into the residual."""
    if isinstance(right, Select) and isinstance(right.child, TableScan):
        return right.child, conjuncts(right.predicate)
    return right, ()


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
    binder: QueryBinder, predicate: Predicate, subject: Expression, scope: Scope, right: Node
) -> tuple[Expression, Expression]:
    assert predicate.subject is not None
    expressions = ExpressionBinder(scope)
    left = expressions.bind(predicate.subject)
    if not columns_of(left) or not all(map(scope.is_own, columns_of(left))):
        binder.refuse("the left side of IN (subquery) needs a column of its own query", predicate.subject)
    equality = expressions.call("eq", (left, subject), predicate.node)
    assert isinstance(equality, Call)
    one, other = equality.args
    if isinstance(right, TableScan) and not isinstance(other, Column):
        if isinstance(subject, Column):
            binder.refuse(
                f"a table is looked up in its own types, and {subject.name} is {with_article(subject.type)}",
                predicate.subject, f"cast the left side of IN to {subject.type}",
            )  # fmt: skip
        binder.refuse("a subquery of IN over a table gives one of its columns as it is", predicate.query)
    return one, other


def _check_sides(binder: QueryBinder, left: Node, right: Node, predicate: Predicate) -> None:
    what = "IN" if predicate.subject is not None else "EXISTS"
    offset = offset_of(predicate.node)
    if isinstance(right, TableScan):
        check_table_lookup(left, right, binder.text, offset)
        return
    if is_table_only(right) and not is_table_only(left):
        binder.refuse(
            f"the subquery of {what} must read the table alone, with conditions but no joins or groups",
            predicate.query,
        )
    if is_table_only(left) and not is_table_only(right):
        binder.refuse(f"{what} over a stream needs a stream in FROM as well", predicate.node)
    check_bounded(f"{'NOT ' * predicate.negated}{what}", binder.text, offset, left, right)
