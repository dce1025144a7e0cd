"""GROUP BY, aggregates and HAVING."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from panes.errors import SqlError
from panes.language.binder.bind_expressions import ExpressionBinder, cast_to
from panes.language.binder.mark_own_functions import own_function
from panes.language.binder.scope import Scope
from panes.language.names import same
from panes.language.parser.syntax import Nested, OverCall, SelectBlock
from panes.language.positions import offset_of
from panes.language.statements import CreateFunction
from panes.plan.aggregates import AGGREGATE_ALIASES, AGGREGATES
from panes.plan.expressions import (
    Aggregate,
    Case,
    Column,
    Expression,
    Literal,
    columns_of,
    substitute,
    walk,
)
from panes.plan.function_signatures import WrongTypes
from panes.plan.nodes import GroupBy, Node, Project
from panes.plan.types import BIGINT, INT, INTERVAL, NULL
from panes.plan.unused import unused

APPROXIMATED = ("percentile_approx", "approx_percentile")


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a call makes groups: an aggregate with OVER does not."""
    if not isinstance(node, exp.Anonymous) or _is_over(node):
        return False
    own = own_function(node)
    return node.name in AGGREGATES or node.name in AGGREGATE_ALIASES or (own is not None and own.is_aggregate)


def _is_over(call: exp.Expr) -> bool:
    around = call.parent
    if isinstance(around, exp.Filter) and call.arg_key == "this":
        call, around = around, around.parent
    return isinstance(around, OverCall) and call.arg_key == "this"


def unaliased(item: exp.Expression) -> exp.Expression:
    """An item of a SELECT list without its alias."""
    inside: exp.Expression = item.this if isinstance(item, exp.Alias) else item
    return inside


def is_grouped(block: SelectBlock) -> bool:
    """Whether a SELECT has GROUP BY, HAVING or an aggregate."""
    if block.args.get("group") or block.args.get("having"):
        return True
    qualify = block.args.get("qualify")
    items = [*block.expressions, *([] if qualify is None else [qualify])]
    return any(is_aggregate(node) for item in items for node in outside_subqueries(item))


def outside_subqueries(node: exp.Expression) -> Iterator[exp.Expression]:
    """The nodes of an expression; of a subquery in it only the top."""
    for inside in node.walk(prune=lambda inside: isinstance(inside, Nested)):
        assert isinstance(inside, exp.Expression)
        yield inside


