"""OVER and QUALIFY: functions over the rows that a SELECT gives before its list is made."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

from sqlglot import exp

from panes.language.binder.bind_expressions import ExpressionBinder, cast_to
from panes.language.binder.bind_groups import by_aliases
from panes.language.binder.refusals import check_bounded, check_internal
from panes.language.names import same
from panes.language.parser.syntax import OverCall, OverWindow, SelectBlock
from panes.language.positions import did_you_mean, offset_of, with_article
from panes.plan.aggregates import AGGREGATE_ALIASES, AGGREGATES
from panes.plan.expressions import Case, Column, Expression, Literal, Value, walk
from panes.plan.function_signatures import WrongTypes
from panes.plan.nodes import Node, Over, Project, Select
from panes.plan.over_functions import (
    AGGREGATED,
    NEIGHBORS,
    PICKED,
    PLACES,
    UP_TO_PEERS,
    WHOLE,
    Frame,
    OverFunction,
)
from panes.plan.sort_key import SortKey
from panes.plan.types import BIGINT, DOUBLE, INTERVAL, NULL, TIMESTAMP, Type, wider
from panes.plan.unused import unused

MOST_ROWS = 2**31 - 1

Columns = tuple[tuple[str, Expression], ...]
Window = tuple[tuple[str, ...], tuple[SortKey, ...]]
"""Partition columns and order."""


def has_over(block: SelectBlock) -> bool:
    """Whether a SELECT has OVER or QUALIFY."""
    return bool(block.args.get("qualify")) or any(item.find(OverCall) for item in block.expressions)


@dataclass(frozen=True)
class _Bound:
    """OVER (…) with its names resolved."""

    window: Window
    frame: Frame | None


class OverBinder(ExpressionBinder):
    """Binds a SELECT list and QUALIFY: a function with OVER is a column of the rows below them.

    `inner` binds everything else, and what stands inside OVER: columns, or in a SELECT with groups keys and
    aggregates.
    """

    def __init__(self, inner: ExpressionBinder, block: SelectBlock) -> None:
        super().__init__(inner.scope, takes_subqueries=inner.takes_subqueries)
        self.inner = inner
        self.scalars = inner.scalars
        self._block = block
        self._windows: dict[Window, list[OverFunction]] = {}
        self._computed: dict[Expression, str] = {}
        """Expressions by which rows are partitioned or sorted, and the columns that they become."""
        self._read: dict[str, Type] = {}
        """Columns by which rows are partitioned or sorted."""
        self._first: OverCall | None = None

    @property
    def _names(self) -> set[str]:
        """The columns of the functions."""
        return {function.name for functions in self._windows.values() for function in functions}

    def reads_own(self, expression: Expression) -> bool:
        rest = (
            part for part in walk(expression) if isinstance(part, Column) and part.name not in self._names
        )
        return all(map(self.inner.reads_own, rest))

    def known(self, node: exp.Expression) -> Expression | None:
        return self._function(node) if isinstance(node, OverCall) else self.inner.known(node)

    def qualify(self) -> Expression | None:
        """The condition of QUALIFY, which may name columns of the SELECT list."""
        written = self._block.args.get("qualify")
        if written is None:
            return None
        condition = self.condition(by_aliases(written, self._block, self.scope), "QUALIFY")
        if self._first is None:
            self.refuse("QUALIFY needs a function with OVER", written, "put the condition in WHERE or HAVING")
        return condition

    def columns_read(self, columns: Columns, condition: Expression | None) -> Columns:
        """The columns that OVER and what is above it read; none when there is no OVER."""
        if self._first is None:
            return ()
        found: dict[str, Column] = {}
        for expression in self._expressions(columns, condition):
            found |= {part.name: part for part in walk(expression) if isinstance(part, Column)}
        found |= {name: Column(type_, name) for name, type_ in self._read.items()}
        kept = tuple((name, column) for name, column in found.items() if name not in self._names)
        return kept or (("rows", Literal(BIGINT, 1)),)

    def applied(self, plan: Node, columns: Columns, condition: Expression | None) -> Node:
        """The rows of a plan with the functions that the SELECT list (`columns`) and QUALIFY read; those that the
        condition of QUALIFY lets through."""
        if self._first is None:
            return plan
        check_bounded("OVER", self.text, offset_of(self._first), plan)
        plan = self._narrowed(plan, frozenset(name for name, _ in self.columns_read(columns, condition)))
        for (partition_by, order), functions in self._windows.items():
            plan = Over(plan, partition_by, order, tuple(functions))
        check_internal(plan, self.text, offset_of(self._first))
        return plan if condition is None else Select(plan, condition)

    def _expressions(self, columns: Columns, condition: Expression | None) -> list[Expression]:
        functions = [function for window in self._windows.values() for function in window]
        args = [function.arg for function in functions if function.arg is not None]
        conditions = [] if condition is None else [condition]
        return [*(expression for _, expression in columns), *conditions, *args, *self._computed]

    def _narrowed(self, plan: Node, needed: Set[str]) -> Node:
        """The columns that something reads, and those by which rows are partitioned or sorted. All of them decide
        the order of peers, so none is left out later."""
        kept = [f for f in plan.schema if f.name in needed] or list(plan.schema)[:1]
        if len(kept) == len(plan.schema) and not self._computed:
            return plan
        columns = tuple((f.name, Column(f.type, f.name)) for f in kept)
        return Project(plan, columns + tuple((name, e) for e, name in self._computed.items()))

    # OVER (…)

    def _window(self, node: exp.Expression) -> _Bound:
        """The window of a call, or the one whose name stands there."""
        written = self._named(node) if isinstance(node, exp.Identifier) else node
        assert isinstance(written, OverWindow)
        base = written.args.get("base")
        partition, order = written.args.get("partition"), written.args.get("order")
        if base is not None:
            other = self._named(base)
            if partition or (order and other.args.get("order")) or other.args.get("frame"):
                self.refuse(
                    f"OVER ({base.name} …) can add what {base.name} does not have: ORDER BY, and a frame", base,
                    "write the whole window",
                )  # fmt: skip
            partition, order = other.args.get("partition"), order or other.args.get("order")
        by = tuple(dict.fromkeys(self._column_of(item, "PARTITION BY") for item in partition or ()))
        keys: dict[str, SortKey] = {}
        for item in order or ():
            if isinstance(item.this, exp.Literal):
                self.refuse("ORDER BY of OVER takes columns and expressions, not places", item.this)
            key = SortKey(
                self._column_of(item.this, "ORDER BY"),
                bool(item.args.get("desc")),
                bool(item.args.get("nulls_first")),
            )
            keys.setdefault(key.column, key)
        return _Bound((by, tuple(keys.values())), written.args.get("frame"))

    def _named(self, name: exp.Identifier) -> OverWindow:
        named = self._block.args.get("windows") or ()
        found = next((item for item in named if same(item.name, name.name)), None)
        if found is None:
            names = [item.name for item in named]
            hint = (
                did_you_mean(name.name, names) if names else f"WINDOW {name.name} AS (…) stands after HAVING"
            )
            self.refuse(f"there is no window named {name.name!r}", name, hint)
        window = found.args["window"]
        assert isinstance(window, OverWindow)
        if window.args.get("base") is not None:
            self.refuse("a window of WINDOW is written whole", window)
        return window

    def _column_of(self, node: exp.Expression, what: str) -> str:
        bound = self._inside(node)
        if bound.type.item is not None or bound.type == INTERVAL:
            self.refuse(f"{what} cannot take {with_article(bound.type)}", node)
        if isinstance(bound, Column):
            self._read[bound.name] = bound.type
            return bound.name
        if bound not in self._computed:
            taken = [*self.scope.own_names(), *self._computed.values()]
            self._computed[bound] = unused(str(bound), taken)
        return self._computed[bound]

    def _inside(self, node: exp.Expression) -> Expression:
        """What stands inside OVER, or is an argument of its function."""
        nested = node.find(OverCall)
        if nested is not None:
            self.refuse("OVER cannot stand inside OVER", nested, "put the inner one in a derived table")
        bound = self.inner.bind(node)
        if not self.inner.reads_own(bound):
            self.refuse("OVER cannot read a column of the query around it", node)
        return cast_to(bound, BIGINT) if bound.type == NULL else bound

    # Functions

    def _function(self, node: OverCall) -> Expression:
        """The column of a function with OVER."""
        self._first = self._first or node
        call, condition = node.this, None
        if isinstance(call, exp.Filter):
            condition, call = call.expression.this, call.this
        # Without OVER, first_value is another name of an aggregate.
        name = call.name if call.name in PICKED else AGGREGATE_ALIASES.get(call.name, call.name)
        self._check_call(name, call, has_filter=condition is not None)
        bound = self._window(node.args["window"])
        if name in PLACES:
            function = self._place(name, call)
        elif name in NEIGHBORS:
            function = self._neighbor(name, call)
        else:
            function = self._picked(name, call) if name in PICKED else self._aggregate(name, call, condition)
            function = replace(function, frame=self._frame(bound, node))
        return self._registered(function, bound.window)

    def _check_call(self, name: str, call: exp.Expression, *, has_filter: bool) -> None:
        aggregates = (*AGGREGATED, *(a.name for a in AGGREGATES.values() if a.short_for))
        known = (*PLACES, *NEIGHBORS, *PICKED, *aggregates)
        if name not in known:
            if name in AGGREGATES:
                self.refuse(f"{name} does not go with OVER", call, f"there are {', '.join(AGGREGATED)}")
            self.refuse(
                f"there is no function named {name!r} for OVER", call, did_you_mean(name, list(known))
            )
        if has_filter and name not in aggregates:
            self.refuse(f"FILTER is for aggregates, and {name} is none", call)
        if any(isinstance(arg, exp.Distinct) for arg in call.expressions):
            self.refuse(
                f"{name} does not take DISTINCT with OVER",
                call,
                "count DISTINCT values in a query with GROUP BY",
            )

    def _place(self, name: str, call: exp.Expression) -> OverFunction:
        if name == "ntile":
            (parts,) = self._arguments(call, 1, 1, "ntile(n)")
            return OverFunction("", name, None, BIGINT, (self._whole(parts, least=1),))
        self._arguments(call, 0, 0, f"{name}()")
        return OverFunction("", name, None, DOUBLE if name in ("percent_rank", "cume_dist") else BIGINT)

    def _neighbor(self, name: str, call: exp.Expression) -> OverFunction:
        value, *more = self._arguments(call, 1, 3, f"{name}(x, n, default)")
        arg = self._inside(value)
        distance = self._whole(more[0], least=0) if more else 1
        default: Value = None
        if len(more) == 2:
            bound = self.inner.bind(more[1])
            if not isinstance(bound, Literal):
                self.refuse(
                    f"the default of {name} must be a constant", more[1], "take coalesce(…) of the result"
                )
            common = wider(arg.type, bound.type)
            if common is None:
                self.refuse(
                    f"the default is {with_article(bound.type)}, and the value {with_article(arg.type)}",
                    more[1],
                )
            cast = cast_to(bound, common)
            assert isinstance(cast, Literal)
            arg, default = cast_to(arg, common), cast.value
        return OverFunction("", name, arg, arg.type, (distance, default))

    def _picked(self, name: str, call: exp.Expression) -> OverFunction:
        if name == "nth_value":
            value, number = self._arguments(call, 2, 2, "nth_value(x, n)")
            arg = self._inside(value)
            return OverFunction("", name, arg, arg.type, (self._whole(number, least=1),))
        (value,) = self._arguments(call, 1, 1, f"{name}(x)")
        arg = self._inside(value)
        return OverFunction("", name, arg, arg.type)

    def _aggregate(self, name: str, call: exp.Expression, condition: exp.Expression | None) -> OverFunction:
        known = AGGREGATES[name]
        count = 1 + len(known.parameters)
        value, *constants = self._arguments(call, count, count, known.form)
        parameters = tuple(self._constant(item) for item in constants)
        arg: Expression | None = None
        if not isinstance(value, exp.Star):
            arg = self._inside(value)
        elif name != "count":
            self.refuse(f"only count takes *, not {name}", call)
        type_: Type = BIGINT
        if arg is not None:
            try:
                signature = known.signature(arg.type, parameters)
            except WrongTypes as wrong:
                self.refuse(f"{name} {wrong}", call)
            arg, type_ = cast_to(arg, signature.args[0]), signature.result
        if name == "count_if" and arg is not None:
            arg, type_ = Case(BIGINT, ((arg, Literal(BIGINT, 1)),), Literal(BIGINT, None)), BIGINT
        if condition is not None:
            arg = Literal(BIGINT, 1) if arg is None else arg
            test = self.inner.condition(condition, "FILTER")
            arg = Case(arg.type, ((test, arg),), Literal(arg.type, None))
        return OverFunction("", known.short_for or name, arg, type_, parameters)

    def _constant(self, node: exp.Expression) -> Value:
        bound = self.inner.bind(node)
        if not isinstance(bound, Literal):
            self.refuse("this must be a constant", node)
        return bound.value

    def _arguments(self, call: exp.Expression, least: int, most: int, form: str) -> list[exp.Expression]:
        args = list(call.expressions)
        if not least <= len(args) <= most:
            self.refuse(f"{call.name} is written {form}", call)
        return args

    def _whole(self, node: exp.Expression, *, least: int) -> int:
        bound = self.inner.bind(node)
        value = bound.value if isinstance(bound, Literal) else None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST_ROWS:
            self.refuse(f"this must be a whole number from {least} to {MOST_ROWS}", node)
        return value

    def _frame(self, bound: _Bound, node: OverCall) -> Frame:
        (_, order), frame = bound.window, bound.frame
        if frame is None:
            return UP_TO_PEERS if order else WHOLE
        if not frame.has_distance:
            return WHOLE if frame.is_whole or (not frame.by_rows and not order) else frame
        keys = [self._type_of(key.column) for key in order]
        if len(keys) != 1 or not (keys[0].is_integer or keys[0] == TIMESTAMP):
            self.refuse(
                "RANGE with a distance needs ORDER BY one integer or TIMESTAMP", node, "or count ROWS"
            )
        for distance in (frame.start, frame.end):
            if distance and isinstance(distance, int) != keys[0].is_integer:
                self.refuse(
                    f"the distance does not fit to ORDER BY {with_article(keys[0])}", node,
                    "write INTERVAL … for a TIMESTAMP, and a whole number for an integer",
                )  # fmt: skip
        return frame

    def _type_of(self, column: str) -> Type:
        computed = {name: expression.type for expression, name in self._computed.items()}
        return computed[column] if column in computed else self._read[column]

    def _registered(self, function: OverFunction, window: Window) -> Expression:
        functions = self._windows.setdefault(window, [])
        known = next((f for f in functions if replace(f, name="") == function), None)
        if known is None:
            taken = [*self.scope.own_names(), *self._read, *self._names, *self._computed.values()]
            known = replace(function, name=unused(f"{replace(function, frame=None)} OVER (…)", taken))
            functions.append(known)
        return Column(known.type, known.name)
