"""CREATE STREAM … AS SELECT …"""

from __future__ import annotations

import pytest

from panes import errors


def test_a_derived_stream_can_be_read_like_another(db):
    db.sql("CREATE STREAM tcp AS SELECT src FROM packets WHERE proto = 'tcp'")
    assert len(db.sql("SELECT src FROM tcp [RANGE 1 MINUTE]")) == 0


def test_a_derived_stream_that_does_not_bind_is_not_there(db):
    with pytest.raises(errors.SqlError, match="scr"):
        db.sql("CREATE STREAM tcp AS SELECT scr FROM packets")
    assert db.sql("SHOW STREAMS")["name"].to_pylist() == ["packets"]
