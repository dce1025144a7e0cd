"""CREATE TABLE …"""

from __future__ import annotations

import pytest

from panes import errors


def test_a_table_is_there_under_its_name_and_no_stream_can_take_it(db):
    db.sql("CREATE TABLE hosts (src BIGINT, owner STRING, PRIMARY KEY (src))")
    assert db.sql("SHOW TABLES")["name"].to_pylist() == ["hosts"]
    with pytest.raises(errors.CatalogError, match="already a stream or table named 'hosts'"):
        db.sql("CREATE STREAM hosts (a BIGINT)")
