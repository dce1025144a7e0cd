"""The tables of `docs/from-spark.md`: each row runs, here and in DuckDB, or is refused with a hint."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from panes.delta.delta import BEGINNING, FOREVER, TS
from panes.delta.evaluate import evaluate
from panes.errors import SqlError
from panes.language import bind
from panes.language import statements as st
from panes.plan import nodes
from panes.plan.to_sql import expression_sql
from panes.testing import Oracle
from tests.language.at_work import AtWork
from tests.language.corpus import Case, Shelf, bound, parsed, read_cases, read_catalog
from tests.language.test_meaning import value as random_value
from tests.properties.shards import Shards

PAGE = Path(__file__).parent.parent.parent / "docs" / "from-spark.md"
CATALOG = read_catalog(
    "CREATE STREAM s (at TIMESTAMP, day DATE, x BIGINT, ratio DOUBLE, name STRING, nothing STRING, "
    "written STRING, doc STRING, items BIGINT[]) TIMESTAMP BY at"
)
AT = datetime.datetime(2026, 1, 31, 12, 34, 56, 500_000, tzinfo=datetime.UTC)
ROW = {
    "at": AT, "day": AT.date(), "x": -7, "ratio": 2.5, "name": "a.b.c", "nothing": None, "written": "2026-01-31",
    "doc": '{"a": {"b": [1, "two"]}, "n": 1.50}', "items": [3, 1, 3],
}  # fmt: skip


AT_WORK = [
    case
    for case in read_cases("functions.txt") + read_cases("aggregates.txt") + read_cases("over.txt")
    if case.title
    in (
        "rlike and regexp", "null-safe equality", "whole quotients", "casts that may not fit",
        "instants as text and back", "patterns of dates", "seconds since 1970", "days later", "texts that are cut",
        "items of lists by name", "JSON in texts", "percentiles within a group", "aggregates of Spark",
        "medians and quantiles of frames", "values at a share of a frame",
    )
]  # fmt: skip
"""Queries of the corpus in words that DuckDB does not have, or understands in another way."""


def rows_of(table: str) -> list[tuple[str, ...]]:
    """The rows of a table of the page: what stands between backticks in each cell."""
    found = re.search(rf"<!-- {table} -->\n(.*?)<!-- end -->", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    lines = found[1].splitlines()[2:]
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    return [tuple(cell.strip().strip("`").replace("\\|", "|") for cell in row) for row in cells]


SAME, ALSO, DIFFERENT, AGGREGATES = map(rows_of, ("same", "also", "different", "aggregates"))


def plan_of(expression: str, catalog: Shelf = CATALOG) -> nodes.Node:
    (query,) = parsed(f"SELECT {expression} AS answer FROM s [RANGE 1 HOUR]")
    assert isinstance(query, st.SelectQuery)
    return bind(query, catalog)


def value_of(expression: str) -> Any:
    """The value over the one row, which DuckDB gives as well."""
    plan = plan_of(expression)
    assert isinstance(plan, nodes.Project)
    ((_, bound),) = plan.columns
    stream = CATALOG.things["s"]
    assert isinstance(stream, st.CreateStream)
    table = pa.table({f"s.{f.name}": pa.array([ROW[f.name]], f.type.arrow) for f in stream.columns})
    (value,) = evaluate(bound, table).to_pylist()
    with duckdb.connect() as connection:
        connection.execute("SET timezone = 'UTC'")
        naive = table.set_column(0, "s.at", table.column("s.at").cast(pa.timestamp("us")))
        connection.register("one", naive)
        (expected,) = connection.execute(f"SELECT {expression_sql(bound)} FROM one").fetchone() or ()
    plain = value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value
    assert plain == expected
    return plain


@pytest.mark.parametrize(("expression", "gives"), [*SAME, *ALSO])
def test_expression_gives_what_the_page_says(expression: str, gives: str) -> None:
    assert repr(value_of(expression)) == gives


@pytest.mark.parametrize(("spark", "here", "gives", "_because"), DIFFERENT)
def test_what_is_different_is_refused_with_a_hint(spark: str, here: str, gives: str, _because: str) -> None:
    with pytest.raises(SqlError) as refused:
        plan_of(spark)
    lines = str(refused.value).splitlines()
    assert len(lines) == 4, "there is no hint"
    assert "did you mean" not in lines[-1]
    assert not lines[-1].strip().startswith("there are")
    assert repr(value_of(here)) == gives


@pytest.mark.parametrize(("expression", "gives"), AGGREGATES)
@pytest.mark.parametrize("shards", [1, 2])
def test_aggregate_gives_what_the_page_says(expression: str, gives: str, shards: int) -> None:
    plan = plan_of(expression)
    stream = CATALOG.things["s"]
    assert isinstance(stream, st.CreateStream)
    rows = [ROW | {"x": x} for x in (10, 2, 1, 2)]
    arrived = pa.table(
        {f.name: pa.array([row[f.name] for row in rows], f.type.arrow) for f in stream.columns}
    )
    instant = int(AT.timestamp() * 1_000_000)
    arrived = arrived.append_column(TS, pa.array([instant] * len(rows)))
    query = Shards.of(plan, shards)
    query.process({"s": arrived}, BEGINNING, instant)
    (answer,) = query.answer(instant).column("answer").to_pylist()
    assert repr(answer) == gives
    (expected,) = (
        Oracle({"s": arrived}, duckdb.connect()).answer_at(plan, instant).column("answer").to_pylist()
    )
    assert answer == expected
    assert instant < FOREVER


@pytest.fixture(scope="module")
def at_work() -> AtWork:
    return AtWork(read_catalog(), lambda field, chance: random_value(field.type, chance))


@pytest.mark.parametrize("case", AT_WORK, ids=str)
def test_answers_at_work_are_those_of_duckdb(case: Case, at_work: AtWork) -> None:
    plan = bound(case.sql)
    assert plan is not None
    at_work.check(plan)


def test_all_of_the_corpus_that_is_meant_is_there() -> None:
    assert len(AT_WORK) == 15
