"""What a run says of itself."""

from __future__ import annotations

from panes.run_report import RunReport, run_report
from panes.state.storage.epoch_log import EpochRecord, StreamProgress
from tests.base_stream import base_stream

STREAM = base_stream("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts SECONDS", 1)


def record(epoch, **progress):
    return EpochRecord(epoch, 0, 0, 0.0, 0, streams={1: StreamProgress(**progress)})


def test_a_report_is_one_line():
    report = run_report(record(1, rows=5, late=1), record(3, rows=1505, late=1), [STREAM], [], {})
    assert str(report) == "1,500 rows in 2 epochs"
    assert repr(report) == "<RunReport: 1,500 rows in 2 epochs>"
    assert report.is_complete
    assert report.problem == ""
    assert str(run_report(None, None, [STREAM], [], {})) == "0 rows in 0 epochs"


def test_what_was_left_out_since_the_run_began_is_counted_by_stream():
    before = record(1, rows=5, late=1, bad=2, bad_files=3)
    after = record(2, rows=15, late=3, bad=3, bad_files=4)
    report = run_report(before, after, [STREAM], ["old"], {"old": "sum", "q": "overflow"})
    assert report == RunReport(10, 1, {"s": 2}, {"s": 1}, {"s": 1}, {"q": "overflow"})
    line = "10 rows in 1 epoch; 2 late rows of s; 1 rejected row of s; 1 bad file of s; suspended: q"
    assert str(report) == line
    assert not report.is_complete
    assert report.problem == (
        "2 late rows of s; 1 rejected row of s; 1 bad file of s; suspended: q "
        "(see db.late_rows('s'), db.bad_rows('s'), db.bad_files('s'), ALTER QUERY q RESUME)"
    )
