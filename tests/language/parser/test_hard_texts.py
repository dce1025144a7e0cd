"""Texts that are hard on a parser: refused with their place, or understood in little time."""

from __future__ import annotations

import pytest

import panes
from panes.errors import CatalogError, SqlError
from panes.language import parse

TEXTS = {
    "types": f"CREATE TABLE t (k BIGINT{'[]' * 1000})",
    "a cast": f"SELECT CAST(NULL AS BIGINT{'[]' * 1000}) FROM s [NOW]",
    "structs": f"CREATE TABLE t (k {'STRUCT<a ' * 1000}BIGINT{'>' * 1000})",
    "arrays": f"CREATE TABLE t (k {'ARRAY<' * 1000}BIGINT{'>' * 1000})",
    "parentheses": f"SELECT {'(' * 1000}1{')' * 1000} FROM s [NOW]",
    "cases": f"SELECT {'CASE WHEN TRUE THEN ' * 1000}1{' END' * 1000} FROM s [NOW]",
    "subqueries": f"SELECT * FROM {'(SELECT * FROM ' * 1000}t{')' * 1000}",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_is_nested_too_deep_is_refused_with_its_place(name):
    with pytest.raises(SqlError, match="this is nested more than 40 levels deep") as refused:
        parse(TEXTS[name])
    assert refused.value.column > 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT '\udcff' AS x FROM t",
        "INSERT INTO t VALUES ('\udcff')",
        "COPY t FROM '\udcff'",
        'SELECT k AS "\udcff" FROM t',
        "SELECT k FROM t -- \udcff",
    ],
)
def test_half_of_a_surrogate_pair_is_refused_with_its_place(text):
    with pytest.raises(SqlError, match="this is a character that is no text") as refused:
        parse(text)
    assert refused.value.column == text.index("\udcff") + 1


def test_a_name_with_half_of_a_surrogate_pair_is_refused_wherever_it_is_given(tmp_path):
    with panes.connect(tmp_path / "db") as db:
        for call in (
            lambda: db.query("\udcff"),
            lambda: db.push("\udcff", [(1,)]),
            lambda: db.load("\udcff", [(1,)]),
        ):
            with pytest.raises(CatalogError, match="a character that is no text"):
                call()
