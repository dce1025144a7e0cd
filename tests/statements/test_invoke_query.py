"""INVOKE …"""

from __future__ import annotations

import pytest

from panes import errors


def test_invoke_gives_what_the_query_gives(db):
    query = db.register("SELECT src AS host FROM packets [RANGE 1 MINUTE]", name="sources")
    assert db.sql("INVOKE sources") is query.invoke()


def test_a_query_that_is_not_there_cannot_be_invoked(db):
    with pytest.raises(errors.CatalogError, match="no query named 'sources'"):
        db.sql("INVOKE sources")


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        ("hos = 1", "there is no column named 'hos'"),
        ("host", "WHERE needs a condition"),
        ("host IN (SELECT src FROM packets [NOW])", "reads only the rows of the answer"),
        ("count(*) > 1", "aggregate"),
    ],
)
def test_a_condition_reads_one_row_of_the_answer(db, condition, problem):
    query = db.register("SELECT src AS host FROM packets [RANGE 1 MINUTE]", name="sources")
    with pytest.raises(errors.SqlError, match=problem):
        db.sql(f"INVOKE sources WHERE {condition}")
    with pytest.raises(errors.SqlError, match=problem):
        query.invoke(where=condition)


def test_values_of_columns_are_a_condition(db):
    query = db.register('SELECT src AS "the host", proto FROM packets [RANGE 1 MINUTE]', name="sources")
    for where in ({"the host": 7, "proto": None}, {"THE HOST": 7}, {}, "proto = 'tcp' AND \"the host\" > 3"):
        assert len(query.invoke(where=where)) == 0
    with pytest.raises(errors.SqlError, match="no column named 'host'"):
        query.invoke(where={"host": 1})
