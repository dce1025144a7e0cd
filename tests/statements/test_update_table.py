"""INSERT, UPDATE and DELETE."""

from __future__ import annotations

import pytest

from panes import errors


@pytest.mark.parametrize(
    "sql", ["INSERT INTO hosts VALUES (1)", "UPDATE hosts SET src = 1", "DELETE FROM hosts WHERE src = 1"]
)
def test_rows_of_tables_are_refused_where_they_are_written(db, sql):
    db.sql("CREATE TABLE hosts (src BIGINT)")
    with pytest.raises(errors.SqlError, match="tables cannot hold rows yet") as caught:
        db.sql(f"SHOW TABLES;\n{sql}")
    assert caught.value.line == 2
