"""What each scalar function and cast of `plan/functions.py` is in DuckDB's SQL."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from panes.plan.can_cast import DAY_FORM, INSTANT_FORM
from panes.plan.expressions import Aggregate, Call, Literal, OwnCall
from panes.plan.time_zone import time_zone
from panes.plan.types import BIGINT, BINARY, DATE, INTERVAL, MOST_DIGITS, STRING, TIMESTAMP, Type, decimal

_NAMES = {"STRING": "VARCHAR", "BINARY": "BLOB", "INT": "INTEGER", "INTERVAL": "BIGINT", "NULL": "INTEGER"}

_FEWEST = 19
"""More digits than DuckDB keeps in 64 bits."""

_TEMPLATES: Mapping[str, str] = {
    "eq": "({0} = {1})",
    "ne": "({0} <> {1})",
    "lt": "({0} < {1})",
    "le": "({0} <= {1})",
    "gt": "({0} > {1})",
    "ge": "({0} >= {1})",
    "and": "({0} AND {1})",
    "or": "({0} OR {1})",
    "not": "(NOT {0})",
    "is_null": "({0} IS NULL)",
    "is_not_null": "({0} IS NOT NULL)",
    "is_distinct": "({0} IS DISTINCT FROM {1})",
    "is_not_distinct": "({0} IS NOT DISTINCT FROM {1})",
    "like": "({0} LIKE {1})",
    "ilike": "({0} ILIKE {1})",
    "divide": "({0} / nullif({1}, 0))",
    "modulo": "(CASE WHEN {1} = -1 THEN {0} * 0 ELSE {0} % nullif({1}, 0) END)",
    "div": "({0} // nullif({1}, 0))",
    "string_split": "string_split({0}, {1})",
    "json_extract": "(CASE WHEN json_valid({0}) THEN CAST(json_extract({0}, {1}) AS VARCHAR) END)",
    "json_extract_string": "(CASE WHEN json_valid({0}) THEN json_extract_string({0}, {1}) END)",
    "negate": "(-({0}))",
    "abs": "abs({0})",
    "sqrt": "(CASE WHEN {0} < 0 THEN NULL ELSE sqrt({0}) END)",
    "ln": "(CASE WHEN {0} <= 0 THEN NULL ELSE ln({0}) END)",
    "log10": "(CASE WHEN {0} <= 0 THEN NULL ELSE log10({0}) END)",
    "log2": "(CASE WHEN {0} <= 0 THEN NULL ELSE log2({0}) END)",
    "isnan": "isnan({0})",
    "exp": "exp({0})",
    "power": "pow({0}, {1})",
    "nullif": "nullif({0}, {1})",
    "upper": "upper({0})",
    "lower": "lower({0})",
    "repeat": "repeat({0}, {1})",
    "translate": "translate({0}, {1}, {2})",
    "split_part": "split_part({0}, {1}, {2})",
    "regexp_matches": "regexp_matches({0}, {1})",
    "regexp_full_match": "regexp_full_match({0}, {1})",
    "cbrt": "cbrt({0})",
    "sin": "(CASE WHEN isinf({0}) THEN CAST('NaN' AS DOUBLE) ELSE sin({0}) END)",
    "cos": "(CASE WHEN isinf({0}) THEN CAST('NaN' AS DOUBLE) ELSE cos({0}) END)",
    "tan": "(CASE WHEN isinf({0}) THEN CAST('NaN' AS DOUBLE) ELSE tan({0}) END)",
    "asin": "(CASE WHEN abs({0}) <= 1 OR isnan({0}) THEN asin({0}) END)",
    "acos": "(CASE WHEN abs({0}) <= 1 OR isnan({0}) THEN acos({0}) END)",
    "atan": "atan({0})",
    "atan2": "atan2({0}, {1})",
    "degrees": "degrees({0})",
    "radians": "radians({0})",
    "isfinite": "isfinite({0})",
    "isinf": "isinf({0})",
    "isoyear": "isoyear({0})",
    "date_diff": "date_diff({0}, {1}, {2})",
    "last_day": "last_day({0})",
    "dayname": "dayname({0})",
    "monthname": "monthname({0})",
    "strftime": "strftime({0}, {1})",
    "epoch": "epoch({0})",
    "epoch_ms": "((epoch_us({0}) - ((epoch_us({0}) % 1000) + 1000) % 1000) // 1000)",
    "epoch_us": "epoch_us({0})",
    "to_timestamp": "make_timestamp(CAST(round({0} * 1000000) AS BIGINT))",
    "make_timestamp": "make_timestamp({0})",
    "make_date": "(CASE WHEN {0} BETWEEN 1 AND 9999 THEN TRY(make_date({0}, {1}, {2})) END)",
    "left": '"left"({0}, {1})',
    "right": '"right"({0}, {1})',
    "lpad": "lpad({0}, CAST({1} AS INTEGER), {2})",
    "rpad": "rpad({0}, CAST({1} AS INTEGER), {2})",
    "strpos": "strpos({0}, {1})",
    "replace": "replace({0}, {1}, {2})",
    "starts_with": "starts_with({0}, {1})",
    "ends_with": "ends_with({0}, {1})",
    "contains": "contains({0}, {1})",
    "year": "year({0})",
    "quarter": "quarter({0})",
    "week": "week({0})",
    "dayofyear": "dayofyear({0})",
    "isodow": "isodow({0})",
    "month": "month({0})",
    "day": "day({0})",
    "hour": "hour({0})",
    "minute": "minute({0})",
    "second": "second({0})",
    "element": "{0}[{1}]",
    "cardinality": "len({0})",
    "array_contains": "list_contains({0}, {1})",
    "date_trunc": "CAST(date_trunc({0}, {1}) AS TIMESTAMP)",
}


def own_name(call: OwnCall | Aggregate) -> str:
    """The name of a function or an aggregate of a user in DuckDB: another one for other types."""
    how = (call.is_vectorized, call.takes_null) if isinstance(call, OwnCall) else ("aggregate",)
    types = [*(str(arg.type) for arg in call.args if arg is not None), str(call.type)]
    key = repr((call.path, types, how))
    return f"own_{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def call_sql(call: Call, args: Sequence[str]) -> str:
    """A call whose arguments are SQL already."""
    if isinstance(call, OwnCall):
        return f"{own_name(call)}({', '.join(args)})"
    template = _TEMPLATES.get(call.function)
    return template.format(*args) if template else _SPECIAL[call.function](call, args)


def cast_sql(arg: str, source: Type, target: Type) -> str:
    if source == STRING and target.is_integer:
        guard = f"regexp_full_match({arg}, ' *[+-]?[0-9]+ *')"
        return f"(CASE WHEN {guard} THEN TRY_CAST(trim({arg}, ' ') AS {sql_type(target)}) END)"
    if source == STRING and target.is_floating:
        guard = rf"regexp_full_match({arg}, ' *[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)? *')"
        return f"(CASE WHEN {guard} THEN TRY_CAST(trim({arg}, ' ') AS {sql_type(target)}) END)"
    if source == STRING and target.is_decimal:
        guard = rf"regexp_full_match({arg}, ' *[+-]?([0-9]{{1,38}}(\.[0-9]{{0,38}})?|\.[0-9]{{1,38}}) *')"
        return f"(CASE WHEN {guard} THEN TRY_CAST(trim({arg}, ' ') AS {sql_type(target)}) END)"
    if source == STRING and target in (DATE, TIMESTAMP):
        form = DAY_FORM if target == DATE else INSTANT_FORM
        guard = f"regexp_full_match({arg}, '{form}') AND trim({arg}, ' ')[1:4] <> '0000'"
        return f"(CASE WHEN {guard} THEN TRY_CAST(trim({arg}, ' ') AS {sql_type(target)}) END)"
    if source == STRING and target == BINARY:
        return f"encode({arg})"
    if source == BINARY and target == STRING:
        return f"decode({arg})"
    if source.is_floating and target.is_decimal:
        # As `delta/decimals.py` does it: the only steps that round are a product of doubles and its rounding.
        whole = f"CAST(CAST(round(CAST({arg} AS DOUBLE) * 1e{target.scale}) AS BIGINT) AS DECIMAL(19, 0))"
        unit = (
            f"CAST('{Decimal(1).scaleb(-target.scale):f}' AS DECIMAL({max(target.scale, 1)}, {target.scale}))"
        )
        return f"CAST({whole} * {unit} AS {sql_type(target)})"
    if source.is_decimal and target.is_floating:
        return f"CAST(CAST({arg} AS VARCHAR) AS {sql_type(target)})"
    if source.is_decimal and target == STRING:
        # Without a digit before the point there is no zero in front of it.
        return rf"regexp_replace(CAST({arg} AS VARCHAR), '^(-?)\.', '\10.')"
    if (source.is_floating or source.is_decimal) and target.is_integer:
        return f"CAST(trunc({arg}) AS {sql_type(target)})"
    return f"CAST({arg} AS {sql_type(target)})"


def sql_type(type_: Type) -> str:
    if type_.item:
        return f"{sql_type(type_.item)}[]"
    if type_.fields:
        inside = (f"{quoted(name)} {sql_type(field)}" for name, field in type_.fields)
        return f"STRUCT({', '.join(inside)})"
    return str(type_) if type_.is_decimal else _NAMES.get(type_.name, type_.name)


def _in(_: Call, args: Sequence[str]) -> str:
    return f"({args[0]} IN ({', '.join(args[1:])}))"


def _add(call: Call, args: Sequence[str]) -> str:
    if call.type == TIMESTAMP:
        types = [arg.type for arg in call.args]
        instant, length = args if types[1] == INTERVAL else reversed(args)
        return f"make_timestamp(epoch_us({instant}) + {length})"
    return _calculated("+", call, args)


def _subtract(call: Call, args: Sequence[str]) -> str:
    if call.type == TIMESTAMP:
        return f"make_timestamp(epoch_us({args[0]}) - {args[1]})"
    if call.type == INTERVAL and call.args[0].type == TIMESTAMP:
        return f"(epoch_us({args[0]}) - epoch_us({args[1]}))"
    return _calculated("-", call, args)


def _multiply(call: Call, args: Sequence[str]) -> str:
    return _calculated("*", call, args)


def _calculated(symbol: str, call: Call, args: Sequence[str]) -> str:
    """Two numbers. DuckDB keeps DECIMALs of up to 18 digits within 18, so they are given more."""
    if not call.type.is_decimal:
        return f"({args[0]} {symbol} {args[1]})"
    own = [call.type] * 2 if symbol != "*" else [arg.type for arg in call.args]
    wide = [decimal(max(type_.precision, _FEWEST), type_.scale) for type_ in own]
    left, right = (f"CAST({arg} AS {sql_type(type_)})" for arg, type_ in zip(args, wide, strict=True))
    return f"CAST({left} {symbol} {right} AS {sql_type(call.type)})"


def _length(call: Call, args: Sequence[str]) -> str:
    return f"{'octet_length' if call.args[0].type == BINARY else 'length'}({args[0]})"


def _sign(call: Call, args: Sequence[str]) -> str:
    return f"CAST(sign({args[0]}) AS {sql_type(call.type)})"


def _unless_whole(name: str) -> Callable[[Call, Sequence[str]], str]:
    """Integers are whole already."""

    def written(call: Call, args: Sequence[str]) -> str:
        if call.type == BIGINT:
            return args[0]
        if not call.type.is_decimal:
            return f"{name}({args[0]})"
        # One more digit than the argument has, where there can be one.
        own = call.args[0].type
        wide = decimal(min(own.precision + 1, MOST_DIGITS), own.scale)
        return f"CAST({name}(CAST({args[0]} AS {sql_type(wide)})) AS {sql_type(call.type)})"

    return written


def _variadic(name: str) -> Callable[[Call, Sequence[str]], str]:
    return lambda _, args: f"{name}({', '.join(args)})"


def _round(call: Call, args: Sequence[str]) -> str:
    if len(args) == 2:
        return f"round({args[0]}, CAST({args[1]} AS INTEGER))"
    return _unless_whole("round")(call, args)


def _regexp_extract(_: Call, args: Sequence[str]) -> str:
    text, pattern, *group = args
    return f"regexp_extract({text}, {pattern}, CAST({group[0] if group else 0} AS INTEGER))"


def _trim(name: str) -> Callable[[Call, Sequence[str]], str]:
    return lambda _, args: f"{name}({args[0]}, {args[1] if len(args) == 2 else chr(39) + ' ' + chr(39)})"


def _array(call: Call, args: Sequence[str]) -> str:
    return f"CAST([{', '.join(args)}] AS {sql_type(call.type)})"


def quoted(name: str) -> str:
    """A name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def _substring_index(call: Call, args: Sequence[str]) -> str:
    literal = call.args[2]
    assert isinstance(literal, Literal)
    count = int(str(literal.value))
    some = f"[1:{count}]" if count >= 0 else f"[{count}:]"
    # Beyond the first part, a slice that begins before it is empty in DuckDB.
    whole = f"len(string_split({args[0]}, {args[1]})) <= {abs(count)}"
    return (
        f"(CASE WHEN {whole} THEN {args[0]} ELSE "
        f"array_to_string(string_split({args[0]}, {args[1]}){some}, {args[1]}) END)"
    )


