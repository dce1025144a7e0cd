"""A bound query means what its text means: DuckDB agrees.

Over streams that have stopped, windows that hold everything change nothing. So the text of every query of
the corpus without its windows, given to DuckDB as it is, must have the same answer as the plan that the
binder made of it, also without its windows.
"""

from __future__ import annotations

import functools
import random
import re
from collections import Counter
from datetime import date, datetime, timedelta
from decimal import Decimal

import duckdb
import pytest
from sqlglot import exp

from panes.delta.delta import BEGINNING, EXP, FOREVER, TS
from panes.language import bind
from panes.language import statements as st
from panes.language.parser.dialect import Panes
from panes.language.parser.syntax import FromItem, Nested, Output, SelectBlock, WindowedCall
from panes.plan import nodes
from panes.plan.sql_functions import sql_type
from panes.plan.to_sql import quoted, to_sql
from panes.plan.types import BINARY, BOOLEAN, DATE, DOUBLE, FLOAT, STRING, TIMESTAMP, Type
from panes.plan.walk import walk
from tests.language.at_work import Values
from tests.language.corpus import Case, Shelf, bound, parsed, read_cases, read_catalog
from tests.language.total_orders import with_total_orders

CATALOG = read_catalog()
OTHER_IN_DUCKDB = (
    "TIME ZONE",
    "top_k", "quantile", "percentile", "approx_", "mean", "concat(", "CAST(1.9", "000001Z",
    "any_value", "first(", "last(", "mode(", "corr(", "list(", "every(", "reach(", "spread(",
    "frequent", "share(", "collect_", "date_format(", "unix_timestamp", "to_date(", "date_add(day, 7",
    "substring_index", "get_json_object", "size(", "div(", "TRY_CAST(bytes",
)  # fmt: skip
"""Queries with these have another meaning in DuckDB, or none."""


@functools.cache
def query_of(case: Case) -> st.SelectQuery | None:
    statements = parsed(case.sql)
    query = getattr(statements[0], "query", statements[0])
    if isinstance(query, st.InsertInto) and not isinstance(query.tree.expression, exp.Values):
        query = st.SelectQuery("", query.tree.expression, case.sql)
    ours = isinstance(query, st.SelectQuery) and not query.tree.find(WindowedCall)
    return query if ours and not any(word in case.sql for word in OTHER_IN_DUCKDB) else None


@functools.cache
def plan_of(case: Case) -> nodes.Node:
    query = query_of(case)
    assert query is not None
    return bound(case.sql) or bind(query, CATALOG)


CASES = [case for case in read_cases() if not case.file.startswith("refused") and query_of(case) is not None]


def small_database(rows: int, catalog: Shelf, random_value: Values) -> duckdb.DuckDBPyConnection:
    """All streams and tables of a catalog with a few random rows each, and derived streams as views."""
    connection = duckdb.connect()
    connection.execute("SET timezone = 'UTC'")
    chance = random.Random(7)
    for thing in catalog.things.values():
        if isinstance(thing, st.CreateDerivedStream | st.CreateQuery):
            connection.execute(f"CREATE VIEW {quoted(thing.name)} AS {without_windows(thing.query.tree)}")
            continue
        columns = ", ".join(f"{quoted(f.name)} {sql_type(f.type)}" for f in thing.columns)
        connection.execute(f"CREATE TABLE {thing.name} ({columns})")
        values = [[random_value(f, chance) for f in thing.columns] for _ in range(rows)]
        marks = ", ".join("?" for _ in thing.columns)
        connection.executemany(f"INSERT INTO {thing.name} VALUES ({marks})", values)
    return connection


@pytest.fixture(scope="module")
def duck() -> duckdb.DuckDBPyConnection:
    return small_database(30, CATALOG, lambda field, chance: value(field.type, chance))


def value(type_: Type, chance: random.Random) -> object:
    if chance.random() < 0.1:
        return None
    number = chance.randrange(8)
    if type_.item is not None:
        return [value(type_.item, chance) for _ in range(number % 4)]
    if type_.fields:
        return {name: value(field, chance) for name, field in type_.fields}
    if type_ == STRING:
        return chance.choice(["ftp", "telnet", "lab", "xyz", "", "It's"])
    if type_ == BOOLEAN:
        return number < 4
    if type_ == DOUBLE:
        return number / 4 + 0.25
    if type_.is_decimal:
        return Decimal(number * 25).scaleb(-type_.scale)
    if type_ == FLOAT:
        return number / 4 + 0.25
    if type_ == BINARY:
        return chance.choice([b"", b"lab", b"\x00\xff"])
    if type_ == DATE:
        return date(2026, 1, 28) + timedelta(days=number)
    if type_ == TIMESTAMP:
        return datetime(2026, 1, 31, 8) + timedelta(hours=number, microseconds=500_000)
    return number