class GroupedBinder(ExpressionBinder):
    """Binds what stands above GROUP BY: keys and aggregates are columns there, nothing else is."""

    def __init__(self, scope: Scope, keys: Mapping[Expression, str]) -> None:
        super().__init__(scope, takes_subqueries=True)
        self.below = ExpressionBinder(scope, takes_subqueries=True)
        self.keys = keys
        self.aggregates: dict[str, Aggregate] = {}
        self.places: dict[str, int] = {}
        """Where in the text each aggregate stands."""
        self.groupings: dict[str, tuple[str, ...]] = {}
        """The keys that each grouping(…) asks for, by the name of a column that stands for it."""

    def reads_own(self, _: Expression) -> bool:
        return True  # keys and aggregates do, and there is nothing else

    def having(self, node: exp.Expression, block: SelectBlock) -> Expression:
        """The condition of HAVING, which may name columns of the SELECT list."""
        return self.condition(by_aliases(node, block, self.scope), "HAVING")

    def known(self, node: exp.Expression) -> Expression | None:
        if isinstance(node, exp.Anonymous) and is_aggregate(node):
            return self._aggregate(node)
        if isinstance(node, exp.Anonymous) and node.name == "grouping":
            return self._grouping(node)
        if isinstance(node, exp.Filter) and is_aggregate(node.this):
            return self._aggregate(node.this, self._filter_condition(node))
        if isinstance(node, (exp.Literal, exp.Null, exp.Boolean, exp.Star)):
            return None
        if any(is_aggregate(inside) or isinstance(inside, Nested) for inside in outside_subqueries(node)):
            return None
        try:
            bound = self.below.bind(node)
        except SqlError:
            return None  # binding it the usual way gives the same error, in its own words
        if bound in self.keys:
            return Column(bound.type, self.keys[bound])
        if isinstance(node, exp.Column):
            self.refuse(
                f"{node.name!r} is neither in GROUP BY nor inside an aggregate", node,
                "add it to GROUP BY, or take max() of it",
            )  # fmt: skip
        return None

    def _grouping(self, node: exp.Anonymous) -> Expression:
        """A number with a bit for each argument, the last one lowest: 1 where the rows are not grouped by it."""
        bound = [self.below.bind(arg) for arg in node.expressions]
        if not bound or any(key not in self.keys for key in bound):
            self.refuse("grouping takes keys of GROUP BY", node, "such as grouping(a, b)")
        names = tuple(self.keys[key] for key in bound)
        column = f"grouping({', '.join(names)})"
        self.groupings[column] = names
        return Column(BIGINT, column)

    def in_set(self, keys: Collection[str], expression: Expression) -> Expression:
        """What an expression becomes where rows are grouped by these keys alone: the others are NULL."""
        columns: dict[str, Expression] = {}
        for column in walk(expression):
            if isinstance(column, Column):
                is_key = column.name in self.keys.values() and column.name not in keys
                columns[column.name] = Literal(column.type, None) if is_key else column
                if column.name in self.groupings:
                    bits = "".join(str(int(name not in keys)) for name in self.groupings[column.name])
                    columns[column.name] = Literal(BIGINT, int(bits, 2))
        return substitute(expression, columns)

    def _filter_condition(self, node: exp.Filter) -> Expression:
        """The condition of FILTER."""
        condition = node.expression.this
        for inside in outside_subqueries(condition):
            if is_aggregate(inside):
                self.refuse("FILTER cannot read an aggregate", inside, "put the condition in HAVING")
        bound = self.below.condition(condition, "FILTER")
        if not all(map(self.scope.is_own, columns_of(bound))):
            self.refuse("FILTER cannot read a column of the query around it", node)
        return bound

    def _aggregate(self, node: exp.Anonymous, condition: Expression | None = None) -> Expression:
        """The column of an aggregate of those rows for which the condition is true.

        All aggregates ignore NULL: they are given NULL for the other rows, and count(*) becomes the count of a 1.
        """
        own = own_function(node)
        if own is not None:
            return self._own_aggregate(own, condition, node)
        name = AGGREGATE_ALIASES.get(node.name, node.name)
        function = AGGREGATES[name]
        args = list(node.expressions)
        order = args.pop() if args and isinstance(args[-1], exp.Order) else None
        distinct = bool(args) and isinstance(args[0], exp.Distinct)
        if node.name in APPROXIMATED and len(args) == 3:
            self._check_accuracy(args.pop())
        if distinct:
            if not function.takes_distinct:
                self.refuse(f"{name} does not take DISTINCT", node, "count(DISTINCT x) does")
            args = args[0].expressions
        distinct = distinct or node.name == "collect_set"
        if args and isinstance(args[0], exp.Star):
            if name != "count" or distinct or len(args) > 1:
                self.refuse(f"only count takes *, not {name}{'(DISTINCT …)' * distinct}", node)
            one = None if condition is None else Literal(BIGINT, 1)
            return self._register(Aggregate("", name, one, BIGINT), condition, node)
        columns = 2 if function.takes_two else 1
        if distinct and len(args) > columns + len(function.parameters):
            self.refuse(
                f"{name}(DISTINCT …) takes one value", node,
                f"{name}(*) over a derived table: (SELECT DISTINCT a, b FROM …)",
            )  # fmt: skip
        weight = (
            args.pop()
            if function.takes_weight and len(args) == columns + len(function.parameters) + 1
            else None
        )
        if len(args) != columns + len(function.parameters):
            hint = "count(*) counts rows" if name == "count" else None
            self.refuse(f"{name} is written {function.form}", node, hint)
        bound = [self._argument(arg, node) for arg in args[:columns]]
        parameters = tuple(self._parameter(item).value for item in args[columns:])
        bound += [] if weight is None else [self._argument(weight, node)]
        descending = False
        if order is not None:
            if not function.takes_order:
                self.refuse(f"{name} does not take ORDER BY", order, "array_agg and string_agg do")
            by, descending = self._order(order, bound[0], distinct)
            bound += [] if by is None else [by]
        try:
            signature = function.signature(bound[0].type, parameters, *(arg.type for arg in bound[1:]))
        except WrongTypes as wrong:
            self.refuse(f"{name} {wrong}", node)
        arg, *rest = (cast_to(arg, want) for arg, want in zip(bound, signature.args, strict=False))
        if name == "count_if":
            condition = arg if condition is None else self.call("and", (condition, arg), node)
            return self._register(Aggregate("", "count", Literal(BIGINT, 1), BIGINT), condition, node)
        aggregate = Aggregate(
            "", function.short_for or name, arg, signature.result,
            distinct and name not in ("min", "max"), parameters, rest[0] if rest else None, descending,
        )  # fmt: skip
        return self._register(aggregate, condition, node)

    def _check_accuracy(self, node: exp.Expression) -> None:
        """The accuracy of percentile_approx, which says how wrong it may be: here it is exact."""
        accuracy = self._parameter(node).value
        if isinstance(accuracy, bool) or not isinstance(accuracy, int) or accuracy < 1:
            self.refuse("the accuracy of percentile_approx is a whole number above 0", node)

    def _own_aggregate(
        self, own: CreateFunction, condition: Expression | None, node: exp.Expression
    ) -> Expression:
        """An aggregate of a user, which takes one column."""
        for arg in node.expressions:
            if isinstance(arg, (exp.Distinct, exp.Order)):
                self.refuse(f"{own.name} takes neither DISTINCT nor ORDER BY", arg)
        args = self.own_arguments(own, [self._argument(arg, node) for arg in node.expressions], node)
        aggregate = Aggregate("", own.name, args[0], own.returns, path=own.path)
        return self._register(aggregate, condition, node)

    def _argument(self, node: exp.Expression, call: exp.Expression) -> Expression:
        """A column that is aggregated."""
        inner = next((inside for inside in outside_subqueries(node) if is_aggregate(inside)), None)
        if inner is not None:
            self.refuse("an aggregate cannot stand inside another", inner, "aggregate a derived table")
        arg = self.below.bind(node)
        if not all(map(self.scope.is_own, columns_of(arg))):
            self.refuse("an aggregate cannot read a column of the query around it", call)
        return arg

    def _parameter(self, node: exp.Expression) -> Literal:
        bound = self.below.bind(node)
        if not isinstance(bound, Literal):
            self.refuse("this must be a constant", node)
        return bound

    def _order(self, node: exp.Expression, arg: Expression, distinct: bool) -> tuple[Expression | None, bool]:
        """What ORDER BY inside an aggregate orders by, None for the argument itself, and whether it descends."""
        key, *more = node.expressions
        if more:
            self.refuse("ORDER BY inside an aggregate takes one column", more[0])
        if key.args.get("nulls_first"):
            self.refuse("NULLs come last inside an aggregate", key, "leave NULLS FIRST out")
        by = self._argument(key.this, node)
        if by == arg:
            return None, bool(key.args.get("desc"))
        if distinct:
            self.refuse("DISTINCT and ORDER BY inside an aggregate take the same column", key)
        return by, bool(key.args.get("desc"))

    def _register(
        self, aggregate: Aggregate, condition: Expression | None, node: exp.Expression
    ) -> Expression:
        arg = aggregate.arg
        if arg is not None and condition is not None:
            arg = Case(arg.type, ((condition, arg),), Literal(arg.type, None))
            aggregate = replace(aggregate, arg=arg)
        known = next((a for a in self.aggregates.values() if replace(a, name="") == aggregate), None)
        if known is None:
            # Another one may look the same: max(1) of an INT and of a BIGINT, or max('a') and max('A') to DuckDB.
            shown = unused(str(aggregate), [*self.keys.values(), *self.aggregates])
            known = self.aggregates[shown] = replace(aggregate, name=shown)
            self.places[shown] = offset_of(node)
        return Column(aggregate.type, known.name)


