"""Spark computes every function and cast as the Arrow kernels do."""

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from panes.delta.evaluate import evaluate
from panes.pipeline.expressions import spark_column
from panes.pipeline.session import epoch_session
from panes.plan.expressions import Case, Cast, Column, Expression, Literal
from panes.plan.functions import CASTS, FUNCTIONS, TRUNC_UNITS
from panes.plan.types import BIGINT, BOOLEAN, DOUBLE, INT, INTERVAL, NULL, STRING, TIMESTAMP, Type
from tests.delta.test_functions import (
    ARGUMENTS,
    CONSTANTS,
    EXACT_IN_64_BITS,
    SMALL,
    TEXTS,
    call,
    columns,
    same,
    table_of,
)

DOUBLES_THAT_FIT = [0.0, -0.0, 1.5, -1.5, 2.5, 0.999999, 2147483646.9, None]
INTS_THAT_FIT = [1, -(2**31), None]


def calls(name: str, types: tuple[Type, ...]) -> Iterator[Expression]:
    if name == "date_trunc":
        for unit in TRUNC_UNITS:
            yield call(name, (Literal(STRING, unit), *columns(types)))
    for constants in CONSTANTS.get(name, [()]):
        if name != "date_trunc":
            literals = tuple(Literal(BIGINT if isinstance(c, int) else STRING, c) for c in constants)
            yield call(name, (*columns(types), *literals))


def check(spark, expressions: list[Expression], table: pa.Table) -> None:
    """One job for many expressions over one table."""
    frame = epoch_session(spark).createDataFrame(table)
    computed = [
        spark_column(expression, F.col).alias(f"e{number}") for number, expression in enumerate(expressions)
    ]
    by_spark = frame.coalesce(1).select(*computed).toArrow()
    for number, expression in enumerate(expressions):
        theirs = by_spark.column(number).cast(expression.type.arrow).to_pylist()
        ours = evaluate(expression, table).to_pylist()
        rows = zip(table.to_pylist(), ours, theirs, strict=True)
        wrong = [(row, a, b) for row, a, b in rows if not same(a, b)]
        assert not wrong, f"{expression}: row, Arrow, Spark: {wrong[:5]}"


def by_arguments() -> dict[tuple[tuple[Type, ...], bool], list[Expression]]:
    """All calls of all functions, by the columns they need, so that one job checks many."""
    found: dict[tuple[tuple[Type, ...], bool], list[Expression]] = {}
    for name, all_types in ARGUMENTS.items():
        for types in all_types:
            found.setdefault((types, name in EXACT_IN_64_BITS), []).extend(calls(name, types))
    return found


@pytest.mark.parametrize(
    "key", by_arguments(), ids=lambda key: "-".join(map(str, key[0])) + "-small" * key[1]
)
def test_functions_agree(spark, key):
    types, is_small = key
    check(spark, by_arguments()[key], table_of(types, SMALL if is_small else None))


def test_every_function_is_compared():
    assert {e.function for es in by_arguments().values() for e in es} == FUNCTIONS.keys()


def test_casts_agree(spark):
    for source, target in CASTS:
        if source in (NULL, INTERVAL):
            continue
        values = {STRING: TEXTS}
        if target in (INT, BIGINT):
            values |= {DOUBLE: DOUBLES_THAT_FIT, BIGINT: INTS_THAT_FIT}
        check(spark, [Cast(target, Column(source, "c0"))], table_of((source,), values))


def test_case_agrees(spark):
    flag, number = Column(BOOLEAN, "c0"), Column(BIGINT, "c1")
    one, none = Literal(BIGINT, 1), Literal(BIGINT, None)
    expressions = [
        Case(BIGINT, ((flag, number),), none),
        Case(BIGINT, ((flag, one), (call("gt", (number, one)), number)), Literal(BIGINT, -5)),
    ]
    check(spark, expressions, table_of((BOOLEAN, BIGINT)))


def test_instants_and_lengths_of_time_agree(spark):
    a, b = columns((TIMESTAMP, TIMESTAMP))
    between = call("subtract", (a, b))
    check(
        spark,
        [between, call("add", (b, between)), call("lt", (between, call("negate", (between,))))],
        table_of((TIMESTAMP, TIMESTAMP)),
    )


def test_letters_that_java_writes_as_two_agree(spark):
    words = ["Maß", "ﬁn", "İstanbul", "ΟΔΟΣ", "ᾳ", "ŉ"]
    text = Column(STRING, "c0")
    check(spark, [call("upper", (text,)), call("lower", (text,))], table_of((STRING,), {STRING: words}))
