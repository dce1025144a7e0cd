"""Setting files aside."""

from __future__ import annotations

import errno

import pytest

from panes.errors import SourceError, StateError
from panes.ingest.bad_files import BadFile, set_aside
from tests.base_stream import base_stream

FILES = base_stream("CREATE STREAM s (k INT) FROM FILES 'in'", 1)
STOPS = base_stream("CREATE STREAM s (k INT) FROM FILES 'in' WITH (on_bad_file = 'stop')", 1)
PUSHED = base_stream("CREATE STREAM s (k INT)", 1)


def caused_by(cause):
    error = StateError("damaged")
    error.__cause__ = cause
    return error


def test_the_reason_is_what_was_behind_the_error():
    assert set_aside(FILES, "a", caused_by(OSError("no magic bytes\nmore"))) == BadFile(
        1, "a", "no magic bytes"
    )
    assert set_aside(FILES, "a", SourceError("no column 'k'")) == BadFile(1, "a", "no column 'k'")


@pytest.mark.parametrize("stream", [STOPS, PUSHED])
def test_a_stream_may_stop_at_what_is_bad_but_not_at_what_is_gone(stream):
    with pytest.raises(
        SourceError, match="stream 's': a cannot be read: no magic bytes; mend the file or remove it"
    ):
        set_aside(stream, "a", caused_by(OSError("no magic bytes")))
    gone = caused_by(FileNotFoundError(errno.ENOENT, "No such file"))
    assert set_aside(stream, "a", gone).reason == "it was removed before it was read"


def test_what_another_try_may_mend_is_raised_again():
    for error in (OSError(errno.EMFILE, "Too many open files"), MemoryError()):
        with pytest.raises(type(error)):
            set_aside(FILES, "a", error)
