"""WITH: the queries that it names stand where they are read, and what comes of it can be read again."""

from __future__ import annotations

import pytest

from panes.errors import SqlError
from panes.language import parse, statements
from panes.language.binder.names_read import names_read


def chain(count: int, from_: str) -> str:
    """So many queries, each of which reads the one before; `from_` is its FROM."""
    queries = [f"a{n} AS (SELECT x.a FROM {from_.format(f'a{n - 1}')})" for n in range(1, count)]
    return f"WITH {', '.join(['a0 AS (SELECT a FROM s1)', *queries])} SELECT a FROM a{count - 1}"


def query_of(sql: str) -> statements.SelectQuery:
    (query,) = parse(sql)
    assert isinstance(query, statements.SelectQuery)
    return query


def test_deepest_chain_can_be_read_again() -> None:
    query = query_of(chain(40, "{} x"))
    assert query_of(query.sql) == query


def test_chain_that_would_be_too_deep_in_place_is_refused() -> None:
    with pytest.raises(
        SqlError, match=r"with the queries of WITH inside, this is nested more than 40 levels"
    ):
        parse(chain(41, "{} x"))


def test_queries_that_double_each_other_are_refused_before_they_fill_the_memory() -> None:
    with pytest.raises(SqlError, match=r"longer than 100000 characters"):
        parse(chain(30, "{0} x, {0} y"))


def test_every_statement_begins_anew() -> None:
    text = chain(10, "{0} x, {0} y")
    assert len(parse("; ".join([text] * 10))) == 10
    first, second = parse("WITH x AS (SELECT a FROM s1) SELECT a FROM x; SELECT a FROM x")
    assert first.sql != second.sql == "SELECT a FROM x"


def test_names_of_with_are_not_read_from_the_database() -> None:
    query = query_of("WITH x AS (SELECT a FROM s1), s2 AS (SELECT a FROM s2) SELECT x.a FROM x, s2")
    assert names_read(query) == {"s1", "s2"}
    query = query_of("WITH x AS (SELECT a FROM s1) SELECT a FROM (SELECT a FROM x) y")
    assert names_read(query) == {"s1"}
