"""Functions that are short for others: what the binder writes in their place."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sqlglot import exp

from panes.language.binder.date_format import date_format
from panes.plan.expressions import Expression, Literal
from panes.plan.functions import ALIASES, DATE_PARTS
from panes.plan.types import DATE, DOUBLE, INT, INTERVAL, STRING, TIMESTAMP, Type

if TYPE_CHECKING:
    from panes.language.binder.bind_expressions import ExpressionBinder

_PATH = re.compile(r"""\$(\.\w+|\."[^"]+"|\[[0-9]{1,9}\])*\Z""")

ShortForm = Callable[["ExpressionBinder", exp.Expression], Expression | None]
"""What to write for a call; None when it is not short for anything with these arguments."""


def _mod(binder: ExpressionBinder, node: exp.Expression) -> Expression:
    return binder.call("modulo", [binder.bind(arg) for arg in node.expressions], node)


def _date_part(binder: ExpressionBinder, node: exp.Expression) -> Expression:
    """`date_part('year', x)`, short for `year(x)`."""
    parts = f"parts are {', '.join(DATE_PARTS)}"
    if len(node.expressions) != 2 or not node.expressions[0].is_string:
        binder.refuse("date_part is written date_part('part', x)", node, parts)
    part, value = node.expressions
    word = part.name.lower()
    if word not in DATE_PARTS:
        binder.refuse(f"there is no part {part.name!r}", part, parts)
    return binder.call(ALIASES.get(word, word), (binder.bind(value),), node)


def _if(binder: ExpressionBinder, node: exp.Expression) -> Expression:
    """`if(c, x, y)`, short for CASE."""
    if len(node.expressions) not in (2, 3):
        binder.refuse(f"{node.name} is written {node.name}(condition, x, y)", node)
    condition, value, *otherwise = node.expressions
    branch = exp.If(this=condition, true=value)
    case = exp.Case(this=None, ifs=[branch], default=otherwise[0] if otherwise else None)
    return binder.bind(case.update_positions(node))


def _logarithm(binder: ExpressionBinder, node: exp.Expression) -> Expression:
    """`log(x)` is that to the base of 10, `log(b, x)` the quotient of two."""
    args = [binder.bind(arg) for arg in node.expressions]
    if len(args) == 1:
        return binder.call("log10", args, node)
    if len(args) != 2:
        binder.refuse("log is written log(x), or log(base, x)", node)
    base, value = (binder.call("ln", (arg,), node) for arg in args)
    return binder.call("divide", (value, base), node)


def _added(function: str) -> ShortForm:
    """`date_add(x, INTERVAL …)`, short for x + INTERVAL …; `date_add(x, 7)` is the DATE 7 days later."""

    def write(binder: ExpressionBinder, node: exp.Expression) -> Expression:
        if len(node.expressions) == 2:
            value, days = (binder.bind(arg) for arg in node.expressions)
            if isinstance(days, Literal) and days.type == INT and days.value is not None:
                length = Literal(INTERVAL, timedelta(days=int(str(days.value))))
                midnight = _cast(binder, _cast(binder, value, DATE, node), TIMESTAMP, node)
                return _cast(binder, binder.call(function, (midnight, length), node), DATE, node)
        if len(node.expressions) != 2 or not isinstance(node.expressions[1], exp.Interval):
            binder.refuse(
                f"{node.name} is written {node.name}(x, INTERVAL 1 HOUR)",
                node,
                f"or {node.name}(x, 7) with a constant number of days",
            )
        return binder.call(function, [binder.bind(arg) for arg in node.expressions], node)

    return write


def _date_diff(binder: ExpressionBinder, node: exp.Expression) -> Expression | None:
    """`datediff(end, begin)`, short for date_diff('day', begin, end)."""
    if len(node.expressions) != 2:
        return None
    end, begin = (binder.bind(arg) for arg in node.expressions)
    return binder.call("date_diff", (Literal(STRING, "day"), begin, end), node)


