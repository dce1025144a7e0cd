"""Every scalar function and cast gives what DuckDB gives, on columns full of odd values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import product
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from panes.delta.arrow_functions import KERNELS
from panes.delta.casts import cast
from panes.delta.evaluate import evaluate
from panes.errors import EvaluationError
from panes.plan.can_cast import CASTS
from panes.plan.expressions import Call, Case, Cast, Column, Expression, Literal
from panes.plan.functions import DATE_PARTS, DIFF_UNITS, FUNCTIONS, TRUNC_UNITS
from panes.plan.to_sql import expression_sql
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
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Type,
    decimal,
    list_of,
)

UTC = UTC
NUMBERS, TEXTS_OF = list_of(DOUBLE), list_of(STRING)
MOST = Decimal("9" * 36 + ".99")
MONEY, TINY, HUGE, FINE = decimal(5, 2), decimal(4, 4), decimal(38, 2), decimal(38, 14)
VALUES: dict[Type, list[Any]] = {
    BOOLEAN: [True, False, None],
    TINYINT: [0, 1, -1, 127, -128, None],
    SMALLINT: [0, -1, 2**15 - 1, -(2**15), None],
    MONEY: [Decimal(number) for number in ("0", "0.01", "-0.01", "1.50", "-2.50", "999.99", "-999.99")],
    TINY: [Decimal("0"), Decimal("0.0001"), Decimal("-0.5"), Decimal("0.9999"), None],
    HUGE: [Decimal("0.07"), Decimal("-12345678901234567890.5"), MOST, MOST.copy_negate(), None],
    FINE: [Decimal(2**64 - 1), Decimal("-18446744073709551614.00000000000001"), Decimal("-1.5"), None],
    FLOAT: [0.0, 1.0, 0.5, -2.5, 0.10000000149011612, 3.4028234663852886e38, math.inf, -math.inf, None],
    BINARY: [b"", b"a", b"\x00", b"ab\xff", b"\xff", None],
    INT: [0, 1, -1, 7, 2**31 - 1, -(2**31), None],
    BIGINT: [0, 1, -1, 3, -7, 12345678901, 2**62, -(2**63), 2**63 - 1, None],
    DOUBLE: [0.0, -0.0, 1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-300, 123456.789, 1e18, math.inf, -math.inf, None],
    STRING: ["", " ", "a", "A", "abc", " pad ", "straße", "ñandú", "日本語", "a%b_c", "x\ny", "back\\slash",
             "ab.c*", "12", "STRAẞE", "ÑANDÚ", "ΣΑΣ", "σας", "İi", "ǅ", None],
    DATE: [date(1970, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31), None],
    TIMESTAMP: [datetime(1970, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
                datetime(2024, 2, 29, 12, 34, 56, 789, tzinfo=UTC), datetime(1900, 1, 1, tzinfo=UTC),
                datetime(2020, 12, 31, tzinfo=UTC), datetime(2021, 1, 3, 23, tzinfo=UTC),
                datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC), None],
}  # fmt: skip
SMALL = {
    BIGINT: [0, 1, -1, 3, -7, 1000, None],
    HUGE: [Decimal("0.07"), Decimal("-12345678901234567890.5"), None],
    TIMESTAMP: [t for t in VALUES[TIMESTAMP] if t is None or 1 < t.year < 9999],
}
"""Where a result must fit."""
DOCUMENTS = {
    STRING: ['{"a": {"b": [1, "two", null]}}', '{"a": 1.50}', '{"a": "x\\ny"}', '{"a b": true, "a": null}', 
             "[[1, 2]]", '"text"', "null", "", "{", "12", '{"a": 1e5, "a": 2}', None],
}  # fmt: skip
OTHERS: dict[str, dict[Type, list[Any]]] = {
    "to_timestamp": {DOUBLE: [0.0, -1.5, 1.7e9, 0.0000004, 1e-300, 1234567.8912345, None]},
    "make_timestamp": SMALL,
    "div": SMALL,
    "json_extract": DOCUMENTS,
    "json_extract_string": DOCUMENTS,
    "make_date": {BIGINT: [0, 1, 2, 4, 12, 13, 29, 30, 31, -5, 1900, 2000, 2023, None]},
    "date_diff": {TIMESTAMP: VALUES[TIMESTAMP][:6]},
}
"""Values for which a function is defined, or which are many enough for it."""
UNITS = {"date_trunc": TRUNC_UNITS, "date_diff": DIFF_UNITS}
CONSTANTS: dict[str, list[tuple[Any, ...]]] = {
    "like": [("a%",), ("%b%",), ("_b_",), ("",), ("%",), ("a\\%b%",), ("ab.c*",), ("x_y",), ("___",)],
    "ilike": [
        ("A%",),
        ("%B%",),
        ("_b_",),
        ("",),
        ("%",),
        ("STRA%E",),
        ("%SS%",),
        ("ÑANDÚ",),
        ("Σ%σ",),
        ("i%",),
    ],
    "substring": [(1,), (2,), (5,), (2, 2), (1, 0), (3, 100), (-2,), (-3, 2)],
    "left": [(0,), (1,), (2,), (100,)],
    "right": [(0,), (1,), (2,), (100,)],
    "lpad": [(0, "x"), (2, " "), (6, "日"), (3, "*")],
    "rpad": [(0, "x"), (2, " "), (6, "日"), (3, "*")],
    "strpos": [("a",), ("",), ("bc",), ("本",), (".c*",), ("ße",), ("\n",), ("\\s",)],
    "replace": [("a", "b"), ("", "x"), ("ab", ""), (" ", "__")],
    "starts_with": [("a",), ("",), ("日",)],
    "ends_with": [("c",), ("",), ("語",)],
    "contains": [("b",), ("",), (".",)],
    "at_time_zone": [("Europe/Berlin",), ("America/New_York",), ("UTC",), ("Asia/Kolkata",)],
    "round": [(), (0,), (1,), (2,), (3,), (-1,), (-4,)],
    "trim": [(), (" ",), ("a ",), ("日語",), ("-]^\\",)],
    "ltrim": [(), (" ",), ("xab",), ("ñ",)],
    "rtrim": [(), (" ",), ("cb",), ("e",)],
    "repeat": [(0,), (1,), (3,)],
    "translate": [("a", "b"), ("ab", "x"), ("ñb", "bñ"), ("aa", "xy"), ("", "x"), (" %", "日_"), ("a", "xyz")],
    "split_part": [("b", 1), ("b", 2), (" ", 2), ("a", -1), ("ß", -2), ("a", 7), ("日", 1), (".", 2)],
    "regexp_matches": [
        ("b",), ("^a",), ("c$",), ("[A-Z]+",), ("(?i)STRA",), (".y",), ("",), ("^$",), ("\\d{2}",), ("x.y",),
        ("\\\\",), ("a|日",), ("(a)(b)?",), ("\\bpad\\b",), ("^y",), ("(?m)^y",), ("\\pL+ß",),
    ],
    "regexp_full_match": [("a.*",), ("a|abc",), ("x.y",), ("(?s)x.y",), ("",), ("[^a]*",), (" ?pad ?",)],
    "regexp_replace": [
        ("a", "x"), ("[a-c]", "<\\0>", "g"), ("(.)b", "\\1\\1"), ("b*", "-", "g"), ("b*", "-"), ("^", "> "),
        ("$", "!", "g"), ("日|語", "", "g"), (".", "\\\\", "g"),
    ],
    "regexp_extract": [
        ("[a-c]+",), ("(.)b(.)?", 2), ("(.)b(.)?", 1), ("b|a", 0), ("^(a|ab)(c|bcd)?", 1), ("z",), ("本.",),
        (".y",), ("(?i)S+",), ("a*",),
    ],
    "string_split": [("b",), ("a",), (".",), ("日",), (" ",), ("ab",)],
    "substring_index": [("b", 1), ("a", -1), (" ", 2), (" ", -2), (".", 0), ("本", 1), ("a", 9), ("a", -9)],
    "json_extract": [("$.a",), ("$.a.b[1]",), ("$[0]",), ('$."a b"',), ("$",)],
    "json_extract_string": [("$.a",), ("$.a.b[1]",), ("$[0]",), ('$."a b"',), ("$",)],
    "strftime": [("%Y-%m-%d",), ("%H:%M:%S",), ("%j %a %A %b %B",), ("%I %p %y %% x",)],
}  # fmt: skip
LISTS: dict[Type, list[Any]] = {
    NUMBERS: [[], [1.0], [0.5, None, 1.5], [math.inf, -2.5], None],
    TEXTS_OF: [[], ["a"], ["abc", None], ["", "a", "日本語"], None],
}
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "is_distinct", "is_not_distinct")
ARGUMENTS: dict[str, list[tuple[Type, ...]]] = {
    **{name: [(t, t) for t in VALUES] for name in (*COMPARISONS, "nullif")},
    **{name: [(t, t, t) for t in VALUES] for name in ("in", "coalesce", "greatest", "least")},
    **{name: [(t,) for t in VALUES] for name in ("is_null", "is_not_null")},
    "and": [(BOOLEAN, BOOLEAN)],
    "or": [(BOOLEAN, BOOLEAN)],
    "not": [(BOOLEAN,)],
    **{
        name: [
            (BIGINT, BIGINT),
            (DOUBLE, DOUBLE),
            (MONEY, MONEY),
            (MONEY, TINY),
            (TINY, HUGE),
            (decimal(19, 0), MONEY),
        ]
        for name in ("add", "subtract", "multiply")
    },
    "divide": [(DOUBLE, DOUBLE)],
    "modulo": [(BIGINT, BIGINT)],
    "div": [(BIGINT, BIGINT)],
    **{
        name: [(BIGINT,), (DOUBLE,), (MONEY,), (TINY,), (HUGE,), (FINE,)]
        for name in ("negate", "abs", "sign", "ceil", "floor", "round", "trunc")
    },
    **{name: [(DOUBLE,)] for name in ("sqrt", "ln", "log10", "log2", "exp", "isnan")},
    "power": [(DOUBLE, DOUBLE)],
    **{name: [(STRING,)] for name in ("upper", "lower")},
    "length": [(STRING,), (BINARY,)],
    **{name: [(STRING,)] for name in CONSTANTS if name not in ("round", "strftime")},
    **{name: [(DOUBLE,)] for name in ("cbrt", "sin", "cos", "tan", "asin", "acos", "atan", "degrees")},
    **{name: [(DOUBLE,)] for name in ("radians", "isfinite", "isinf", "to_timestamp")},
    "atan2": [(DOUBLE, DOUBLE)],
    **{name: [(TIMESTAMP,)] for name in ("isoyear", "last_day", "dayname", "monthname", "strftime")},
    **{name: [(TIMESTAMP,)] for name in ("epoch", "epoch_ms", "epoch_us")},
    "date_diff": [(TIMESTAMP, TIMESTAMP)],
    "make_timestamp": [(BIGINT,)],
    "make_date": [(BIGINT, BIGINT, BIGINT)],
    "concat_ws": [(STRING,), (STRING, STRING, STRING)],
    "concat": [(STRING, STRING), (STRING, STRING, STRING)],
    **{name: [(TIMESTAMP,)] for name in DATE_PARTS if name in FUNCTIONS},
    "date_trunc": [(TIMESTAMP,)],
    "at_time_zone": [(TIMESTAMP,)],
    "array": [(BIGINT,), (STRING, STRING), (DOUBLE, DOUBLE, DOUBLE)],
    "element": [(NUMBERS, BIGINT), (TEXTS_OF, BIGINT)],
    "cardinality": [(NUMBERS,), (TEXTS_OF,)],
    "array_contains": [(NUMBERS, DOUBLE), (TEXTS_OF, STRING)],
}
EXACT = {"at_time_zone", "add", "subtract", "multiply", "negate", "abs", "ceil", "floor", "round"}


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def table_of(types: tuple[Type, ...], values: dict[Type, list[Any]] | None = None) -> pa.Table:
    """Every combination of the odd values."""
    known = {**VALUES, **LISTS, **(values or {})}
    lists = [known.get(t, [1, -7, None]) for t in types]
    rows = list(product(*lists))
    columns = {f"c{n}": pa.array([row[n] for row in rows], t.arrow) for n, t in enumerate(types)}
    return pa.table(columns)


def by_duckdb(connection: duckdb.DuckDBPyConnection, expression: Expression, table: pa.Table) -> list[Any]:
    naive = [c.cast(pa.timestamp("us")) if pa.types.is_timestamp(c.type) else c for c in table.columns]
    connection.register("t", pa.table(naive, names=table.column_names))
    result = connection.sql(f"SELECT {expression_sql(expression)} FROM t").to_arrow_table().column(0)
    if expression.type == INTERVAL:
        return list(result.cast(pa.duration("us")).to_pylist())
    return list(result.cast(expression.type.arrow).to_pylist())


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-14) or a == b
    return bool(a == b)


def check(connection: duckdb.DuckDBPyConnection, expression: Expression, table: pa.Table) -> None:
    ours = evaluate(expression, table).to_pylist()
    theirs = by_duckdb(connection, expression, table)
    wrong = [(row, a, b) for row, a, b in zip(table.to_pylist(), ours, theirs, strict=True) if not same(a, b)]
    assert not wrong, f"{expression}: {wrong[:5]}"


def columns(types: tuple[Type, ...]) -> tuple[Expression, ...]:
    return tuple(Column(t, f"c{n}") for n, t in enumerate(types))


def call(name: str, args: tuple[Expression, ...]) -> Call:
    return Call(FUNCTIONS[name].signature([arg.type for arg in args]).result, name, args)


def test_there_is_a_kernel_for_every_function_and_none_besides() -> None:
    assert KERNELS.keys() == FUNCTIONS.keys()


def test_every_function_is_compared() -> None:
    assert ARGUMENTS.keys() == FUNCTIONS.keys()


@pytest.mark.parametrize(
    ("name", "types"), [(name, types) for name, all_types in ARGUMENTS.items() for types in all_types]
)
def test_function_agrees_with_duckdb(
    connection: duckdb.DuckDBPyConnection, name: str, types: tuple[Type, ...]
) -> None:
    table = table_of(types, SMALL if name in EXACT else OTHERS.get(name))
    if name in UNITS:
        for unit in UNITS[name]:
            check(connection, call(name, (Literal(STRING, unit), *columns(types))), table)
    elif name == "concat_ws":
        for separator in ("", ", ", "ñ"):
            check(connection, call(name, (Literal(STRING, separator), *columns(types))), table)
    elif name in CONSTANTS:
        for constants in CONSTANTS[name] if name != "round" or types == (DOUBLE,) else [()]:
            literals = tuple(Literal(BIGINT if isinstance(c, int) else STRING, c) for c in constants)
            check(connection, call(name, (*columns(types), *literals)), table)
    else:
        check(connection, call(name, columns(types)), table)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_function_of_constants_agrees_with_function_of_columns(name: str) -> None:
    for types in ARGUMENTS[name]:
        table = table_of(types, OTHERS.get(name, SMALL)).slice(0, 40)
        extra = CONSTANTS.get(name, [()])[0]
        literals = tuple(Literal(BIGINT if isinstance(c, int) else STRING, c) for c in extra)
        first = (Literal(STRING, "day"),) if name in ("concat_ws", *UNITS) else ()
        over_columns = evaluate(call(name, (*first, *columns(types), *literals)), table).to_pylist()
        for row, expected in zip(table.to_pylist(), over_columns, strict=True):
            args = tuple(Literal(t, row[f"c{n}"]) for n, t in enumerate(types))
            (value,) = evaluate(call(name, (*first, *args, *literals)), table.slice(0, 1)).to_pylist()
            assert same(value, expected)


@pytest.mark.parametrize("name", [*COMPARISONS, "greatest", "least", "in"])
def test_nan_equals_nan_and_is_greater_than_all_numbers(
    connection: duckdb.DuckDBPyConnection, name: str
) -> None:
    check(
        connection,
        call(name, columns((DOUBLE, DOUBLE))),
        table_of((DOUBLE, DOUBLE), {DOUBLE: [math.nan, 1.0, math.inf, None]}),
    )


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("add", (2**63 - 1, 1)),
        ("subtract", (-(2**63), 1)),
        ("multiply", (2**62, 2)),
        ("negate", (-(2**63),)),
        ("abs", (-(2**63),)),
    ],
)
def test_integers_beyond_64_bits_are_an_error(name: str, args: tuple[int, ...]) -> None:
    table = pa.table({f"c{n}": pa.array([arg], pa.int64()) for n, arg in enumerate(args)})
    with pytest.raises(EvaluationError, match=r"overflow"):
        evaluate(call(name, columns((BIGINT,) * len(args))), table)


def test_instants_and_lengths_of_time_add_up(connection: duckdb.DuckDBPyConnection) -> None:
    table = table_of((TIMESTAMP, TIMESTAMP), {TIMESTAMP: [*VALUES[TIMESTAMP][:4], None]})
    a, b = columns((TIMESTAMP, TIMESTAMP))
    hour = Literal(INTERVAL, timedelta(hours=1))
    between = call("subtract", (a, b))
    for expression in (
        between,
        call("add", (a, hour)),
        call("add", (hour, a)),
        call("subtract", (a, hour)),
        call("add", (between, hour)),
        call("negate", (between,)),
        call("gt", (between, hour)),
    ):
        check(connection, expression, table)


TEXTS = [
    "12", " 12 ", "+5", "-7", "007", "", " ", "abc", "1.5", ".5", "5.", "1e3", "-1E-3", "1e", "--1",
    "99999999999", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1" * 50,
    "nan", "inf", "0x10", "0.005", "-0.005", "999.995", "123456.7", "0.00005", "-.5", "1." + "1" * 39, None,
]  # fmt: skip


DECIMALS = (MONEY, TINY, HUGE, decimal(12, 6), decimal(3, 0))
SAMPLES = {DECIMAL: DECIMALS}
PAIRS = [
    (source, target)
    for pair in CASTS
    if pair[0] not in (NULL, INTERVAL)
    for source, target in product(*(SAMPLES.get(family, (family,)) for family in pair))
    if source != target
]
INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)
SHORT: dict[str, list[Any]] = {
    "TINYINT": [0, 1, -1, None],
    "SMALLINT": [0, 7, -7, None],
    "INT": [0, 99, -99, None],
    "BIGINT": [1, -9, None],
    "FLOAT": [0.0, 1.5, -1.5, 2.5, 0.25, 99.0625, None],
    "DOUBLE": [0.0, -0.0, 1.5, -1.5, 2.5, 0.999999, 1.005, 2.675, -0.1, 99.9, None],
    "DECIMAL": [Decimal("0"), Decimal("0.5"), Decimal("-0.25"), None],
}
"""Numbers that most types have room for."""


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=lambda type_: str(type_))
def test_cast_agrees_with_duckdb(connection: duckdb.DuckDBPyConnection, source: Type, target: Type) -> None:
    values: list[Any] | None = None
    if source == STRING:
        values = TEXTS
    elif target.is_integer or target.is_decimal:
        values = SHORT.get(source.name)
        if target == TINY:
            values = [v for v in values or () if v is None or abs(v) < 0.9]
        if source.is_decimal and source.scale < 2:
            values = [Decimal(0), Decimal(7), None] if target != TINY else [Decimal(0), None]
    elif target == FLOAT and source == DOUBLE:
        values = [0.0, 0.1, -1e30, 1e-50, math.inf, None]
    elif target == STRING:
        values = {
            DATE: [date(1970, 1, 1), date(2024, 2, 29), None],
            BINARY: [b"", "日本".encode(), None],
        }.get(source)
    table = table_of((source,), {source: values} if values else None)
    check(connection, Cast(target, Column(source, "c0")), table)


@pytest.mark.parametrize(
    ("source", "target", "value"),
    [
        (DOUBLE, BIGINT, 1e19),
        (DOUBLE, INT, 3e9),
        (DOUBLE, BIGINT, math.nan),
        (BIGINT, INT, 2**31),
        (INT, SMALLINT, 2**15),
        (SMALLINT, TINYINT, -129),
        (DOUBLE, FLOAT, 1e39),
        (BIGINT, MONEY, 1000),
        (DOUBLE, MONEY, 999.995),
        (DOUBLE, HUGE, 1e17),
        (DOUBLE, MONEY, math.nan),
        (HUGE, MONEY, Decimal("1000")),
        (HUGE, BIGINT, Decimal("9223372036854775808")),
        (BINARY, STRING, b"\xff"),
    ],
)
def test_cast_of_what_does_not_fit_is_an_error(source: Type, target: Type, value: Any) -> None:
    table = pa.table({"c0": pa.array([value], source.arrow)})
    with pytest.raises(EvaluationError):
        evaluate(Cast(target, Column(source, "c0")), table)


@pytest.mark.parametrize("target", [DATE, TIMESTAMP])
def test_text_is_read_as_days_and_instants(connection: duckdb.DuckDBPyConnection, target: Type) -> None:
    days = [
        "2026-01-31",
        "0001-01-01",
        "9999-12-31",
        "2024-02-29",
        "2023-02-29",
        "2026-13-01",
        "2026-00-10",
        "0000-01-01",
    ]
    times = [
        "12:34",
        "23:59:59",
        "00:00:00.5",
        "12:34:56.789012",
        "24:00",
        "12:60",
        "12:00:60",
        "12:34:56.1234567",
        "1:00",
    ]
    texts = [
        *days,
        *(
            f"2026-01-31{gap}{time}{end}"
            for gap in " T"
            for time in times
            for end in ("", "Z", " ", "+01:00")
        ),
    ]
    texts += ["", " 2026-01-31 ", "2026-1-31", "26-01-31", "x2026-01-31", "2026-01-31\n", "2026-01-31Z", None]
    table = pa.table({"c0": pa.array(texts, pa.string())})
    check(connection, Cast(target, Column(STRING, "c0")), table)


def test_null_of_no_type_takes_any() -> None:
    for type_ in VALUES:
        assert cast(pa.nulls(2), NULL, type_).type == type_.arrow


def test_case_takes_the_first_true_branch(connection: duckdb.DuckDBPyConnection) -> None:
    table = table_of((BIGINT, STRING), SMALL)
    number, text = columns((BIGINT, STRING))
    zero = Literal(BIGINT, 0)
    case = Case(
        STRING,
        (
            (call("gt", (number, zero)), text),
            (call("eq", (number, zero)), Literal(STRING, "zero")),
        ),
        Literal(STRING, None),
    )
    check(connection, case, table)


def test_branch_that_is_not_taken_raises_nothing() -> None:
    table = pa.table({"c0": pa.array([1, 2**62], pa.int64())})
    number = Column(BIGINT, "c0")
    doubled = call("add", (call("add", (number, number)), number))
    small = call("lt", (number, Literal(BIGINT, 100)))
    case = Case(BIGINT, ((small, doubled),), Literal(BIGINT, -1))
    assert evaluate(case, table).to_pylist() == [3, -1]


def test_expression_over_no_rows_has_its_type() -> None:
    table = table_of((BIGINT, STRING)).slice(0, 0)
    assert evaluate(call("upper", (Column(STRING, "c1"),)), table).type == pa.string()
    assert evaluate(Literal(DOUBLE, 1.5), table).to_pylist() == []
