"""Names: what can be one, and that no two columns of a plan have the same, whatever users write."""

import pytest

from panes.language import bind, parse
from panes.language.names import quoted, why_no_column, why_no_name
from panes.language.statements import Drop
from panes.plan.walk import walk
from tests.language.corpus import read_catalog


@pytest.mark.parametrize(
    "name",
    ["team.daily", "/data/precious", "*", "../x", "x" * 300, 'a"b', "a\nb", "$1", "`", "ü", "select", " "],
)
def test_anything_that_can_be_read_is_a_name_and_comes_back_from_its_quotes(name):
    assert why_no_name(name) is None
    (statement,) = parse(f"DROP QUERY {quoted(name)}")
    assert statement == Drop("QUERY", name)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "it is empty"),
        ("a\0b", "it has a control character"),
        ("\x1b[31m", "it has a control character"),
        ("a\ud800", "it has a character that is no text"),
        ("x" * 1001, "it has 1001 characters, and 1000 are the most"),
    ],
)
def test_what_cannot_be_a_name_is_told_why(name, why):
    assert why_no_name(name) == why


def test_columns_have_no_dots():
    assert why_no_column("a.b") == "column names have no dots"
    assert why_no_column("a b") is None


ODD = read_catalog("""
    CREATE STREAM odd (ts BIGINT, a BIGINT, "A + 1" BIGINT, "b)" BIGINT, w STRING) TIMESTAMP BY ts SECONDS;
    CREATE STREAM other (ts BIGINT, a BIGINT, b BIGINT) TIMESTAMP BY ts SECONDS;
""")


@pytest.mark.parametrize(
    "query",
    [
        # To DuckDB names that differ in their case are one.
        "SELECT sum(CASE WHEN w = 'a' THEN 1 END) AS x, sum(CASE WHEN w = 'A' THEN 1 END) AS y FROM odd [NOW]",
        'SELECT a + 1 AS x, "A + 1" AS y, count(*) AS n FROM odd [NOW] GROUP BY a + 1, "A + 1"',
        "SELECT x.ts FROM odd [NOW] x, other [NOW] y WHERE x.a + 1 = y.b AND x.\"A + 1\" = y.a",
        # A column whose name looks like an aggregate, or like an expression of the other side.
        'SELECT "max(p"."b)" AS x, max(p.b) AS y FROM other [NOW] p, odd [NOW] "max(p" GROUP BY "max(p"."b)"',
        'SELECT y.ts FROM other [NOW] y, other [NOW] "y.a + y" WHERE y.a + y.b = "y.a + y".ts',
        'SELECT "y.a + y".b FROM other [NOW] y, other [NOW] "y.a + y" WHERE y.a + y.b = "y.a + y".ts',
        # Two keys that look the same.
        "SELECT x.ts FROM odd [NOW] x, other [NOW] y WHERE x.w || 'b' = CAST(y.a AS STRING) "
        "AND x.w || 'B' = CAST(y.b AS STRING)",
    ],
)  # fmt: skip
def test_no_two_columns_of_an_edge_have_one_name(query):
    (statement,) = parse(query)
    for node in walk(bind(statement, ODD)):
        names = [name.casefold() for name in node.schema.names]
        assert len(names) == len(set(names)), names