def without_windows(tree: exp.Expression) -> str:
    tree = tree.copy()
    for output in list(tree.find_all(Output)):
        if output is tree:
            tree = output.this
        else:
            output.replace(Nested(this=output.this))
    for item in tree.find_all(FromItem):
        item.set("window", None)
    for between in list(tree.find_all(exp.Between)):
        if between.args.get("symmetric"):  # DuckDB does not know the word
            between.replace(either_way(between))
    for block in tree.find_all(SelectBlock):
        block.set("window", None)
    text = re.sub(r"\bat\b", '"at"', tree.sql(dialect=Panes))  # a word of DuckDB's own
    return text.replace("length(code)", "octet_length(code)")


def either_way(between: exp.Between) -> exp.Expression:
    """What SQL says BETWEEN SYMMETRIC means."""
    this, low, high = between.this, between.args["low"], between.args["high"]
    one, other = exp.Between(this=this, low=low, high=high), exp.Between(this=this, low=high, high=low)
    return exp.Paren(this=exp.Or(this=one.copy(), expression=other.copy()))


def bare(plan: nodes.Node) -> nodes.Node:
    """The plan without windows and output operators."""
    if isinstance(plan, nodes.Window | nodes.Istream | nodes.Dstream | nodes.Rstream | nodes.Wstream):
        return bare(plan.child)
    return nodes.with_children(plan, *map(bare, plan.children))


def leaf_sql(leaf: nodes.StreamScan | nodes.TableScan) -> str:
    """All rows. Tuples look tables up as they have always been."""
    name = leaf.stream if isinstance(leaf, nodes.StreamScan) else leaf.table
    columns = [f"{column_sql(leaf.attribute(f.name))} AS {quoted(f.name)}" for f in leaf.schema]
    if isinstance(leaf, nodes.TableScan) and leaf.stream is not None:
        columns += [f"{BEGINNING} AS {TS}", f"{FOREVER} AS {EXP}"]
    return f"SELECT {', '.join(columns)} FROM {name}"


def column_sql(name: str) -> str:
    return "0" if name == nodes.TIME else quoted(name)


def answer_of_text(
    query: st.SelectQuery, connection: duckdb.DuckDBPyConnection
) -> Counter[tuple[object, ...]]:
    return answer(without_windows(with_total_orders(query.tree, connection, without_windows)), connection)


def answer_of_plan(plan: nodes.Node, connection: duckdb.DuckDBPyConnection) -> Counter[tuple[object, ...]]:
    plan = bare(plan)
    leaves = {n: leaf_sql(n) for n in walk(plan) if isinstance(n, nodes.StreamScan | nodes.TableScan)}
    return answer(to_sql(plan, leaves), connection)


def answer(sql: str, connection: duckdb.DuckDBPyConnection) -> Counter[tuple[object, ...]]:
    return Counter(tuple(map(plain, row)) for row in connection.execute(sql).fetchall())


def plain(cell: object) -> object:
    """Values that SQL calls equal are equal: 1 and 1.0, a date and its midnight."""
    if isinstance(cell, bool) or cell is None or isinstance(cell, (str, bytes)):
        return cell
    if isinstance(cell, dict):
        return tuple(sorted((name, plain(value)) for name, value in cell.items()))
    if isinstance(cell, list):
        return tuple(map(plain, cell))
    if isinstance(cell, date) and not isinstance(cell, datetime):
        return datetime(cell.year, cell.month, cell.day)
    if isinstance(cell, datetime):
        return cell.replace(tzinfo=None)
    if isinstance(cell, list):
        return tuple(map(plain, cell))
    return round(float(str(cell)), 9)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_duckdb_gives_the_same_answer_to_the_text_and_to_the_plan(
    case: Case, duck: duckdb.DuckDBPyConnection
) -> None:
    query = query_of(case)
    assert query is not None
    assert answer_of_plan(plan_of(case), duck) == answer_of_text(query, duck)


def test_most_queries_of_the_corpus_are_compared() -> None:
    assert len(CASES) >= 150