def _cast(binder: ExpressionBinder, value: Expression, target: Type, node: exp.Expression) -> Expression:
    """A value in another type, also text as a DATE or TIMESTAMP."""
    return binder.cast(value, target, node)


def _arguments(
    binder: ExpressionBinder, node: exp.Expression, least: int, most: int, form: str
) -> list[Expression]:
    if not least <= len(node.expressions) <= most:
        binder.refuse(f"{node.name} is written {form}", node)
    return [binder.bind(arg) for arg in node.expressions]


def _constant(binder: ExpressionBinder, value: Expression, node: exp.Expression, what: str) -> str:
    if not isinstance(value, Literal) or not isinstance(value.value, str):
        binder.refuse(f"{what} of {node.name} must be a constant text", node)
    return value.value


def _to(target: Type, pattern: str) -> ShortForm:
    """`to_date(x)` and `to_timestamp(x)`: an instant or a text in another type."""

    def write(binder: ExpressionBinder, node: exp.Expression) -> Expression | None:
        value, *form = _arguments(binder, node, 1, 2, f"{node.name}(x)")
        if value.type.is_numeric and target == TIMESTAMP and not form:
            return None  # seconds since 1970
        if form and _constant(binder, form[0], node, "the pattern") != pattern:
            binder.refuse(
                f"{node.name} reads texts as {pattern}", node,
                "take the parts with split_part or substring, and make_date(year, month, day)",
            )  # fmt: skip
        return _cast(binder, value, target, node)

    return write


def _date_format(binder: ExpressionBinder, node: exp.Expression) -> Expression:
    value, form = _arguments(binder, node, 2, 2, "date_format(x, 'yyyy-MM-dd')")
    pattern = _constant(binder, form, node, "the pattern")
    return date_format(binder, _cast(binder, value, TIMESTAMP, node), pattern, node)


def _from_unixtime(binder: ExpressionBinder, node: exp.Expression) -> Expression:
    """`from_unixtime(seconds [, pattern])`: an instant as text."""
    seconds, *form = _arguments(binder, node, 1, 2, "from_unixtime(seconds, 'yyyy-MM-dd')")
    pattern = _constant(binder, form[0], node, "the pattern") if form else "yyyy-MM-dd HH:mm:ss"
    return date_format(binder, binder.call("to_timestamp", (seconds,), node), pattern, node)


def _unix_timestamp(binder: ExpressionBinder, node: exp.Expression) -> Expression:
    """Whole seconds since 1970."""
    (value,) = _arguments(binder, node, 1, 1, f"{node.name}(x), x a TIMESTAMP")
    instant = _cast(binder, value, TIMESTAMP, node)
    begin = Literal(TIMESTAMP, datetime(1970, 1, 1, tzinfo=UTC))
    return binder.call("date_diff", (Literal(STRING, "second"), begin, instant), node)


def _timestamp_millis(binder: ExpressionBinder, node: exp.Expression) -> Expression:
    (value,) = _arguments(binder, node, 1, 1, "timestamp_millis(x)")
    return binder.call("make_timestamp", (binder.call("multiply", (value, Literal(INT, 1000)), node),), node)


def _trunc(binder: ExpressionBinder, node: exp.Expression) -> Expression | None:
    if len(node.expressions) != 2:
        return None
    binder.refuse(
        "trunc takes a number, and cuts its fraction", node,
        "CAST(date_trunc('month', x) AS DATE) is the first day of the month of x",
    )  # fmt: skip


def _split(binder: ExpressionBinder, node: exp.Expression) -> Expression:
    """Spark reads the separator as a regular expression, others as it is: it must mean the same to both."""
    text, separator = _arguments(binder, node, 2, 2, "split(x, ',')")
    given = _constant(binder, separator, node, "the separator")
    if re.search(r"[\\\[\](){}.*+?^$|]", re.sub(r"\\\W", "", given)):
        binder.refuse(
            "split takes a plain text, and this is a regular expression", node,
            "string_split(x, ',') takes any text as it is; regexp_extract takes a part by a pattern",
        )  # fmt: skip
    plain = re.sub(r"\\(\W)", r"\1", given)
    return binder.call("string_split", (text, Literal(STRING, plain)), node)


