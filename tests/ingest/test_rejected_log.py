"""What was rejected: what the committed epochs name counts, once, and nothing of it goes missing unnoticed."""

from __future__ import annotations

import pyarrow as pa
import pytest

from panes.errors import StateError
from panes.ingest.bad_files import BadFile
from panes.ingest.rejected_log import RejectedLog
from panes.ingest.rejected_rows import RejectedPart, attempt_folder, keep_rejected_rows
from panes.state.storage.locations import Location, location_of
from tests.base_stream import base_stream

S = base_stream("CREATE STREAM s (k BIGINT) FROM FILES 'in'", 1)


@pytest.fixture(params=["", "file://"])
def folder(request, tmp_path) -> Location:
    return location_of(f"{request.param}{tmp_path}/aside")


def part(folder: Location, epoch: int, token: str, *values: int, attempt: int = 0) -> RejectedPart:
    rows = pa.table({"k": list(values), "_bad": ["x"] * len(values)})
    return keep_rejected_rows(folder, 1, "bad", attempt_folder(epoch, token), f"0-{attempt}", rows)


def bad(log: RejectedLog, pins: dict[str, str]) -> list[int]:
    return log.rows(S, "bad", pins).column("k").to_pylist()


def test_what_two_attempts_have_written_counts_once(folder):
    log = RejectedLog(folder)
    part(folder, 0, "first", 1)  # of an attempt at the epoch that failed
    part(folder, 0, "again", 1, attempt=1)  # of an attempt of a task whose result came too late
    pins = log.note(0, "again", [part(folder, 0, "again", 1, attempt=2)], [], {})
    assert bad(log, pins) == [1]
    assert log.rows(S, "late", pins).num_rows == 0


def test_rows_and_files_are_as_of_an_epoch(folder):
    log = RejectedLog(folder)
    first = log.note(0, "a", [part(folder, 0, "a", 1)], [BadFile(1, "x", "damaged")], {})
    later = first | log.note(3, "b", [part(folder, 3, "b", 2)], [BadFile(1, "y", "gone")], first)
    assert log.note(4, "c", [], [], later) == {}
    again = RejectedLog(folder)
    assert bad(again, {}) == []
    assert bad(again, first) == [1]
    assert bad(again, later) == [1, 2]
    assert again.bad_files(S, first).to_pylist() == [{"path": "x", "reason": "damaged", "epoch": 0}]
    assert again.bad_files(S, later).column("path").to_pylist() == ["x", "y"]


def test_an_attempt_that_failed_leaves_nothing(folder, tmp_path):
    log = RejectedLog(folder)
    pins = log.note(0, "a", [part(folder, 0, "a", 1)], [], {})
    log.note(1, "b", [part(folder, 1, "b", 2)], [], pins)
    part(folder, 1, "c", 3)
    log.forget_attempt([S], 1, "b")
    log.forget_after(0)  # as a new driver does
    left = sorted(path.name for path in (tmp_path / "aside" / "000001").iterdir())
    assert left == ["epoch-0000000000-a", "epoch-0000000000-a.json"]
    assert bad(log, pins) == [1]


def test_a_record_that_is_missing_or_another_is_told(tmp_path):
    log = RejectedLog(tmp_path)
    first = log.note(0, "a", [part(tmp_path, 0, "a", 1)], [], {})
    later = log.note(1, "b", [part(tmp_path, 1, "b", 2)], [], first)
    path = tmp_path / "000001" / "epoch-0000000000-a.json"
    content = path.read_bytes()
    log.note(0, "a", [part(tmp_path, 0, "a", 9)], [], {})
    with pytest.raises(StateError, match="is not the record that belongs here"):
        bad(log, later)
    path.unlink()
    with pytest.raises(StateError, match=r"epoch-0000000000-a\.json is missing"):
        bad(log, later)
    path.write_bytes(content)
    with pytest.raises(StateError, match="is damaged"):
        bad(log, later)  # the rows are those of the other record