def bind_keys(nodes: Iterable[exp.Expression], block: SelectBlock, scope: Scope) -> dict[Expression, str]:
    """Keys of a GROUP BY (columns, expressions, aliases or places of the SELECT list), and the names
    of the columns that they become."""
    keys: dict[Expression, str] = {}
    binder = ExpressionBinder(scope)
    for node in nodes:
        target = _of_select_list(node, block, scope, binder)
        if any(is_aggregate(inside) for inside in outside_subqueries(target)):
            binder.refuse("GROUP BY cannot take an aggregate", node)
        key = binder.bind(target)
        if key.type == INTERVAL:
            binder.refuse("GROUP BY cannot take an INTERVAL", node)
        if key.type == NULL:
            key = cast_to(key, BIGINT)
        if not all(map(scope.is_own, columns_of(key))):
            binder.refuse("GROUP BY cannot take a column of the query around it", node)
        if key.type.is_nested:
            hint = "take an item of it, or a field"
            binder.refuse(f"GROUP BY cannot take a {key.type}", node, hint)
        if key not in keys:
            # There may be a column with a strange name: c."a + 1" is not c.a + 1.
            taken = [*scope.own_names(), *keys.values()]
            keys[key] = key.name if isinstance(key, Column) else unused(str(key), taken)
    return keys