def _item(binder: ExpressionBinder, node: exp.Expression) -> Expression:
    return binder.call("element", _arguments(binder, node, 2, 2, "element_at(list, i)"), node)


def _list(binder: ExpressionBinder, node: exp.Expression) -> Expression:
    return binder.call("array", _arguments(binder, node, 1, 10_000, "array(x, y, …)"), node)


def _locate(binder: ExpressionBinder, node: exp.Expression) -> Expression:
    """`locate('x', s)`, short for strpos(s, 'x')."""
    part, text = _arguments(binder, node, 2, 2, "locate('x', s)")
    return binder.call("strpos", (text, part), node)


def _tested(function: str) -> ShortForm:
    """`isnull(x)`, short for x IS NULL."""
    return lambda binder, node: binder.call(function, _arguments(binder, node, 1, 1, f"{node.name}(x)"), node)


def _nvl2(binder: ExpressionBinder, node: exp.Expression) -> Expression:
    """`nvl2(x, y, z)`, short for CASE WHEN x IS NOT NULL THEN y ELSE z END."""
    if len(node.expressions) != 3:
        binder.refuse("nvl2 is written nvl2(x, y, z)", node)
    value, there, otherwise = node.expressions
    test = exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null()))
    branch = exp.If(this=test, true=there.copy())
    case = exp.Case(this=None, ifs=[branch], default=otherwise.copy())
    return binder.bind(case.update_positions(node))


def _json(function: str) -> ShortForm:
    """A path of JSON: `$.a[0]`, the name of a field, or the number of an item."""

    def write(binder: ExpressionBinder, node: exp.Expression) -> Expression:
        text, place = _arguments(binder, node, 2, 2, f"{node.name}(x, '$.a')")
        path = place.value if isinstance(place, Literal) else None
        if isinstance(path, int) and not isinstance(path, bool) and path >= 0:
            path = f"$[{path}]"
        elif isinstance(path, str) and path and not path.startswith("$") and '"' not in path:
            path = f'$."{path}"'
        if not isinstance(path, str) or not _PATH.match(path):
            binder.refuse(
                f"{node.name} takes a constant path of fields and items",
                node,
                "such as '$.a.b[0]' or '$.\"a b\"'",
            )
        return binder.call(function, (text, Literal(STRING, path)), node)

    return write


def _pi(binder: ExpressionBinder, node: exp.Expression) -> Expression:
    if node.expressions:
        binder.refuse("pi is written pi()", node)
    return Literal(DOUBLE, math.pi)


SHORT_FORMS: Mapping[str, ShortForm] = {
    "mod": _mod,
    "date_part": _date_part,
    "datepart": _date_part,
    "if": _if,
    "iif": _if,
    "log": _logarithm,
    "date_add": _added("add"),
    "date_sub": _added("subtract"),
    "date_diff": _date_diff,
    "pi": _pi,
    "to_date": _to(DATE, "yyyy-MM-dd"),
    "date": _to(DATE, "yyyy-MM-dd"),
    "to_timestamp": _to(TIMESTAMP, "yyyy-MM-dd HH:mm:ss"),
    "date_format": _date_format,
    "from_unixtime": _from_unixtime,
    "unix_timestamp": _unix_timestamp,
    "to_unix_timestamp": _unix_timestamp,
    "unix_seconds": _unix_timestamp,
    "timestamp_millis": _timestamp_millis,
    "trunc": _trunc,
    "split": _split,
    "element_at": _item,
    "array": _list,
    "locate": _locate,
    "isnull": _tested("is_null"),
    "isnotnull": _tested("is_not_null"),
    "nvl2": _nvl2,
    "json_extract": _json("json_extract"),
    "json_extract_string": _json("json_extract_string"),
}
