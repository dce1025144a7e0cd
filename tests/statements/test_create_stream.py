"""CREATE STREAM over a source."""

from __future__ import annotations

import pytest

from panes import errors


def test_a_stream_is_there_once_its_source_can_be_read(db, folder):
    db.sql(f"CREATE STREAM again (src BIGINT) FROM FILES '{folder}'")
    assert db.sql("SHOW STREAMS")["name"].to_pylist() == ["packets", "again"]


def test_a_stream_whose_source_cannot_be_read_as_declared_is_not_there(db, folder):
    with pytest.raises(errors.SourceError, match=r"column .proto. is declared BIGINT and stored as string"):
        db.sql(f"CREATE STREAM again (proto BIGINT) FROM FILES '{folder}'")
    assert db.sql("SHOW STREAMS")["name"].to_pylist() == ["packets"]
