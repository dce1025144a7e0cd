"""Panes expressions as Spark columns: the third evaluator, beside Arrow kernels and DuckDB.

Each entry makes Spark agree with the meaning in `plan/functions.py`; the comments say where Spark on its own
would not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F

from panes.pipeline.types import spark_type
from panes.plan.expressions import Call, Case, Cast, Column, Expression, Literal
from panes.plan.types import BIGINT, DOUBLE, INT, STRING, Type

Resolve = Callable[[str], SparkColumn]

_WHOLE = 2.0**52
"""From here on every DOUBLE is a whole number."""

_WHOLE_NUMBERS = ("ceil", "floor", "round")
"""What these make of a BIGINT is the BIGINT."""

_NUMBER_TEXT = {
    INT: r"^ *[+-]?[0-9]+ *$",
    BIGINT: r"^ *[+-]?[0-9]+ *$",
    DOUBLE: r"^ *[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)? *$",
}


def spark_column(expression: Expression, resolve: Resolve) -> SparkColumn:
    """The Spark column that computes an expression; `resolve` finds the input columns by name."""
    if isinstance(expression, Column):
        return resolve(expression.name)
    if isinstance(expression, Literal):
        return F.lit(expression.value).cast(spark_type(expression.type))
    if isinstance(expression, Cast):
        return _cast(spark_column(expression.arg, resolve), expression.arg.type, expression.type)
    if isinstance(expression, Case):
        branches = [
            (spark_column(condition, resolve), spark_column(value, resolve))
            for condition, value in expression.branches
        ]
        first, *rest = branches
        chain = reduce(lambda whens, branch: whens.when(*branch), rest, F.when(*first))
        return chain.otherwise(spark_column(expression.otherwise, resolve))
    assert isinstance(expression, Call), expression
    args = [spark_column(arg, resolve) for arg in expression.args]
    if expression.function in _WITH_CONSTANTS:
        constants = [arg.value if isinstance(arg, Literal) else None for arg in expression.args]
        return _WITH_CONSTANTS[expression.function](args, constants)
    if expression.function in _WHOLE_NUMBERS and expression.type == BIGINT:
        return args[0]
    computed = SPARK_FUNCTIONS[expression.function](*args)
    # Spark's own result types differ here and there (ceil gives BIGINT, sign DOUBLE): the plan's type holds.
    return computed.cast(spark_type(expression.type))


def _cast(column: SparkColumn, source: Type, target: Type) -> SparkColumn:
    if source == STRING and target in _NUMBER_TEXT:
        # Spark also reads '1d' and 'Infinity', and fails on what it cannot read.
        return F.when(column.rlike(_NUMBER_TEXT[target]), F.trim(column).try_cast(spark_type(target)))
    return column.cast(spark_type(target))


def _whole(function: Callable[[SparkColumn], SparkColumn]) -> Callable[[SparkColumn], SparkColumn]:
    """Spark's ceil and floor give BIGINT, which a large DOUBLE does not fit."""

    def compute(x: SparkColumn) -> SparkColumn:
        return F.when(F.abs(x) < _WHOLE, function(x).cast("double")).otherwise(x)

    return compute


def _in_case(
    function: Callable[[SparkColumn], SparkColumn], kernel: Callable[[pa.Array], pa.Array], letters: list[str]
) -> Callable[[SparkColumn], SparkColumn]:
    """Java writes some letters as two (ß as SS), or by their place in the word; the kernels never do.

    Those letters are hidden behind characters that have no case, and come back in the kernels' form.
    """
    hidden = "".join(chr(0xE000 + place) for place in range(len(letters)))
    written = "".join(kernel(pa.array(letters)).to_pylist())

    def compute(text: SparkColumn) -> SparkColumn:
        return F.translate(function(F.translate(text, "".join(letters), hidden)), hidden, written)

    return compute


def _like(args: list[SparkColumn], constants: list[Any]) -> SparkColumn:
    pattern = str(constants[1])
    # Spark treats a backslash as an escape unless another character is named: take one that is not there.
    escape = next(chr(code) for code in range(1, 32) if chr(code) not in pattern)
    return F.like(args[0], F.lit(pattern), F.lit(escape))


def _substring(args: list[SparkColumn], constants: list[Any]) -> SparkColumn:
    length = constants[2] if len(constants) > 2 else 2**31 - 1
    return F.substring(args[0], int(constants[1]), int(length))


def _replace(args: list[SparkColumn], constants: list[Any]) -> SparkColumn:
    return F.replace(args[0], F.lit(constants[1]), F.lit(constants[2]))


_WITH_CONSTANTS: dict[str, Callable[[list[SparkColumn], list[Any]], SparkColumn]] = {
    "like": _like,
    "substring": _substring,
    "replace": _replace,
    "date_trunc": lambda args, constants: F.date_trunc(str(constants[0]), args[1]),
}

SPARK_FUNCTIONS: dict[str, Callable[..., SparkColumn]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "not": lambda a: ~a,
    "is_null": lambda a: a.isNull(),
    "is_not_null": lambda a: a.isNotNull(),
    "in": lambda a, *options: a.isin(*options),
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: F.try_divide(a, b),
    "modulo": lambda a, b: F.when(b != 0, F.try_mod(a, b)),
    "negate": lambda a: -a,
    "abs": F.abs,
    "sign": F.sign,
    "ceil": _whole(F.ceil),
    "floor": _whole(F.floor),
    "round": lambda x: F.round(x, 0),
    "sqrt": lambda a: F.when(a >= 0, F.sqrt(a)),
    "ln": lambda a: F.when(a > 0, F.ln(a)),
    "exp": F.exp,
    # In Java 1 to the power of infinity is not a number.
    "power": lambda a, b: F.when((a == 1) & b.isNotNull(), F.lit(1.0)).otherwise(F.pow(a, b)),
    "coalesce": F.coalesce,
    "nullif": lambda a, b: F.nullif(a, b),
    "greatest": lambda *args: F.greatest(*args) if len(args) > 1 else args[0],
    "least": lambda *args: F.least(*args) if len(args) > 1 else args[0],
    "upper": _in_case(
        F.upper, pc.utf8_upper, [c for c in map(chr, range(128, 0x10000)) if len(c.upper()) > 1]
    ),
    "lower": _in_case(F.lower, pc.utf8_lower, ["İ", "Σ"]),
    "length": F.char_length,
    "trim": F.trim,
    "ltrim": F.ltrim,
    "rtrim": F.rtrim,
    "concat": F.concat,
    "starts_with": lambda a, b: F.startswith(a, b),
    "ends_with": lambda a, b: F.endswith(a, b),
    "contains": lambda a, b: F.contains(a, b),
    "year": F.year,
    "month": F.month,
    "day": F.day,
    "hour": F.hour,
    "minute": F.minute,
    "second": F.second,
}