def _of_select_list(
    node: exp.Expression, block: SelectBlock, scope: Scope, binder: ExpressionBinder
) -> exp.Expression:
    if isinstance(node, exp.Literal) and not node.is_string:
        bound = binder.bind(node)
        assert isinstance(bound, Literal)
        place = bound.value if bound.type == INT else 0
        if not isinstance(place, int) or not 1 <= place <= len(block.expressions):
            binder.refuse(f"the SELECT list has no column {node.name}", node)
        item = block.expressions[place - 1]
        return unaliased(item)
    return _by_alias(node, block, scope) or node


def by_aliases(node: exp.Expression, block: SelectBlock, scope: Scope) -> exp.Expression:
    """An expression with what its names stand for in the SELECT list."""

    def named(inside: exp.Expr) -> exp.Expr:
        target = _by_alias(inside, block, scope)
        return inside if target is None else target.copy()

    meant = node.transform(named)
    assert isinstance(meant, exp.Expression)
    return meant


def _by_alias(node: exp.Expr, block: SelectBlock, scope: Scope) -> exp.Expression | None:
    """What a bare name stands for in the SELECT list, when no column has that name."""
    if isinstance(node, exp.Column) and not node.text("table") and not scope.has(node.name):
        for item in block.expressions:
            if isinstance(item, exp.Alias) and same(item.alias, node.name):
                return unaliased(item)
    return None


def group(child: Node, keys: Mapping[Expression, str], aggregates: Sequence[Aggregate]) -> GroupBy:
    """GroupBy over the child; keys that are more than columns are computed below it."""
    if not all(isinstance(key, Column) for key in keys):
        needed = {name for a in aggregates for arg in a.args for name in columns_of(arg)}
        computed = {name: key for key, name in keys.items()}
        kept = {f.name: Column(f.type, f.name) for f in child.schema if f.name in needed}
        child = Project(child, tuple((computed | kept).items()))
    return GroupBy(child, tuple(keys.values()), tuple(aggregates))
