"""A statement printed and parsed again is the same statement."""

from __future__ import annotations

import pytest

from panes.language import parse
from panes.language import statements as st
from tests.language.corpus import Case, parsed, read_cases


def tree_of(statement: st.Statement) -> object:
    """The syntax tree of the query inside, which equality of statements does not look at."""
    query = getattr(statement, "query", getattr(statement, "target", statement))
    return getattr(query, "tree", None)


@pytest.mark.parametrize("case", [c for c in read_cases() if not c.file.startswith("refused")], ids=str)
def test_statement_printed_and_parsed_again_is_the_same(case: Case) -> None:
    for statement in parsed(case.sql):
        (again,) = parse(statement.sql)
        assert again == statement
        assert again.sql == statement.sql
        assert tree_of(again) == tree_of(statement)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT - -a, a - -1, -(-a), - 1, a - (b - 1), (a - b) - 1 FROM s1",
        "SELECT NOT a = 1, NOT (a = 1), NOT NOT a = 1 FROM s1",
        "SELECT a = 1 = TRUE, (a IS NULL) IS NULL, NOT a IS NULL FROM s1",
        "SELECT a NOT LIKE 'x' OR NOT a LIKE 'y', a NOT IN (1), a NOT BETWEEN 1 AND 2 FROM s1",
        "SELECT 'a''b', '', 'ü', '\n' FROM s1",
        'SELECT "a""b", "SELECT", "ü" FROM "two words"',
        "SELECT a FROM s1 EXCEPT ALL (SELECT a FROM s2 EXCEPT ALL SELECT a FROM s3)",
        "((SELECT a FROM s1)) UNION ((SELECT a FROM s2))",
        "SELECT CASE a WHEN 1 THEN 2 END, CASE WHEN a = 1 THEN 2 ELSE NULL END FROM s1",
        "SELECT a FROM s1 WHERE a BETWEEN 1 AND 2 AND b BETWEEN 1 + 1 AND 2 * 3",
        "SELECT count(DISTINCT a), top_k(a, 3) FROM (SELECT * FROM s1) [ROWS 3] AS x",
        "(SELECT a FROM s1 ORDER BY a LIMIT 1) UNION ALL SELECT a FROM s2 ORDER BY 1 DESC NULLS FIRST OFFSET 2",
        "SELECT DISTINCT ON (a, b + 1) a FROM s1 ORDER BY a NULLS LAST, b ASC FETCH FIRST ROW ONLY",
        'INVOKE "two words" ORDER BY "order" DESC, 2 LIMIT 3 OFFSET 1; INVOKE q OFFSET 1 ROW',
        "SET a = 1e3; SET b = -0.5; SET c = 'x'",
    ],
)
def test_awkward_text_survives_the_round_trip(sql: str) -> None:
    for statement in parse(sql):
        (again,) = parse(statement.sql)
        assert again == statement
        assert tree_of(again) == tree_of(statement)
