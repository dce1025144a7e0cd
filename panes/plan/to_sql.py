"""Plans and expressions as SQL for DuckDB, over tables that hold the window contents.

The text means exactly what `plan/functions.py` says. A TIMESTAMP is DuckDB's TIMESTAMP without a zone, in
UTC, and an INTERVAL is a BIGINT of microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from panes.plan import nodes
from panes.plan.aggregates import exact_share
from panes.plan.durations import length_us
from panes.plan.expressions import (
    Aggregate,
    Call,
    Case,
    Cast,
    Column,
    Constants,
    Expression,
    FieldOf,
    Literal,
    Value,
)
from panes.plan.lookups import Matching
from panes.plan.over_functions import NEIGHBORS, OF_VALUES, PICKED, Distance, Frame, OverFunction
from panes.plan.sort_key import SortKey, total_order
from panes.plan.sql_functions import call_sql, cast_sql, own_name, quoted, sql_type
from panes.plan.types import INTERVAL, STRING, Type

_LIFETIME = ("_ts", "_exp")
"""The columns that say from when on and until when a version of a row is in its table."""


def to_sql(plan: nodes.Node, relations: Mapping[nodes.Node, str], hidden: Sequence[str] = ()) -> str:
    """A SELECT that gives the answer of the plan.

    `relations` has, for every leaf (or any other sub-plan), the SELECT that gives its rows; for a table that is
    looked up all versions of its rows, with the instants from which and until which (`_ts`, `_exp`) each is in it.
    Columns named in `hidden` are handed through selections, projections, unnest, unions and the left sides of
    lookups.
    """
    return _Writer(relations, hidden).select(plan)


class _Writer:
    def __init__(self, relations: Mapping[nodes.Node, str], hidden: Sequence[str]) -> None:
        self._relations = relations
        self._hidden = [quoted(name) for name in hidden]

    def select(self, node: nodes.Node) -> str:
        if node in self._relations:
            return self._relations[node]
        match node:
            case nodes.Values():
                return _values(node)
            case nodes.Select():
                return f"SELECT * FROM ({self.select(node.child)}) WHERE {expression_sql(node.predicate)}"
            case nodes.Project():
                shown = [f"{expression_sql(e)} AS {quoted(name)}" for name, e in node.columns]
                return f"SELECT {', '.join(shown + self._hidden)} FROM ({self.select(node.child)})"
            case nodes.Unnest():
                item = f"unnest({expression_sql(node.expression)}) AS {quoted(node.column)}"
                shown = [*map(quoted, node.child.schema.names), item]
                return f"SELECT {', '.join(shown + self._hidden)} FROM ({self.select(node.child)})"
            case nodes.Distinct():
                return f"SELECT DISTINCT * FROM ({self.select(node.child)})"
            case nodes.GroupBy():
                return self._group_by(node)
            case nodes.Over():
                shown = [f"{over_sql(f, node)} AS {quoted(f.name)}" for f in node.functions]
                return f"SELECT *, {', '.join(shown)} FROM ({self.select(node.child)})"
            case nodes.TopN():
                return self._top_n(node)
            case nodes.OrderBy():
                columns = ", ".join(map(quoted, node.schema.names))
                order = order_sql(total_order(node.order, node.child.schema.names))
                return f"SELECT {columns} FROM ({self.select(node.child)}) ORDER BY {order}"
            case nodes.Join():
                return self._join(node, "JOIN")
            case nodes.OuterJoin():
                return self._join(node, "FULL JOIN" if node.is_full else "LEFT JOIN")
            case nodes.SemiJoin():
                return self._exists(node, "EXISTS", _matching(node, null_matches=False))
            case nodes.AntiJoin():
                return self._exists(node, "NOT EXISTS", _matching(node, null_matches=node.null_aware))
            case nodes.Union():
                return self._set_operation(node, "UNION ALL")
            case nodes.Intersect():
                return self._set_operation(node, "INTERSECT ALL")
            case nodes.Except():
                return self._set_operation(node, "EXCEPT ALL")
        raise TypeError(f"{type(node).__name__} is not a relation that SQL can give")

    def _group_by(self, node: nodes.GroupBy) -> str:
        keys = [quoted(key) for key in node.keys]
        columns = keys + [f"{aggregate_sql(a)} AS {quoted(a.name)}" for a in node.aggregates]
        by = f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"SELECT {', '.join(columns)} FROM ({self.select(node.child)}){by}"

    def _top_n(self, node: nodes.TopN) -> str:
        columns = ", ".join(map(quoted, node.schema.names))
        by = f"PARTITION BY {', '.join(map(quoted, node.partition_by))} " if node.partition_by else ""
        order = order_sql(total_order(node.order, node.schema.names))
        numbered = (
            f"SELECT *, row_number() OVER ({by}ORDER BY {order}) AS _place FROM ({self.select(node.child)})"
        )
        places = f"_place > {node.offset} AND _place <= {node.offset + node.limit}"
        return f"SELECT {columns} FROM ({numbered}) WHERE {places}"

    def _join(self, node: nodes.Join | nodes.OuterJoin, word: str) -> str:
        both = ["l.*", *(f"r.{quoted(name)}" for name in node.right.schema.names)]
        left, right = self.select(node.left), self._right(node)
        on = _matching(node, null_matches=False)
        return f"SELECT {', '.join(both)} FROM ({left}) l {word} ({right}) r ON {on}"

    def _exists(self, node: nodes.SemiJoin | nodes.AntiJoin, word: str, on: str) -> str:
        inner = f"SELECT 1 FROM ({self._right(node)}) r WHERE {on}"
        return f"SELECT * FROM ({self.select(node.left)}) l WHERE {word} ({inner})"

    def _right(self, node: Matching) -> str:
        hidden = () if node.time is None else _LIFETIME
        return _Writer(self._relations, hidden).select(node.right)

    def _set_operation(self, node: nodes.Union | nodes.Intersect | nodes.Except, word: str) -> str:
        return f"({self.select(node.left)}) {word} ({self.select(node.right)})"


def _values(node: nodes.Values) -> str:
    types = node.schema.types
    rows = (", ".join(map(literal_sql, row, types)) for row in node.rows)
    names = ", ".join(map(quoted, node.schema.names))
    return f"SELECT * FROM (VALUES {', '.join(f'({row})' for row in rows)}) AS v({names})"


def _matching(node: Matching, *, null_matches: bool) -> str:
    parts = []
    for left, right in zip(node.left_keys, node.right_keys, strict=True):
        a, b = f"l.{quoted(left)}", f"r.{quoted(right)}"
        same = f"{a} = {b}"
        parts.append(f"({same} OR {a} IS NULL OR {b} IS NULL)" if null_matches else same)
    if node.residual is not None:
        sides = dict.fromkeys(node.right.schema.names, "r") | dict.fromkeys(node.left.schema.names, "l")
        parts.append(f"({expression_sql(node.residual, sides)})")
    if node.time is not None:
        time, (begin, end) = f"l.{quoted(node.time)}", _LIFETIME
        parts.append(f"r.{begin} <= {time} AND {time} < r.{end}")
    return " AND ".join(parts) or "TRUE"


def expression_sql(expression: Expression, sides: Mapping[str, str] | None = None) -> str:
    """An expression; `sides` gives the alias of the table that a column is to be read from."""
    match expression:
        case Column():
            side = sides.get(expression.name) if sides else None
            return f"{side}.{quoted(expression.name)}" if side else quoted(expression.name)
        case Literal():
            return literal_sql(expression.value, expression.type)
        case Constants():
            return ", ".join(_listed_sql(value, expression.type) for value in expression.values)
        case Call():
            return call_sql(expression, [expression_sql(arg, sides) for arg in expression.args])
        case Cast():
            return cast_sql(expression_sql(expression.arg, sides), expression.arg.type, expression.type)
        case FieldOf():
            name = expression.name.replace("'", "''")
            return f"struct_extract({expression_sql(expression.arg, sides)}, '{name}')"
        case Case():
            whens = "".join(
                f" WHEN {expression_sql(c, sides)} THEN {expression_sql(v, sides)}"
                for c, v in expression.branches
            )
            return f"CASE{whens} ELSE {expression_sql(expression.otherwise, sides)} END"
    raise TypeError(f"{type(expression).__name__} is not an expression")


def _listed_sql(value: Value, type_: Type) -> str:
    """A constant of an IN list. DuckDB reads numbers and texts much faster than casts, and compares them in the
    type of the value before the list."""
    if isinstance(value, int) and type_.is_integer:
        return str(value)
    if isinstance(value, str) and type_ == STRING:
        return _text_sql(value)
    return literal_sql(value, type_)


def _text_sql(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def literal_sql(value: Value, type_: Type) -> str:
    if value is None:
        return f"CAST(NULL AS {sql_type(type_)})"
    if isinstance(value, timedelta):
        return f"CAST({length_us(value)} AS {sql_type(INTERVAL)})"
    if isinstance(value, datetime):
        utc = value.astimezone(UTC) if value.tzinfo else value
        return f"TIMESTAMP '{utc.replace(tzinfo=None)}'"
    if isinstance(value, date):
        return f"DATE '{value}'"
    if isinstance(value, bytes):
        return f"unhex('{value.hex()}')"
    if isinstance(value, Decimal):
        return f"CAST('{value:f}' AS {sql_type(type_)})"
    text = _text_sql(value) if isinstance(value, str) else f"'{value}'"
    return f"CAST({text} AS {sql_type(type_)})"


def aggregate_sql(aggregate: Aggregate) -> str:
    """An aggregate; the approximate forms exactly. `frequent` has none: it is what a standing query keeps."""
    if aggregate.arg is None:
        return "count(*)"
    arg = expression_sql(aggregate.arg)
    if aggregate.path:
        return f"{own_name(aggregate)}(array_agg({arg} ORDER BY {arg}) FILTER (WHERE {arg} IS NOT NULL))"
    match aggregate.function:
        case "count" if aggregate.distinct:
            return f"count(DISTINCT {arg})"
        case "sum":
            return f"CAST(sum({'DISTINCT ' * aggregate.distinct}{arg}) AS {sql_type(aggregate.type)})"
        case "avg" if aggregate.distinct:
            return f"avg(DISTINCT {arg})"
        case "approx_count_distinct":
            return f"count(DISTINCT {arg})"
        case "quantile" | "approx_quantile":
            return f"quantile_cont({arg}, {aggregate.parameters[0]!s})"
        case "quantile_disc":
            return f"quantile_disc({arg}, {exact_share(aggregate.parameters[0]):f})"
        case "median":
            return f"quantile_cont({arg}, 0.5)"
        case "top_k" if aggregate.by is not None:
            return _heaviest_sql(arg, expression_sql(aggregate.by), aggregate.parameters[0])
        case "top_k" | "approx_top_k":
            return _top_k_sql(arg, aggregate.parameters[0])
        case "top_k_counts":
            return _top_k_sql(arg, aggregate.parameters[0], "{'value': e.v, 'n': -e.n}")
        case "mode":
            return f"{_top_k_sql(arg, 1)}[1]"
        case "min_by" | "first" | "max_by" | "last" | "array_agg" | "string_agg":
            return _list_sql(aggregate, arg)
        case "corr" | "covar_samp" | "covar_pop" | "var_samp" | "var_pop" | "stddev_samp" | "stddev_pop":
            return _moment_sql(aggregate, arg)
    return f"{aggregate.function}({arg})"


_OVER_NAMES = {"median": "quantile_cont", "quantile": "quantile_cont"}


def over_sql(function: OverFunction, node: nodes.Over) -> str:
    """A function of OVER; one that tells peers apart goes by the total order."""
    total = total_order(node.order, node.child.schema.names)
    by = f"PARTITION BY {', '.join(map(quoted, node.partition_by))} " if node.partition_by else ""
    frame = function.frame
    inside = [] if function.arg is None else [expression_sql(function.arg)]
    if function.function in NEIGHBORS:
        distance, default = function.parameters
        inside += [str(distance), literal_sql(default, function.type)]
    elif function.function in OF_VALUES and function.function != "mode":
        inside.append(f"{exact_share(*function.parameters or (0.5,)):f}")
    else:
        inside += map(str, function.parameters)
    arguments = ", ".join(inside) or ("*" if function.function == "count" else "")
    keys = total if function.tells_peers_apart else node.order
    if function.function in PICKED and frame is not None and not frame.by_rows:
        # Peers are in the frame together, and the total order tells which of them comes first.
        arguments, keys = f"{arguments} ORDER BY {order_sql(total)}", node.order
    order = f"ORDER BY {order_sql(keys)}" if keys else ""
    within = f" {_frame_sql(frame)}" if frame is not None and (keys or not frame.is_whole) else ""
    window = f"OVER ({by}{order}{within})"
    if function.function == "mode":
        return f"{_most_frequent_sql(f'histogram({inside[0]}) {window}', 1)}[1]"
    called = f"{_OVER_NAMES.get(function.function, function.function)}({arguments}) {window}"
    return f"CAST({called} AS {sql_type(function.type)})" if function.function == "sum" else called


def _frame_sql(frame: Frame) -> str:
    ends = (_end_sql(frame.start, "PRECEDING"), _end_sql(frame.end, "FOLLOWING"))
    return f"{'ROWS' if frame.by_rows else 'RANGE'} BETWEEN {' AND '.join(ends)}"


def _end_sql(distance: Distance | None, unbounded: str) -> str:
    if distance is None:
        return f"UNBOUNDED {unbounded}"
    amount = length_us(distance) if isinstance(distance, timedelta) else distance
    if not amount:
        return "CURRENT ROW"
    text = f"to_microseconds({abs(amount)})" if isinstance(distance, timedelta) else str(abs(amount))
    return f"{text} {'PRECEDING' if amount < 0 else 'FOLLOWING'}"


def _list_sql(aggregate: Aggregate, arg: str) -> str:
    """The values in their order, or the first of them."""
    by = arg if aggregate.by is None else expression_sql(aggregate.by)
    first_desc = aggregate.descending or aggregate.function in ("max_by", "last")
    order = f"{by} {'DESC' if first_desc else 'ASC'} NULLS LAST"
    if aggregate.by is not None:
        order += f", {arg} {'DESC' if aggregate.function == 'last' else 'ASC'}"
    inside = f"{'DISTINCT ' * aggregate.distinct}{arg}"
    if aggregate.function == "string_agg":
        return f"string_agg({inside}, {literal_sql(aggregate.parameters[0], STRING)} ORDER BY {order})"
    there = f"{arg} IS NOT NULL"
    if aggregate.function == "array_agg":
        return f"array_agg({inside} ORDER BY {order}) FILTER (WHERE {there})"
    return f"(array_agg({inside} ORDER BY {order}) FILTER (WHERE {there} AND {by} IS NOT NULL))[1]"


def _moment_sql(aggregate: Aggregate, arg: str) -> str:
    """Variances and their like; NaN where a value is not finite."""
    by = None if aggregate.by is None else expression_sql(aggregate.by)
    args = arg if by is None else f"{arg}, {by}"
    odd = f"NOT isfinite({arg})" if by is None else f"NOT (isfinite({arg}) AND isfinite({by}))"
    least = 2 if aggregate.function.endswith("_samp") else 1
    there = f"count({arg})" if by is None else f"count({arg}) FILTER (WHERE {by} IS NOT NULL)"
    whens = f"WHEN {there} < {least} THEN NULL WHEN bool_or({odd}) THEN CAST('NaN' AS DOUBLE)"
    if by is not None and aggregate.function == "corr":
        still = [
            f"min({one}) FILTER (WHERE {other} IS NOT NULL) = max({one}) FILTER (WHERE {other} IS NOT NULL)"
            for one, other in ((arg, by), (by, arg))
        ]
        whens += f" WHEN {' OR '.join(still)} THEN NULL"
    call = f"{aggregate.function}({args}) FILTER (WHERE NOT ({odd}))"
    return f"(CASE {whens} ELSE {call} END)"


def _heaviest_sql(arg: str, weight: str, k: Value) -> str:
    """The values with the greatest sums of weights: first the pairs that differ, with how often each occurs."""
    pairs = (
        f"histogram({{'v': {arg}, 'w': {weight}}}) FILTER (WHERE {arg} IS NOT NULL AND {weight} IS NOT NULL)"
    )
    of_value = "list_filter(p, lambda e: e.key.v = v)"
    summed = f"list_sum(list_transform({of_value}, lambda e: e.key.w::HUGEINT * e.value))"
    values = "list_distinct(list_transform(p, lambda e: e.key.v))"
    each = f"list_transform({values}, lambda v: {{'n': -{summed}, 'v': v}})"
    # A list of one list: what is inside is computed once, and has a name.
    named = (
        f"list_transform([map_entries({pairs})], lambda p: list_transform(list_sort({each}), lambda e: e.v))"
    )
    return f"{named}[1][1:{k!s}]"


def _top_k_sql(arg: str, k: Value, item: str = "e.v") -> str:
    return _most_frequent_sql(f"histogram({arg})", k, item)


def _most_frequent_sql(histogram: str, k: Value, item: str = "e.v") -> str:
    counted = f"list_transform(map_entries({histogram}), lambda e: {{'n': -e.value::BIGINT, 'v': e.key}})"
    return f"list_transform(list_sort({counted}), lambda e: {item})[1:{k!s}]"


def order_sql(order: Sequence[SortKey]) -> str:
    """What stands after ORDER BY."""
    parts = []
    for key in order:
        way, nulls = "DESC" if key.descending else "ASC", "FIRST" if key.nulls_first else "LAST"
        parts.append(f"{quoted(key.column)} {way} NULLS {nulls}")
    return ", ".join(parts)


__all__ = ["aggregate_sql", "expression_sql", "literal_sql", "order_sql", "quoted", "to_sql"]