def _at_time_zone(call: Call, args: Sequence[str]) -> str:
    """By the same table as elsewhere: the zones that DuckDB knows may have other rules."""
    literal = call.args[1]
    assert isinstance(literal, Literal)
    zone = time_zone(str(literal.value))
    instant = f"epoch_us({args[0]})"
    # DuckDB cannot tell the type of an empty list.
    changes = f"CAST({zone.changes.tolist()} AS BIGINT[])"
    number = f"len(list_filter({changes}, lambda change: change <= {instant}))"
    return f"make_timestamp({instant} + CAST({zone.ahead.tolist()} AS BIGINT[])[1 + {number}])"


def _concat(_: Call, args: Sequence[str]) -> str:
    return f"({' || '.join(args)})"


_SPECIAL: Mapping[str, Callable[[Call, Sequence[str]], str]] = {
    "in": _in,
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "length": _length,
    "sign": _sign,
    "ceil": _unless_whole("ceil"),
    "floor": _unless_whole("floor"),
    "round": _round,
    "trim": _trim("trim"),
    "ltrim": _trim("ltrim"),
    "rtrim": _trim("rtrim"),
    "regexp_replace": _variadic("regexp_replace"),
    "regexp_extract": _regexp_extract,
    "trunc": _unless_whole("trunc"),
    "coalesce": _variadic("coalesce"),
    "greatest": _variadic("greatest"),
    "least": _variadic("least"),
    "substring": _variadic("substring"),
    "substring_index": _substring_index,
    "concat": _concat,
    "at_time_zone": _at_time_zone,
    "array": _array,
    "concat_ws": _variadic("concat_ws"),
}
