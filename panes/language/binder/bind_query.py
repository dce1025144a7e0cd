"""Queries: from the syntax tree to a logical plan.

A SELECT block becomes, from the bottom up: what stands in FROM, seen through its windows; selections; joins;
semi- and anti-joins for EXISTS and IN; GROUP BY; HAVING; OVER; QUALIFY; the projection, which gives the columns
their final names; DISTINCT; the first rows of an order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import NoReturn

from sqlglot import exp

from panes.language.binder.aggregate_of_results import has_windowed_call, over_last_results
from panes.language.binder.bind_except_by import bind_except_by
from panes.language.binder.bind_expressions import ExpressionBinder, cast_to
from panes.language.binder.bind_from import as_stream, bind_from
from panes.language.binder.bind_groups import GroupedBinder, bind_keys, group, is_grouped, unaliased
from panes.language.binder.bind_joins import Part, bounded_by_now, join_tree
from panes.language.binder.bind_lookup import with_times
from panes.language.binder.bind_order import Order, bind_sorted, distinct_on
from panes.language.binder.bind_over import OverBinder
from panes.language.binder.bind_scalar_subqueries import (
    Scalar,
    bind_scalar,
    filtered_by_scalars,
    with_scalars,
)
from panes.language.binder.bind_star import bind_star
from panes.language.binder.bind_subqueries import Predicate, as_predicate, conjuncts, filtered
from panes.language.binder.bind_values import ONE_ROW, bind_values
from panes.language.binder.counted_subqueries import counted_subqueries
from panes.language.binder.expansion import Expansion
from panes.language.binder.group_by_all import group_by_all, has_all
from panes.language.binder.grouping_sets import grouping_sets
from panes.language.binder.known_relations import KnownRelations
from panes.language.binder.mark_own_functions import mark_own_functions
from panes.language.binder.refusals import (
    check_aggregates,
    check_always_on,
    check_bounded,
    check_has_times,
    check_internal,
    check_restore,
    check_with_tables,
    has_slide,
)
from panes.language.binder.scope import Scope
from panes.language.binder.share_of_window import has_share, with_shares_written
from panes.language.names import same
from panes.language.parser.syntax import (
    Nested,
    Output,
    OverCall,
    SelectBlock,
    SetOperation,
    Sorted,
    ValuesBlock,
)
from panes.language.positions import did_you_mean, offset_of, refuse
from panes.language.statements import CreateDerivedStream, CreateQuery, SelectQuery
from panes.plan import nodes
from panes.plan.expressions import Aggregate, Column, Expression, Literal, columns_of, conjunction
from panes.plan.expressions import conjuncts as conjuncts_of
from panes.plan.nodes import Distinct, Except, Intersect, Node, Project, Select, Union
from panes.plan.now import reads_now, temporal_filter
from panes.plan.order_of_answer import shown, without_order
from panes.plan.patterns import MONOTONIC, answer_pattern, has_internal
from panes.plan.schema import Field
from panes.plan.slides import slides_of
from panes.plan.types import BIGINT, INTERVAL, NULL, Type, wider
from panes.plan.walk import is_table_only
from panes.plan.windows import RangeWindow, RowsWindow


class QueryBinder:
    """Binds one query, and the subqueries, derived streams and registered queries inside it."""

    def __init__(self, catalog: KnownRelations, text: str, expansion: Expansion | None = None) -> None:
        """`expansion` says in which texts this one stands; None: it is the whole."""
        self.catalog = catalog
        self.text = text
        self.expansion = expansion or Expansion()

    def query(self, tree: exp.Expression, outer: Scope | None = None) -> Node:
        """The plan of a query as a relation; its columns have the names that users see."""
        return without_order(self.in_order(tree, outer))

    def in_order(self, tree: exp.Expression, outer: Scope | None = None) -> Node:
        """The same, with the order in which its answer is read at the top."""
        mark_own_functions(tree, self.catalog)
        tree = counted_subqueries(tree)
        match tree:
            case Nested():
                return self.in_order(tree.this, outer)
            case Sorted():
                return bind_sorted(self, tree, outer)
            case Output():
                return self._output(tree, outer)
            case SetOperation():
                return self._set_operation(tree, outer)
            case SelectBlock():
                return shown(self.block(tree, outer, Order(self.text)))
            case ValuesBlock():
                return bind_values(tree, self.text)
        raise TypeError(f"{type(tree).__name__} is not a query")

    def inside(self, read: CreateDerivedStream | CreateQuery, name: exp.Expression) -> QueryBinder:
        """The binder of the text of a derived stream or registered query that stands for its name in FROM."""
        why_not = self.expansion.why_not(read)
        if why_not is not None:
            self.refuse(why_not[0], name, why_not[1])
        return QueryBinder(self.catalog, read.query.text, self.expansion.inside(read))

    def stream(self, query: SelectQuery) -> Node:
        """The plan of a derived stream: one that only grows."""
        plan = self.query(query.tree)
        check_has_times(plan, query.text, offset_of(query.tree))
        check_always_on("a derived stream", plan, query.text, offset_of(query.tree))
        pattern, reason = answer_pattern(plan)
        if pattern is not MONOTONIC:
            self.refuse(
                f"a derived stream only grows, and this is a relation that changes ({reason})", query.tree,
                "put Istream(…) around it, make its windows INTERNAL, or leave the windows to its readers",
            )  # fmt: skip
        return as_stream(plan) if has_internal(plan) else plan

    def refuse(self, problem: str, node: exp.Expression, hint: str | None = None) -> NoReturn:
        refuse(problem, self.text, offset_of(node), hint)

    # SELECT

    def block(self, block: SelectBlock, outer: Scope | None, order: Order) -> Node:
        """The plan of a SELECT, and beside its columns those that it is sorted by and does not show."""
        if has_windowed_call(block):
            block = over_last_results(block, self.text)
        if has_share(block):
            block = with_shares_written(block, self.text)
        if has_all(block):
            block = group_by_all(block, self.text)
        scope, plan, correlated = self.source(block, outer)
        if correlated:
            self.refuse(
                "a subquery with groups, LIMIT, or in a set operation, cannot read the query around it", block,
                "join a derived table in FROM instead",
            )  # fmt: skip
        order.on = block.args.get("distinct_on") or ()
        of_list = self._grouped if is_grouped(block) else self.projected
        plan = of_list(plan, block, scope, order)
        if block.args.get("distinct"):
            plan = self._distinct(plan, block)
        return distinct_on(plan, order, block) if order.on else plan

    def source(self, block: SelectBlock, outer: Scope | None) -> tuple[Scope, Node, list[Expression]]:
        """FROM and WHERE of a block, and the conditions of WHERE that read the query around it."""
        scope = Scope(self.text, outer=outer, window=block.args.get("window"), bind_scalar=self._scalar)
        items = bind_from(self, block, scope)
        conditions = items.conditions
        predicates: list[Predicate] = []
        where = block.args.get("where")
        parts_of_where = conjuncts(where) if where is not None else []
        binder = ExpressionBinder(scope, takes_subqueries=True)
        binder.check_length(len(parts_of_where), block)
        for node in parts_of_where:
            predicate = as_predicate(node)
            if predicate is not None:
                predicates.append(predicate)
            else:
                conditions += conjuncts_of(binder.condition(node, "WHERE"))  # BETWEEN is two of them
        correlated = [c for c in conditions if not all(map(scope.is_own, columns_of(c)))]
        with_values = [c for c in conditions if columns_of(c) & scope.computed and c not in correlated]
        at_now = [c for c in conditions if reads_now(c) and c not in correlated and c not in with_values]
        before = [c for c in conditions if c not in correlated and c not in with_values and c not in at_now]
        parts = items.parts or [Part(ONE_ROW, offset_of(block))]
        parts, at_now = bounded_by_now(parts, at_now)
        plan = self.at_now(join_tree(parts, before, self.catalog, self.text), at_now, block)
        plan = filtered_by_scalars(self, plan, binder.scalars, with_values)
        for predicate in predicates:
            plan = filtered(self, plan, predicate, scope)
            check_internal(plan, self.text, offset_of(predicate.node))
        return scope, plan, correlated

    def at_now(self, plan: Node, conditions: Sequence[Expression], block: exp.Expression | None) -> Node:
        """The rows for which conditions on the instant of the answer hold. What changes at slides alone is asked
        at these."""
        slides = slides_of(plan)
        for condition in conditions:
            found = temporal_filter(plan, condition, slides)
            plan = Select(plan, condition) if found is None else found
            if found is not None and block is not None:
                check_internal(plan, self.text, offset_of(block))
        return plan

    def _grouped(self, plan: Node, block: SelectBlock, scope: Scope, order: Order) -> Node:
        """GROUP BY, HAVING and the projection above them."""
        for item in block.expressions:
            if isinstance(item, exp.Star) or (
                isinstance(item, exp.Column) and isinstance(item.this, exp.Star)
            ):
                self.refuse("* cannot stand next to GROUP BY or an aggregate", item, "name the columns")
        sets = grouping_sets(block.args.get("group") or (), self.text)
        keys = bind_keys([key for some in sets for key in some], block, scope)
        binder = GroupedBinder(scope, keys)
        over = OverBinder(binder, block)
        columns = self._named([(item, over.bind(unaliased(item))) for item in block.expressions])
        columns = order.with_hidden(block, columns, over)
        having = block.args.get("having")
        condition = binder.having(having, block) if having is not None else None
        qualify = over.qualify()
        if not keys and not binder.aggregates:
            self.refuse("HAVING needs GROUP BY or an aggregate", block, "put the condition in WHERE")
        plan, aggregates = with_times(
            with_scalars(self, plan, binder.below.scalars),
            list(binder.aggregates.values()), self.catalog, self.text, binder.places,
        )  # fmt: skip
        below = over.columns_read(columns, qualify)
        parts = []
        for some in sets:
            names = {key: keys[key] for key in bind_keys(some, block, scope)}
            parts.append(self._grouped_by(plan, names, aggregates, binder, condition, below or columns))
        groups = reduce(Union, parts)
        return Project(over.applied(groups, columns, qualify), columns) if below else groups

    def _grouped_by(
        self,
        plan: Node,
        keys: Mapping[Expression, str],
        aggregates: Sequence[Aggregate],
        binder: GroupedBinder,
        condition: Expression | None,
        columns: tuple[tuple[str, Expression], ...],
    ) -> Node:
        """The groups by some of the keys of a GROUP BY."""
        if not keys and not aggregates:
            aggregates = [Aggregate("count(*)", "count", None, BIGINT)]  # one row for all rows
        grouped = group(plan, keys, aggregates)
        check_aggregates(grouped, self.text, binder.places)
        plan = with_scalars(self, grouped, binder.scalars)
        names = keys.values()
        if condition is not None:
            asked = conjuncts_of(binder.in_set(names, condition))
            plain = conjunction(tuple(part for part in asked if not reads_now(part)))
            plan = plan if plain is None else Select(plan, plain)
            plan = self.at_now(plan, [part for part in asked if reads_now(part)], None)
        return Project(plan, tuple((name, binder.in_set(names, e)) for name, e in columns))

    def projected(self, plan: Node, block: SelectBlock, scope: Scope, order: Order | None = None) -> Project:
        """The SELECT list of a block without groups."""
        items: list[tuple[exp.Expression, Expression]] = []
        over = OverBinder(ExpressionBinder(scope, takes_subqueries=True), block)
        for item in block.expressions:
            starred = self._star(item, scope)
            if starred is not None:
                items += bind_star(item, starred, over, self.text)
            else:
                bound = over.bind(unaliased(item))
                if not over.reads_own(bound):
                    self.refuse("a SELECT list cannot read a column of the query around it", item)
                items.append((item, bound))
        columns = self._named(items)
        if order is not None:
            columns = order.with_hidden(block, columns, over)
        qualify = over.qualify()
        return Project(over.applied(with_scalars(self, plan, over.scalars), columns, qualify), columns)

    def _scalar(self, node: Nested, scope: Scope) -> Scalar:
        return bind_scalar(self, node, scope)

    def _star(self, item: exp.Expression, scope: Scope) -> list[tuple[exp.Expression, Expression]] | None:
        if isinstance(item, exp.Star):
            relations = scope.relations
            if not relations:
                self.refuse("* means the columns of FROM, and there is none", item, "write FROM …")
        elif isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
            relations = [r for r in scope.relations if same(r.alias, item.text("table"))]
            if not relations:
                hint = did_you_mean(item.text("table"), [r.alias for r in scope.relations])
                self.refuse(f"nothing in FROM is called {item.text('table')!r}", item, hint)
        else:
            return None
        qualified = isinstance(item, exp.Column)
        return [
            (exp.column(name), column if qualified else scope.bare(column))
            for relation in relations
            for name, column in relation.columns
            if qualified or column.name not in scope.hidden
        ]

    def _named(self, items: list[tuple[exp.Expression, Expression]]) -> tuple[tuple[str, Expression], ...]:
        """Every expression with the name users see: unique, and never that of a bare NULL or INTERVAL."""
        taken: set[str] = set()
        columns: list[tuple[str, Expression]] = []
        for place, (node, expression) in enumerate(items, start=1):
            if expression.type == INTERVAL:
                self.refuse("a column cannot hold an INTERVAL", node, "compare it, or add it to a TIMESTAMP")
            if expression.type == NULL:
                expression = cast_to(expression, BIGINT)
            wanted = name = _name_of(node, place)
            if name.startswith("_"):
                self.refuse(
                    "column names do not begin with an underscore", node,
                    f"such names are used inside; call it {name.lstrip('_') or 'value'!r}",
                )  # fmt: skip
            number = 0
            while name.casefold() in taken:
                number += 1
                name = f"{wanted}_{number}"
            taken.add(name.casefold())
            columns.append((name, expression))
        return tuple(columns)

    def _distinct(self, plan: Node, node: exp.Expression) -> Node:
        for column in plan.schema:
            if column.type.is_nested:
                hint = "take an item of it, or a field"
                self.refuse(f"DISTINCT cannot compare {column.name}, a {column.type}", node, hint)
        distinct = Distinct(plan)
        check_internal(distinct, self.text, offset_of(node))
        return distinct

    # Set operations

    def _set_operation(self, tree: SetOperation, outer: Scope | None) -> Node:
        left, right = self.query(tree.this, outer), self.query(tree.expression, outer)
        kind, keep_all = tree.args["kind"], tree.args.get("all")
        if tree.args.get("by"):
            return bind_except_by(self, tree, left, right)
        left, right = self._same_types(left, right, tree)
        check_with_tables(left, right, self.text, offset_of(tree))
        if kind == "UNION":
            union = Union(left, right)
            return union if keep_all else self._distinct(union, tree)
        if not keep_all:
            left, right = self._distinct(left, tree), self._distinct(right, tree)
        check_bounded(kind, self.text, offset_of(tree), left, right)
        plan = Intersect(left, right) if kind == "INTERSECT" else Except(left, right)
        check_internal(plan, self.text, offset_of(tree))
        return plan

    def _same_types(self, left: Node, right: Node, tree: SetOperation) -> tuple[Node, Node]:
        kind = tree.args["kind"]
        if len(left.schema) != len(right.schema):
            self.refuse(
                f"the sides of {kind} have {len(left.schema)} and {len(right.schema)} columns", tree,
                "columns are matched by place; NULL AS name stands for one that a side does not have",
            )  # fmt: skip
        types: list[Type] = []
        for one, other in zip(left.schema, right.schema, strict=True):
            common = wider(_type_of(left, one), _type_of(right, other))
            if common is None:
                self.refuse(
                    f"{kind} cannot bring {one.name} {one.type} and {other.name} {other.type} to one type",
                    tree,
                )
            types.append(BIGINT if common == NULL else common)
        return _recast(left, types), _recast(right, types)

    # Output operators

    def _output(self, tree: Output, outer: Scope | None) -> Node:
        kind, restore = tree.args["kind"], bool(tree.args.get("restore"))
        child = self.query(tree.this, outer)
        if isinstance(child, (nodes.Istream, nodes.Dstream, nodes.Rstream, nodes.Wstream)):
            self.refuse(f"{kind} of {type(child).__name__} makes no sense: one is enough", tree)
        if is_table_only(child):
            self.refuse(f"{kind} works on streams, not on tables alone", tree)
        check_always_on(kind, child, self.text, offset_of(tree))
        if restore:
            check_restore(child, self.text, offset_of(tree))
        match kind:
            case "Istream":
                return nodes.Istream(child, restore)
            case "Dstream":
                return nodes.Dstream(child)
            case "Rstream":
                return nodes.Rstream(child, restore)
        return self._wstream(tree, child)

    def _wstream(self, tree: Output, child: Node) -> Node:
        clause = tree.args["window"]
        spec = clause.args["spec"]
        allowed = isinstance(spec, (RangeWindow, RowsWindow)) and spec == (
            RangeWindow(spec.range_us) if isinstance(spec, RangeWindow) else RowsWindow(spec.rows)
        )
        if not allowed:
            self.refuse("Wstream takes [ROWS n] or [RANGE length] alone", clause)
        if has_slide(child):
            self.refuse(
                "Wstream does not work with SLIDE: when many results come at once, which are the last n "
                "is not defined", tree, "leave SLIDE out, or put the window around a derived table",
            )  # fmt: skip
        return nodes.Wstream(child, spec)


def _name_of(node: exp.Expression, place: int) -> str:
    """The name of a column of a SELECT list: its alias, its column or field, its function, or its place."""
    if isinstance(node, exp.Alias):
        return node.alias
    while isinstance(node, (exp.Paren, exp.Cast, exp.Filter, OverCall)):
        node = node.this
    if isinstance(node, (exp.Column, exp.Anonymous)):
        return node.name
    if isinstance(node, exp.Dot):
        return str(node.expression.name)
    return f"column_{place}"


def _type_of(side: Node, field: Field) -> Type:
    """The type of a column of a set operation: a NULL takes that of the other side."""
    expression = dict(side.columns)[field.name] if isinstance(side, Project) else None
    is_null = isinstance(expression, Literal) and expression.value is None
    return NULL if is_null else field.type


def _recast(node: Node, types: list[Type]) -> Node:
    if node.schema.types == tuple(types):
        return node
    columns = tuple(
        (f.name, cast_to(Column(f.type, f.name), want)) for f, want in zip(node.schema, types, strict=True)
    )
    if isinstance(node, Project):
        inside = dict(node.columns)
        return replace(node, columns=tuple((name, cast_to(inside[name], e.type)) for name, e in columns))
    return Project(node, columns)
