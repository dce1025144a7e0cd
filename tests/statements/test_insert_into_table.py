"""INSERT INTO a table: defaults, rows of a query, and where an error points. `test_update_table` has the rest."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import panes
from panes.errors import SqlError
from panes.tables.row_counts import RowCounts


@pytest.fixture
def shop() -> Iterator[panes.Database]:
    with panes.connect() as database:
        database.sql(
            "CREATE TABLE items (id INT PRIMARY KEY, name STRING NOT NULL DEFAULT 'no ' || 'name', "
            "price DOUBLE DEFAULT -1.5, since DATE DEFAULT '2026-01-31');"
            "CREATE TABLE prices (price DOUBLE, many BIGINT)"
        )
        yield database


def items(db: panes.Database) -> list[tuple[object, ...]]:
    rows = db.sql("SELECT id, name, price FROM items").to_pylist()
    return sorted(tuple(row.values()) for row in rows)


def test_columns_that_are_left_out_have_their_defaults(shop: panes.Database) -> None:
    shop.sql("INSERT INTO items (id, price) VALUES (1, 2), (2, DEFAULT), (3, NULL)")
    assert items(shop) == [(1, "no name", 2.0), (2, "no name", -1.5), (3, "no name", None)]


def test_defaults_are_there_after_the_database_was_closed(tmp_path) -> None:
    with panes.connect(tmp_path / "db") as db:
        db.sql("CREATE TABLE t (a INT DEFAULT 5 NOT NULL, b TIMESTAMP DEFAULT TIMESTAMP '2026-01-31')")
        (shown,) = db.sql("SHOW TABLES").to_pylist()
        assert shown["columns"] == (
            "a INT NOT NULL DEFAULT 5, b TIMESTAMP DEFAULT CAST('2026-01-31' AS TIMESTAMP)"
        )
    with panes.connect(tmp_path / "db") as db:
        assert db.sql("INSERT INTO t VALUES (DEFAULT, NULL)") == RowCounts(inserted=1)
        assert db.sql("SELECT a FROM t").to_pylist() == [{"a": 5}]


@pytest.mark.parametrize(
    ("column", "problem", "at"),
    [
        ("a INT DEFAULT 'x'", "a is an INT, and this is a STRING", 31),
        ("a INT DEFAULT 3000000000", "does not fit into a, an INT", 31),
        ("a DATE DEFAULT 'soon'", "'soon' is not a DATE", 32),
        ("b INT, a INT DEFAULT b", "there is no column named 'b'", 38),
        ("a INT DEFAULT 1 DEFAULT 2", "a has two defaults", 17),
    ],
)
def test_a_default_that_is_no_value_of_its_column_is_refused(
    shop: panes.Database, column: str, problem: str, at: int
) -> None:
    with pytest.raises(SqlError, match=problem) as refused:
        shop.sql(f"CREATE TABLE t ({column})")
    assert refused.value.column == at
    assert len(shop.sql("SHOW TABLES")) == 2


def test_rows_of_a_query_over_tables(shop: panes.Database) -> None:
    shop.sql("INSERT INTO items VALUES (1, 'a', 2, NULL), (2, 'b', 2, NULL), (3, 'c', 5, NULL)")
    assert shop.sql(
        "INSERT INTO prices (many, price) SELECT count(*) AS n, price FROM items GROUP BY price"
    ) == RowCounts(inserted=2)
    assert sorted(map(str, shop.sql("SELECT * FROM prices").to_pylist())) == [
        "{'price': 2.0, 'many': 2}",
        "{'price': 5.0, 'many': 1}",
    ]


def test_a_query_sees_the_statements_before_it_in_the_transaction(shop: panes.Database) -> None:
    shop.sql(
        "INSERT INTO items (id, price) VALUES (1, 2);"
        "INSERT INTO items SELECT id + 1, name, price, since FROM items;"
        "INSERT INTO items SELECT id + 2, name, price * 2, since FROM items;"
        "INSERT INTO prices SELECT sum(price), count(*) FROM items"
    )
    assert [row[0] for row in items(shop)] == [1, 2, 3, 4]
    assert shop.sql("SELECT * FROM prices").to_pylist() == [{"price": 12.0, "many": 4}]


def test_a_query_that_fails_takes_its_transaction_with_it(shop: panes.Database) -> None:
    with pytest.raises(SqlError, match="there is already a row with the primary key id = 1") as refused:
        shop.sql(
            "INSERT INTO items (id) VALUES (1); INSERT INTO items SELECT id, name, price, since FROM items"
        )
    assert "ON CONFLICT (id) DO UPDATE" in str(refused.value)
    assert items(shop) == []


def test_conflicts_of_rows_of_a_query(shop: panes.Database) -> None:
    shop.sql("INSERT INTO items (id, name) VALUES (1, 'a'), (2, 'b')")
    shop.sql(
        "INSERT INTO items (id, name) SELECT id, upper(name) FROM items WHERE id = 1 "
        "ON CONFLICT DO UPDATE SET name = excluded.name"
    )
    assert [row[1] for row in items(shop)] == ["A", "b"]


@pytest.mark.parametrize(
    ("sql", "problem", "at"),
    [
        ("INSERT INTO prices SELECT price FROM items", "the query gives 1 columns, not 2", 20),
        ("INSERT INTO prices (many) SELECT name FROM items", "many is a BIGINT, and name is a STRING", 27),
        ("INSERT INTO prices SELECT price, many FROM nothing", "there is no stream, table or query", 44),
        ("INSERT INTO items (name) SELECT name FROM items", "id is part of the primary key", 20),
        (
            "INSERT INTO prices SELECT * FROM prices p AT TIMESTAMP '2126-01-01'",
            "AT TIMESTAMP is for VALUES",
            43,
        ),
        ("INSERT INTO nothing VALUES (1)", "there is no table or stream named 'nothing'", 13),
        ("INSERT INTO items (id) VALUES (1) RETURNING id", "RETURNING is not supported", 35),
        ("INSERT INTO items (id, name) VALUES (1, NULL)", "name is NOT NULL", 38),
        ("INSERT INTO prices VALUES (1, 2 + 'x')", r"\+", 31),
        ("INSERT INTO prices VALUES (1, 9223372036854775807 + 1)", "overflow", 31),
        ("INSERT INTO prices FROM items", "expected VALUES or a query", 20),
    ],
)
def test_what_cannot_be_inserted_is_refused_where_it_stands(
    shop: panes.Database, sql: str, problem: str, at: int
) -> None:
    with pytest.raises(SqlError, match=problem) as refused:
        shop.sql(sql)
    assert refused.value.column == at


def test_a_value_of_a_query_that_does_not_fit_is_refused(shop: panes.Database) -> None:
    shop.sql("INSERT INTO prices VALUES (1, 3000000000)")
    with pytest.raises(SqlError, match="3000000000"):
        shop.sql("INSERT INTO items (id) SELECT many FROM prices")


def test_truncate_deletes_all_rows(shop: panes.Database) -> None:
    shop.sql("INSERT INTO prices VALUES (1, 2), (3, 4)")
    assert shop.sql("TRUNCATE prices") == RowCounts(deleted=2)
    assert shop.sql("TRUNCATE TABLE prices") == RowCounts()


def test_integers_that_float_holds_exactly_are_inserted(shop: panes.Database) -> None:
    shop.sql("CREATE TABLE f (x FLOAT); INSERT INTO f VALUES (2), (-16777216), (NULL)")
    with pytest.raises(SqlError, match="x is a FLOAT, and this is an INT"):
        shop.sql("INSERT INTO f VALUES (16777217)")
    assert len(shop.sql("SELECT x FROM f WHERE x IS NOT NULL")) == 2
