"""CREATE FUNCTION and CREATE AGGREGATE: functions of users by import path, asked once."""

from __future__ import annotations

import pyarrow as pa
import pytest

import panes
from panes import errors
from tests import own


@pytest.fixture
def numbers(db):
    db.sql("CREATE TABLE t (k BIGINT, x DOUBLE, n BIGINT, w STRING)")
    db.sql("INSERT INTO t VALUES (1, 1.5, 3, 'a'), (1, NULL, NULL, 'b'), (2, 2.0, 7, NULL), (1, 4.0, 8, 'c')")
    return db


def asked(db, sql):
    return sorted((tuple(row.values()) for row in db.sql(sql).to_pylist()), key=str)


def test_function_over_arrays_is_the_default_where_it_takes_them(numbers):
    numbers.create_function("doubled", own.doubled, returns="DOUBLE", takes=["DOUBLE"])
    assert asked(numbers, "SELECT doubled(x) AS d FROM t") == [(3.0,), (4.0,), (8.0,), (None,)]
    (shown,) = numbers.sql("SHOW FUNCTIONS").to_pylist()
    assert (
        shown["sql"] == "CREATE FUNCTION doubled (x1 DOUBLE) RETURNS DOUBLE AS 'tests.own:doubled' VECTORIZED"
    )


def test_types_are_told_by_annotations(numbers):
    numbers.create_function("shout", own.shout)
    assert asked(numbers, "SELECT shout(w, 2) AS s FROM t") == [("A!!",), ("B!!",), ("C!!",), (None,)]


def test_function_that_wants_nulls_gets_them(numbers):
    numbers.sql(
        "CREATE FUNCTION or_zero(n BIGINT) RETURNS BIGINT AS 'tests.own:or_zero' CALLED ON NULL INPUT"
    )
    assert asked(numbers, "SELECT or_zero(n) AS n FROM t WHERE or_zero(n) < 8") == [(0,), (3,), (7,)]


def test_aggregate_of_a_user(numbers):
    numbers.create_aggregate("spread", own.Spread, returns="BIGINT", takes=["BIGINT"])
    sql = "SELECT k, spread(n) AS s, spread(n) FILTER (WHERE n < 5) AS few FROM t GROUP BY k"
    assert asked(numbers, sql) == [(1, 5, 0), (2, 0, None)]


def test_function_of_a_user_is_kept_and_found_again(numbers, tmp_path):
    numbers.create_function("doubled", own.doubled, returns="DOUBLE", takes=["DOUBLE"])
    numbers.close()
    with panes.connect(tmp_path / "db") as again:
        assert asked(again, "SELECT doubled(x) AS d FROM t WHERE k = 2") == [(4.0,)]
    with panes.connect(tmp_path / "db", read_only=True) as reader:
        assert asked(reader, "SELECT doubled(x) AS d FROM t WHERE k = 2") == [(4.0,)]


def nested():
    def inside(x: int) -> int:
        return x

    return inside


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda x: x, "a lambda or inside another function"),
        (nested(), "a lambda or inside another function"),
        ("nowhere:f", "cannot be imported: No module named 'nowhere'"),
        ("math:nothing", "cannot be imported"),
        ("math", "is no import path; write it as 'module:function'"),
        ("math:pi", "math:pi cannot be called"),
    ],
)
def test_what_tasks_cannot_import_is_refused(db, function, why):
    with pytest.raises(errors.CatalogError, match=why):
        db.create_function("f", function, returns="DOUBLE", takes=["DOUBLE"])


def test_function_of_the_script_that_runs_is_refused(db, monkeypatch):
    monkeypatch.setattr(own.shout, "__module__", "__main__")
    with pytest.raises(errors.CatalogError, match="put it at the top level of a module"):
        db.create_function("f", own.shout)


def test_what_is_no_function_is_refused(db):
    with pytest.raises(errors.CatalogError, match="is a function of the language"):
        db.create_function("upper", own.shout)
    with pytest.raises(errors.CatalogError, match="takes= is needed"):
        db.create_function("doubled", own.doubled, returns="DOUBLE")
    with pytest.raises(errors.CatalogError, match=r"it has no zero, add, result"):
        db.create_aggregate("f", "math:sqrt", returns="DOUBLE", takes=["DOUBLE"])
    with pytest.raises(errors.CatalogError, match="takes one column"):
        db.create_aggregate("f", own.Spread, returns="BIGINT", takes=["BIGINT", "BIGINT"])
    db.create_function("shout", own.shout)
    with pytest.raises(errors.CatalogError, match="there is already a function named 'shout'"):
        db.create_function("shout", own.shout)


@pytest.mark.parametrize(
    ("path", "returns", "why"),
    [
        ("math:sqrt", "DOUBLE", r"the function f \(math:sqrt\) failed: ValueError"),
        (
            "tests.own:wrong_length",
            "DOUBLE",
            r"the function f \(tests.own:wrong_length\) gave 3 values for 4 rows",
        ),
        ("builtins:str", "BOOLEAN", r"the function f \(builtins:str\) gave what is no BOOLEAN"),
    ],
)
def test_function_that_fails_is_named(db, path, returns, why):
    db.sql("CREATE TABLE t (x DOUBLE); INSERT INTO t VALUES (-1.0), (2.0), (3.0), (4.0)")
    vectorized = path.startswith("tests")
    db.create_function("f", path, returns=returns, takes=["DOUBLE"], vectorized=vectorized)
    with pytest.raises(errors.EvaluationError, match=why):
        db.sql("SELECT f(x) AS y FROM t")


def test_misspelled_name_is_told(db):
    db.create_function("shout", own.shout)
    with pytest.raises(errors.SqlError, match="did you mean 'shout'"):
        db.sql("SELECT shoud(proto, 1) FROM packets")
    with pytest.raises(errors.SqlError, match=r"shout is called as shout\(STRING, BIGINT\)"):
        db.sql("SELECT shout(proto) FROM packets")
    with pytest.raises(errors.SqlError, match="shout takes BIGINT as argument 2, not STRING"):
        db.sql("SELECT shout(proto, proto) FROM packets")


def test_instants_have_their_zone_in_functions(db):
    db.sql("CREATE TABLE t (at TIMESTAMP); INSERT INTO t VALUES (TIMESTAMP '2026-01-31 12:00:00')")
    db.create_function("same", "tests.own:same_instant", returns="TIMESTAMP", takes=["TIMESTAMP"])
    assert db.sql("SELECT same(at) = at AS s FROM t").table.column("s").to_pylist() == [True]
    assert db.sql("SELECT same(at) AS s FROM t").table.schema.field("s").type == pa.timestamp("us", tz="UTC")
