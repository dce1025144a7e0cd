"""Scalar expressions: names and types resolved, every implicit cast written out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, NoReturn

from sqlglot import exp

from panes.language.binder import constants
from panes.language.binder.foreign_functions import FOREIGN_FUNCTIONS
from panes.language.binder.groups_of import groups_of
from panes.language.binder.mark_own_functions import own_function, own_names
from panes.language.binder.scope import Scope
from panes.language.binder.short_forms import SHORT_FORMS
from panes.language.parser.parse_durations import parse_duration
from panes.language.parser.syntax import Nested, OverCall, WindowedCall
from panes.language.positions import did_you_mean, offset_of, refuse, with_article
from panes.language.statements import CreateFunction
from panes.plan.aggregates import AGGREGATE_ALIASES, AGGREGATES
from panes.plan.can_cast import can_cast
from panes.plan.can_fail import can_fail
from panes.plan.expressions import (
    Call,
    Case,
    Cast,
    Column,
    Constants,
    Expression,
    FieldOf,
    Literal,
    Now,
    OwnCall,
    columns_of,
)
from panes.plan.function_signatures import WrongTypes
from panes.plan.functions import ALIASES, DIFF_UNITS, FORMATS, FUNCTIONS, TRUNC_UNITS
from panes.plan.over_functions import NEIGHBORS, PICKED, PLACES
from panes.plan.time_zone import UnknownZone, time_zone
from panes.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    Type,
    limit_of,
    wider,
)

if TYPE_CHECKING:
    from panes.language.binder.bind_scalar_subqueries import Scalar

_BINARY: dict[type[exp.Expression], str] = {
    exp.EQ: "eq", exp.NEQ: "ne", exp.LT: "lt", exp.LTE: "le", exp.GT: "gt", exp.GTE: "ge", exp.And: "and",
    exp.Or: "or", exp.Add: "add", exp.Sub: "subtract", exp.Mul: "multiply", exp.Div: "divide",
    exp.Mod: "modulo", exp.DPipe: "concat", exp.NullSafeEQ: "is_not_distinct", exp.NullSafeNEQ: "is_distinct",
}  # fmt: skip

_COMPARED = ("eq", "ne", "lt", "le", "gt", "ge", "in", "is_distinct", "is_not_distinct", "nullif")

NAMES_OF_NOW = ("now", "current_timestamp")

LONGEST_CHAIN = 200

LONGEST_TEXT = 10_000
"""Characters that a function may be asked to give."""


class ExpressionBinder:
    """Binds expressions within one scope. Aggregates are not expressions: see bind_groups."""

    def __init__(self, scope: Scope, *, takes_subqueries: bool = False) -> None:
        """`takes_subqueries` promises that the query is joined with `scalars` below what is bound here."""
        self.scope = scope
        self.text = scope.text
        self.takes_subqueries = takes_subqueries
        self.scalars: list[Scalar] = []
        """The subqueries that stand for values in what was bound."""

    def bind(self, node: exp.Expression) -> Expression:
        known = self.known(node)
        if known is not None:
            return known
        case = _CASES.get(type(node))
        if case is not None:
            return case(self, node)
        if type(node) in _BINARY:
            return self._binary(node)
        return self.refuse(f"{type(node).__name__.upper()} is not supported here", node)

    def known(self, _: exp.Expression) -> Expression | None:
        """What stands for a whole expression here, if anything does: a key of GROUP BY, or an aggregate."""
        return None

    def reads_own(self, expression: Expression) -> bool:
        """Whether an expression reads nothing of the queries around this one."""
        return all(map(self.scope.is_own, columns_of(expression)))

    def condition(self, node: exp.Expression, what: str) -> Expression:
        """An expression that must be a condition; `what` names the clause."""
        bound = self.bind(node)
        if bound.type not in (BOOLEAN, NULL):
            self.refuse(f"{what} needs a condition, and this is {with_article(bound.type)}", node)
        return cast_to(bound, BOOLEAN)

    def check_length(self, operators: int, node: exp.Expression) -> None:
        """A chain of operators becomes a tree as deep as it is long, and every evaluator walks it."""
        if operators > LONGEST_CHAIN:
            self.refuse(
                f"this is a chain of more than {LONGEST_CHAIN} operators", node, "use IN (…) for many values"
            )

    def refuse(self, problem: str, node: exp.Expression, hint: str | None = None) -> NoReturn:
        refuse(problem, self.text, offset_of(node), hint)

    def call(self, name: str, args: Sequence[Expression], node: exp.Expression) -> Expression:
        """A call of the table of functions, its arguments cast to what the function takes."""
        function = FUNCTIONS[name]
        args = self._read_constants(name, args, node)
        try:
            signature = function.signature([arg.type for arg in args])
        except WrongTypes as wrong:
            self.refuse(f"{function.symbol or name} {wrong}", node, self._how_to_compare(name, args, node))
        cast = [cast_to(arg, want) for arg, want in zip(args, signature.args, strict=True)]
        for place in function.constants:
            if place < len(cast) and (not isinstance(cast[place], Literal) or cast[place].value is None):  # type: ignore[attr-defined]
                self.refuse(f"argument {place + 1} of {name} must be a constant", node)
        self._check_constants(name, cast, node)
        return Call(signature.result, name, tuple(cast))

    def _how_to_compare(self, name: str, args: Sequence[Expression], node: exp.Expression) -> str | None:
        """What to write where a number is compared with a text."""
        number = next((arg.type for arg in args if arg.type.is_numeric), None)
        if name not in _COMPARED or number is None or all(arg.type != STRING for arg in args):
            return None
        place, text = next((place, arg) for place, arg in enumerate(args) if arg.type == STRING)
        target = BIGINT if number.is_integer else number
        if isinstance(text, Literal):
            value = str(text.value)
            is_number = re.fullmatch(r"\s*[+-]?\d+(\.\d+)?\s*", value, re.ASCII) is not None
            quoted = value.replace("'", "''")
            without = f"{value.strip()} without quotes, or " if is_number else ""
            return f"write {without}CAST('{quoted}' AS {target})"
        sides = [node.this, node.expression] if isinstance(node, exp.Binary) else []
        side = sides[place] if place < len(sides) else None
        written = ".".join(part.name for part in side.parts) if isinstance(side, exp.Column) else "…"
        return f"write CAST({written} AS {target})"

    def _read_constants(
        self, name: str, args: Sequence[Expression], node: exp.Expression
    ) -> Sequence[Expression]:
        """Constants are read as what they stand next to.

        Text beside a date or an instant is one: `ts > '2026-01-31'`. A number beside a DECIMAL is one, so that
        `price * 1.1` is exact. A number with a point is compared with a FLOAT as a FLOAT.
        """
        targets = {arg.type for arg in args} & {DATE, TIMESTAMP}
        if len(targets) == 1 and name not in ("add", "concat", "concat_ws"):
            (target,) = targets
            others = FUNCTIONS[name].constants
            return [
                self.read(arg, target, node)
                if isinstance(arg, Literal) and arg.type == STRING and place not in others
                else arg
                for place, arg in enumerate(args)
            ]
        return like_their_neighbors(args, name in _COMPARED)

    def _check_constants(self, name: str, args: Sequence[Expression], node: exp.Expression) -> None:
        values = [arg.value if isinstance(arg, Literal) else None for arg in args]
        if name in ("like", "ilike") and "\\" in str(values[1]):
            self.refuse(
                f"the pattern of {name.upper()} has no escapes",
                node,
                "use starts_with, ends_with or contains",
            )
        if name == "date_trunc" and str(values[0]) not in TRUNC_UNITS:
            self.refuse(f"there is no unit {values[0]!r}", node, f"units are {', '.join(TRUNC_UNITS)}")
        if name == "substring" and int(str(values[1])) < 1:
            self.refuse("positions in a string begin at 1", node)
        if name == "substring" and len(values) == 3 and int(str(values[2])) < 0:
            self.refuse("a length is not negative", node)
        if name in ("left", "right", "lpad", "rpad") and not 0 <= int(str(values[1])) <= LONGEST_TEXT:
            self.refuse(f"{name} takes a whole number from 0 to {LONGEST_TEXT}", node)
        if name in ("lpad", "rpad") and len(str(values[2])) != 1:
            self.refuse(f"{name} fills up with one character", node, f"such as {name}(x, 10, ' ')")
        if name in ("replace", "split_part", "string_split", "substring_index") and not values[1]:
            self.refuse(f"{name} needs a text to look for", node)
        if name == "date_diff" and str(values[0]) not in DIFF_UNITS:
            self.refuse(f"there is no unit {values[0]!r}", node, f"units are {', '.join(DIFF_UNITS)}")
        if name == "repeat" and not 0 <= int(str(values[1])) <= LONGEST_TEXT:
            self.refuse(f"repeat takes a whole number from 0 to {LONGEST_TEXT}", node)
        if name == "round" and len(values) == 2 and not -15 <= int(str(values[1])) <= 15:
            self.refuse("round takes a whole number of places from -15 to 15", node)
        if name == "split_part" and values[2] == 0:
            self.refuse("parts are numbered from 1, or from the end from -1", node)
        if name == "strftime":
            self._check_format(str(values[1]), node)
        if name.startswith("regexp_"):
            self._check_pattern(name, values[1:], node)

    def _check_format(self, form: str, node: exp.Expression) -> None:
        parts = re.findall(r"%(.?)", form, re.DOTALL)
        wrong = next((part for part in parts if part not in FORMATS or not part), None)
        if wrong is not None:
            known = " ".join(f"%{part}" for part in FORMATS)
            self.refuse(f"strftime does not know %{wrong}", node, f"it knows {known}")

    def _check_pattern(self, name: str, values: Sequence[object], node: exp.Expression) -> None:
        """A pattern that RE2 does not take is refused now, and not when the first tuple comes."""
        pattern, *others = values
        groups = groups_of(str(pattern))
        if isinstance(groups, str):
            self.refuse(f"this is no regular expression: {groups}", node)
        if name == "regexp_replace":
            flags = others[1] if len(others) > 1 else "g"
            if flags != "g":
                self.refuse("regexp_replace takes the flag 'g', for every match", node, "(?i) ignores case")
            new = str(others[0]).replace("\\\\", "")
            named = max((int(n) for n in re.findall(r"\\([0-9])", new)), default=0)
            if re.search(r"\\(?![0-9])", new) or named > groups:
                self.refuse("this text has a backslash that names no group", node, "\\1 is the first group")
        if name == "regexp_extract" and others and not 0 <= int(str(others[0])) <= min(groups, 8):
            self.refuse(f"regexp_extract takes a group of this pattern, from 0 to {min(groups, 8)}", node)

    # One method per kind of syntax.

    def _binary(self, node: exp.Expression) -> Expression:
        # A chain of ANDs is as deep as it is long: go down its left spine in a loop.
        spine = [node]
        while type(spine[-1].this) in _BINARY and self.known(spine[-1].this) is None:
            spine.append(spine[-1].this)
        self.check_length(len(spine), node)
        bound = self.bind(spine[-1].this)
        for link in reversed(spine):
            bound = self.call(_BINARY[type(link)], (bound, self.bind(link.expression)), link)
        return bound

    def _column(self, node: exp.Expression) -> Expression:
        if isinstance(node.this, exp.Star):
            self.refuse("* cannot stand in an expression", node)
        assert isinstance(node, exp.Column)
        alias = node.args.get("table")
        if alias is None and node.name.casefold() == "current_timestamp" and not self.scope.has(node.name):
            return Now(TIMESTAMP)
        if alias is not None and not self.scope.has_alias(alias.name) and self.scope.has(alias.name):
            # Not alias.column, so it is column.field.
            return self._field_of(self.scope.resolve(exp.Column(this=alias)), node.this, node)
        return self.scope.resolve(node)

    def _dot(self, node: exp.Expression) -> Expression:
        return self._field_of(self.bind(node.this), node.expression, node)

    def _field_of(self, value: Expression, name: exp.Identifier, node: exp.Expression) -> Expression:
        if not value.type.fields:
            self.refuse(f"{value} is {with_article(value.type)}, and has no fields", node)
        found = value.type.field(name.name)
        if found is None:
            names = [field for field, _ in value.type.fields]
            self.refuse(f"{value} has no field {name.name!r}", node, did_you_mean(name.name, names))
        return FieldOf(found[1], value, found[0])

    def _at_time_zone(self, node: exp.Expression) -> Expression:
        zone = node.args["zone"]
        bound = self.call("at_time_zone", (self.bind(node.this), self.bind(zone)), node)
        try:
            time_zone(zone.name)
        except UnknownZone:
            self.refuse(f"there is no time zone {zone.name!r}", zone, "write it as 'Europe/Berlin'")
        return bound

    def _item(self, node: exp.Expression) -> Expression:
        return self.call("element", (self.bind(node.this), self.bind(node.expressions[0])), node)

    def _array(self, node: exp.Expression) -> Expression:
        return self.call("array", [self.bind(item) for item in node.expressions], node)

    def _literal(self, node: exp.Expression) -> Expression:
        if node.is_string:
            return Literal(STRING, node.name)
        return self._number(node, node.name)

    def _bytes(self, node: exp.Expression) -> Expression:
        return Literal(BINARY, bytes.fromhex(node.name))

    def _number(self, node: exp.Expression, text: str) -> Expression:
        if constants.is_whole(text):
            value = constants.whole(text)
            if value is None:
                self.refuse("this number does not fit into 64 bits", node, "write it with a decimal point")
            return Literal(INT if -(2**31) <= value < 2**31 else BIGINT, value)
        try:
            real = float(text)
        except ValueError:
            self.refuse(f"{text} is not a number", node)
        if real in (float("inf"), float("-inf")):
            self.refuse("this number is too large", node)
        return Literal(DOUBLE, real)

    def _negative(self, node: exp.Expression) -> Expression:
        if isinstance(node.this, exp.Literal) and not node.this.is_string:
            return self._number(node, "-" + node.this.name)
        return self.call("negate", (self.bind(node.this),), node)

    def _null(self, _: exp.Expression) -> Expression:
        return Literal(NULL, None)

    def _boolean(self, node: exp.Expression) -> Expression:
        return Literal(BOOLEAN, bool(node.this))

    def _paren(self, node: exp.Expression) -> Expression:
        return self.bind(node.this)

    def _not(self, node: exp.Expression) -> Expression:
        if isinstance(node.this, exp.Is):
            return self.call("is_not_null", (self.bind(node.this.this),), node)
        return self.call("not", (self.bind(node.this),), node)

    def _is(self, node: exp.Expression) -> Expression:
        return self.call("is_null", (self.bind(node.this),), node)

    def _between(self, node: exp.Expression) -> Expression:
        subject, low, high = self.bind(node.this), self.bind(node.args["low"]), self.bind(node.args["high"])
        between = self._from_to(subject, low, high, node)
        if not node.args.get("symmetric"):
            return between
        return self.call("or", (between, self._from_to(subject, high, low, node)), node)

    def _from_to(
        self, subject: Expression, low: Expression, high: Expression, node: exp.Expression
    ) -> Expression:
        above, below = self.call("ge", (subject, low), node), self.call("le", (subject, high), node)
        return self.call("and", (above, below), node)

    def _in(self, node: exp.Expression) -> Expression:
        if node.args.get("query"):
            self.refuse_subquery("IN", node)
        args = [self.bind(node.this), *map(self.bind, node.expressions)]
        if all(isinstance(option, Literal) for option in args[1:]):
            return self._in_constants(args, node)
        return self.call("in", args, node)

    def _in_constants(self, args: Sequence[Expression], node: exp.Expression) -> Expression:
        """IN of a list of constants, which is one node: what is asked of types is asked once for each type."""
        value, *options = self._read_constants("in", args, node)
        types = dict.fromkeys(arg.type for arg in (value, *options))
        try:
            common = FUNCTIONS["in"].signature([*types, value.type]).args[0]
        except WrongTypes as wrong:
            self.refuse(f"IN {wrong}", node, self._how_to_compare("in", args, node))
        cast = [cast_to(option, common) for option in options]
        values = tuple(option.value for option in cast if isinstance(option, Literal))
        listed = (Constants(common, values),) if len(values) == len(cast) else tuple(cast)
        return Call(BOOLEAN, "in", (cast_to(value, common), *listed))

    def _exists(self, node: exp.Expression) -> Expression:
        self.refuse_subquery("EXISTS", node)

    def refuse_subquery(self, what: str, node: exp.Expression) -> NoReturn:
        self.refuse(
            f"{what} (subquery) must be a whole condition of WHERE", node,
            "join conditions with AND; for OR write UNION ALL of two queries that exclude each other",
        )  # fmt: skip

    def _quantified(self, node: exp.Expression) -> Expression:
        word = type(node).__name__.upper()
        self.refuse(
            f"{word} of a subquery stands to the right of {'=' if word == 'ANY' else '<>'}", node,
            "for other comparisons, compare with (SELECT max(…) …) or (SELECT min(…) …)",
        )  # fmt: skip

    def _subquery(self, node: exp.Expression) -> Expression:
        assert isinstance(node, Nested)
        if not self.takes_subqueries or self.scope.bind_scalar is None:
            self.refuse(
                "a subquery cannot stand for a value here",
                node,
                "it can in SELECT, WHERE and HAVING of a query",
            )
        scalar = next((scalar for scalar in self.scalars if scalar.node == node), None)
        if scalar is None:
            scalar = self.scope.bind_scalar(node, self.scope)
            self.scalars.append(scalar)
        return scalar.value

    def _like(self, node: exp.Expression) -> Expression:
        name = "ilike" if isinstance(node, exp.ILike) else "like"
        test = self.call(name, (self.bind(node.this), self.bind(node.expression)), node)
        return self.call("not", (test,), node) if node.args.get("negate") else test

    def _case(self, node: exp.Expression) -> Expression:
        subject = self.bind(node.this) if node.this else None
        conditions, values = [], []
        for branch in node.args["ifs"]:
            if subject is None:
                conditions.append(self.condition(branch.this, "WHEN"))
            else:
                conditions.append(self.call("eq", (subject, self.bind(branch.this)), branch))
            values.append(self.bind(branch.args["true"]))
        default = node.args.get("default")
        values.append(self.bind(default) if default else Literal(NULL, None))
        values = list(like_their_neighbors(values, are_compared=False))
        common: Type | None = NULL
        for value in values:
            common = common and wider(common, value.type)
        if common is None:
            shown = " and ".join(dict.fromkeys(str(v.type) for v in values))
            self.refuse(f"the branches of this CASE are of different types: {shown}", node)
        *branches, otherwise = (cast_to(value, common) for value in values)
        return Case(common, tuple(zip(conditions, branches, strict=True)), otherwise)

    def _cast(self, node: exp.Expression) -> Expression:
        return self.cast(self.bind(node.this), node.args["to"].this, node)

    def _try_cast(self, node: exp.Expression) -> Expression:
        """CAST that gives NULL for what does not fit. Text that is no number is NULL already."""
        target: Type = node.args["to"].this
        value = self.bind(node.this)
        cast = self.cast(value, target, node)
        if not can_fail(cast) or can_fail(value) or isinstance(value, Literal):
            is_safe = not isinstance(cast, Cast) or not can_fail(replace(cast, arg=Column(value.type, "x")))
            if is_safe:
                return cast
        if not target.is_integer or value.type.is_decimal:
            self.refuse(
                f"TRY_CAST does not test whether {with_article(value.type)} fits into {target}", node,
                "test it with CASE WHEN … THEN CAST(… AS …) END",
            )  # fmt: skip
        limit = limit_of(target)
        if value.type.is_floating:
            value = cast_to(value, DOUBLE)
            whole = self.call("trunc", (value,), node)
            above = self.call("ge", (whole, Literal(DOUBLE, float(-limit))), node)
            below = self.call("lt", (whole, Literal(DOUBLE, float(limit))), node)
        else:
            above = self.call("ge", (value, Literal(BIGINT, -limit)), node)
            below = self.call("lt", (value, Literal(BIGINT, limit)), node)
        fits = self.call("and", (above, below), node)
        return Case(target, ((fits, cast_to(value, target)),), Literal(target, None))

    def cast(self, value: Expression, target: Type, node: exp.Expression) -> Expression:
        """A value in another type; a constant text is read as a DATE or TIMESTAMP now."""
        if isinstance(value, Literal) and value.type == STRING and target in (DATE, TIMESTAMP):
            return self.read(value, target, node)
        if value.type != target and not can_cast(value.type, target):
            hint = None
            if value.type.is_floating and target == STRING:
                hint = "choose the digits: CAST(CAST(x AS DECIMAL(18, 2)) AS STRING)"
            self.refuse(f"{with_article(value.type)} cannot be cast to {target}", node, hint)
        return cast_to(value, target)

    def read(self, value: Literal, target: Type, node: exp.Expression) -> Literal:
        """A string constant as a DATE or TIMESTAMP."""
        text = str(value.value)
        read = constants.day(text) if target == DATE else constants.instant(text)
        if read is None:
            example = "2026-01-31" if target == DATE else "2026-01-31 12:00:00"
            self.refuse(f"'{text}' is not a {target}", node, f"write it as '{example}'")
        return Literal(target, read)

    def _interval(self, node: exp.Expression) -> Expression:
        length = parse_duration(node.name, node.args["unit"].name)
        return Literal(INTERVAL, timedelta(microseconds=length or 0))

    def _call(self, node: exp.Expression) -> Expression:
        name = node.name
        if name in AGGREGATES or name in AGGREGATE_ALIASES:
            self.refuse(
                f"the aggregate {name} cannot stand here", node, "aggregates stand in SELECT and HAVING"
            )
        own = own_function(node)
        if own is not None:
            return self._own_call(own, node)
        if name.casefold() in NAMES_OF_NOW and not node.expressions:
            return Now(TIMESTAMP)
        name = ALIASES.get(name, name)
        function = FUNCTIONS.get(name)
        if name in SHORT_FORMS and not any(
            isinstance(a, (exp.Distinct, exp.Order)) for a in node.expressions
        ):
            written = SHORT_FORMS[name](self, node)
            if written is not None:
                return written
        if function is None or (function.symbol is not None):
            if name in (*PLACES, *NEIGHBORS, *PICKED):
                self.refuse(f"{name} needs OVER", node, f"{name}(…) OVER (PARTITION BY … ORDER BY …)")
            if name in ("unnest", "explode"):
                self.refuse(f"{name} stands in FROM", node, "… FROM s, unnest(s.items) AS t(item)")
            if name in FOREIGN_FUNCTIONS:
                self.refuse(f"there is no function named {name!r}", node, FOREIGN_FUNCTIONS[name])
            callable_names = [f.name for f in FUNCTIONS.values() if f.symbol is None]
            callable_names += [*AGGREGATES, *ALIASES, *AGGREGATE_ALIASES, *SHORT_FORMS, *own_names(node)]
            self.refuse(f"there is no function named {name!r}", node, did_you_mean(name, callable_names))
        for arg in node.expressions:
            if isinstance(arg, (exp.Distinct, exp.Order)):
                word = "DISTINCT" if isinstance(arg, exp.Distinct) else "ORDER BY"
                self.refuse(f"{name} does not take {word}", arg)
        return self.call(name, [self.bind(arg) for arg in node.expressions], node)

    def _own_call(self, own: CreateFunction, node: exp.Expression) -> Expression:
        """A call of a function of a user."""
        if own.is_aggregate:
            self.refuse(
                f"the aggregate {own.name} cannot stand here", node, "aggregates stand in SELECT and HAVING"
            )
        args = self.own_arguments(own, [self.bind(arg) for arg in node.expressions], node)
        return OwnCall(own.returns, own.name, args, own.path, own.is_vectorized, own.takes_null)

    def own_arguments(
        self, own: CreateFunction, args: Sequence[Expression], node: exp.Expression
    ) -> tuple[Expression, ...]:
        """Arguments in the types that a function of a user takes."""
        form = f"{own.name}({', '.join(str(f.type) for f in own.takes)})"
        if len(args) != len(own.takes):
            self.refuse(f"{own.name} is called as {form}", node)
        for place, (arg, want) in enumerate(zip(args, own.takes, strict=True), start=1):
            if wider(arg.type, want.type) != want.type:
                self.refuse(f"{own.name} takes {want.type} as argument {place}, not {arg.type}", node, form)
        return tuple(cast_to(arg, want.type) for arg, want in zip(args, own.takes, strict=True))

    def _filter(self, node: exp.Expression) -> Expression:
        self.bind(node.this)  # an aggregate that cannot stand here is refused as one
        self.refuse(f"FILTER is for aggregates, and {node.this.name} is none", node)

    def _over(self, node: exp.Expression) -> Expression:
        self.refuse(
            "OVER stands in SELECT, QUALIFY and ORDER BY", node,
            "QUALIFY tests its values; elsewhere put the query in FROM and name the column",
        )  # fmt: skip

    def _windowed_call(self, node: exp.Expression) -> Expression:
        self.refuse("Wstream stands around a whole query", node, "SELECT Wstream(…) [ROWS n] FROM …")

    def _star(self, node: exp.Expression) -> Expression:
        self.refuse("* cannot stand in an expression", node)

    def _distinct(self, node: exp.Expression) -> Expression:
        self.refuse("DISTINCT cannot stand here", node)


def like_their_neighbors(args: Sequence[Expression], are_compared: bool) -> Sequence[Expression]:
    """The arguments, in which numbers are DECIMALs beside these, and FLOATs when these are compared with them."""
    others = {arg.type.family for arg in args if not isinstance(arg, Literal)}
    if DECIMAL in others and not others & {FLOAT, DOUBLE}:
        return [_as_written(arg) for arg in args]
    if FLOAT in others and DOUBLE not in others and are_compared:
        return [cast_to(arg, FLOAT) if _is_short(arg) else arg for arg in args]
    return args


def _as_written(arg: Expression) -> Expression:
    if not isinstance(arg, Literal) or not arg.type.is_numeric or not isinstance(arg.value, (int, float)):
        return arg
    written = constants.as_written(arg.value)
    return arg if written is None else Literal(written[1], written[0])


def _is_short(arg: Expression) -> bool:
    """Whether it is a number with a point that FLOAT has room for."""
    return isinstance(arg, Literal) and arg.type == DOUBLE and constants.cast(arg.value, FLOAT) is not None


def cast_to(value: Expression, target: Type) -> Expression:
    """The value in another type: constants are converted here, so that no evaluator has to."""
    if value.type == target:
        return value
    if isinstance(value, Literal):
        if value.value is None:
            return Literal(target, None)
        folded = constants.cast(value.value, target)
        if folded is not None:
            return Literal(target, folded)
    return Cast(target, value)


_CASES: dict[type[exp.Expression], Callable[[ExpressionBinder, exp.Expression], Expression]] = {
    exp.Column: ExpressionBinder._column,
    exp.Literal: ExpressionBinder._literal,
    exp.HexString: ExpressionBinder._bytes,
    exp.AtTimeZone: ExpressionBinder._at_time_zone,
    exp.Dot: ExpressionBinder._dot,
    exp.Bracket: ExpressionBinder._item,
    exp.Array: ExpressionBinder._array,
    exp.Neg: ExpressionBinder._negative,
    exp.Null: ExpressionBinder._null,
    exp.Boolean: ExpressionBinder._boolean,
    exp.Paren: ExpressionBinder._paren,
    exp.Not: ExpressionBinder._not,
    exp.Is: ExpressionBinder._is,
    exp.Between: ExpressionBinder._between,
    exp.In: ExpressionBinder._in,
    exp.Exists: ExpressionBinder._exists,
    exp.Like: ExpressionBinder._like,
    exp.ILike: ExpressionBinder._like,
    exp.Case: ExpressionBinder._case,
    exp.Cast: ExpressionBinder._cast,
    exp.TryCast: ExpressionBinder._try_cast,
    exp.Interval: ExpressionBinder._interval,
    exp.Anonymous: ExpressionBinder._call,
    exp.Filter: ExpressionBinder._filter,
    Nested: ExpressionBinder._subquery,
    exp.Any: ExpressionBinder._quantified,
    exp.All: ExpressionBinder._quantified,
    exp.Star: ExpressionBinder._star,
    exp.Distinct: ExpressionBinder._distinct,
    OverCall: ExpressionBinder._over,
    WindowedCall: ExpressionBinder._windowed_call,
}
