"""SELECT …, asked once."""

from __future__ import annotations

import pytest

from panes import errors


def test_before_the_first_epoch_the_windows_are_empty(db):
    answer = db.sql("SELECT src AS host FROM packets [RANGE 1 MINUTE]")
    assert (len(answer), answer.as_of, answer.table.schema.names) == (0, None, ["host"])


def test_a_query_whose_answer_is_a_stream_is_refused_where_it_is_written(db):
    with pytest.raises(errors.SqlError, match="register it, to follow it") as caught:
        db.sql("SHOW STREAMS;\nSELECT Istream(src) FROM packets [NOW]")
    assert caught.value.line == 2
