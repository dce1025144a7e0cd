"""Which event times are rejected, and what the reason says."""

from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from panes.clock import to_microseconds
from panes.history.event_time import latest_time
from panes.history.history_file import HistoryFile
from panes.history.measure import measured_raw
from panes.history.parts import read_rows
from panes.ingest.rejected_times import rows_with_rejected_times, with_times
from tests.base_stream import base_stream

NOW = to_microseconds(datetime(2026, 7, 1, tzinfo=UTC))
DAY = 86_400_000_000


def by_key(unusable):
    """The reasons, by `k`."""
    if unusable is None:
        return {}
    return dict(zip(unusable.column("k").to_pylist(), unusable.column("_bad").to_pylist(), strict=True))


def reasons(by, column, clauses=""):
    """The reason for every row of a batch, None where it can be used."""
    declared = "TIMESTAMP" if by == "ts" else "BIGINT"
    stream = base_stream(f"CREATE STREAM s (ts {declared}, k BIGINT) TIMESTAMP BY {by} {clauses}")
    table = pa.table({"ts": column, "k": pa.array(range(len(column)), pa.int64())})
    known = pa.nulls(len(column), pa.string())
    usable, unusable = with_times(stream, table, known, NOW, None)
    assert usable.num_rows + (0 if unusable is None else unusable.num_rows) == len(column)
    found = (
        {}
        if unusable is None
        else dict(zip(*(unusable.column(n).to_pylist() for n in ("k", "_bad")), strict=True))
    )
    return [found.get(k) for k in range(len(column))]


def from_file(path, by, column):
    """The same for the rows of a file."""
    declared = "TIMESTAMP" if by == "ts" else "BIGINT"
    stream = base_stream(f"CREATE STREAM s (ts {declared}, k BIGINT) TIMESTAMP BY {by}")
    pq.write_table(pa.table({"ts": column, "k": pa.array(range(len(column)), pa.int64())}), path)
    latest = latest_time(stream, NOW)
    file = measured_raw(HistoryFile(path, "raw", 0, 0, 0, 0), stream, latest)
    usable, unusable = read_rows(file, stream, ["k"], latest), rows_with_rejected_times(stream, file, NOW)
    assert usable.num_rows == file.rows
    if file.rows:
        times = usable.column("_ts").to_pylist()
        assert (min(times), max(times)) == (file.min_ts, file.max_ts)
    found = (
        {}
        if unusable is None
        else dict(zip(*(unusable.column(n).to_pylist() for n in ("k", "_bad")), strict=True))
    )
    assert sorted([*usable.column("k").to_pylist(), *found]) == list(range(len(column)))
    return [found.get(k) for k in range(len(column))]


CASES = {
    "milliseconds read as seconds": (
        "ts SECONDS",
        pa.array([NOW // 1_000_000, NOW // 1_000]),
        [None, "event time 58466-09-17T00:00:00 lies 56440 years ahead of the wall clock; "
               "is ts in MILLISECONDS? the stream says SECONDS"],
    ),
    "nanoseconds read as microseconds": (
        "ts MICROSECONDS",
        pa.array([NOW * 1000]),
        ["event time 58466-09-17T00:00:00 lies 56440 years ahead of the wall clock; "
         "is ts in NANOSECONDS? the stream says MICROSECONDS"],
    ),
    "microseconds read as seconds, beyond 64 bits": (
        "ts SECONDS",
        pa.array([NOW]),
        ["event time 56498681-02-02T00:00:00 lies 56496654 years ahead of the wall clock; "
         "is ts in MICROSECONDS? the stream says SECONDS"],
    ),
    "no unit fits": (
        "ts MILLISECONDS",
        pa.array([2**63 - 1, NOW // 1000 + 3 * 86_400_000, NOW // 1000 + 86_400_000, 0, -1, None, -(2**63)]),
        ["event time 292278994-08-17T07:12:55 lies 292276968 years ahead of the wall clock; AHEAD allows 1 DAY",
         "event time 2026-07-04T00:00:00 lies 3 days ahead of the wall clock; AHEAD allows 1 DAY",
         None, None, None, "there is no event time",
         "event time -292275055-05-16T16:47:04 lies before the year 1"],
    ),
    "instants": (
        "ts",
        pa.array([0, NOW + DAY, NOW + DAY + 1, 2**63 - 1, -(2**63), None], pa.timestamp("us", tz="UTC")),
        [None, None,
         "event time 2026-07-02T00:00:00 lies 24 hours ahead of the wall clock; AHEAD allows 1 DAY",
         "event time 294247-01-10T04:00:54 lies 292220 years ahead of the wall clock; AHEAD allows 1 DAY",
         "event time -290308-12-21T19:59:05 lies before the year 1", "there is no event time"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_rejected_row_says_its_time_how_far_ahead_it_is_and_the_likely_unit(case):
    by, column, expected = CASES[case]
    assert reasons(by, column) == expected


@pytest.mark.parametrize("case", CASES)
def test_a_file_gives_the_same_rows_and_reasons_as_a_batch(tmp_path, case):
    by, column, expected = CASES[case]
    assert from_file(tmp_path / "a.parquet", by, column) == expected


def test_instants_that_microseconds_cannot_hold_are_rejected_from_a_file(tmp_path):
    column = pa.array([5, 2**62, None], pa.timestamp("ms"))
    assert from_file(tmp_path / "a.parquet", "ts", column) == [
        None,
        "event time 146140482-04-24T15:36:27 lies 146138455 years ahead of the wall clock; AHEAD allows 1 DAY",
        "there is no event time",
    ]


def test_ahead_says_how_far_event_times_may_lie_ahead_of_the_wall_clock():
    column = pa.array([NOW + 2 * DAY, NOW + 2 * DAY + 1])
    assert reasons("ts MICROSECONDS", column, "AHEAD INTERVAL 2 DAYS") == [
        None,
        "event time 2026-07-03T00:00:00 lies 2 days ahead of the wall clock; AHEAD allows 2 DAYS",
    ]
    assert reasons("ts MICROSECONDS", pa.array([NOW, NOW + 1]), "AHEAD INTERVAL 0 DAYS") == [
        None,
        "event time 2026-07-01T00:00:00 lies a moment ahead of the wall clock; AHEAD allows 0 DAYS",
    ]


def test_a_reason_that_is_known_already_stays():
    stream = base_stream("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts SECONDS")
    bad = pa.array(["does not parse: x", None, None])
    usable, unusable = with_times(stream, pa.table({"ts": pa.array([None, None, 4])}), bad, NOW, None)
    assert usable.to_pylist() == [{"ts": 4, "_ts": 4_000_000}]
    assert unusable.column("_bad").to_pylist() == ["does not parse: x", "there is no event time"]


def test_the_time_of_arrival_is_not_checked():
    stream = base_stream("CREATE STREAM s (k BIGINT)")
    arrived = pa.array([2**62, 5])
    usable, unusable = with_times(
        stream, pa.table({"k": [1, 2]}), pa.array([None, "does not parse: x"]), NOW, arrived
    )
    assert usable.to_pylist() == [{"k": 1, "_ts": 2**62}]
    assert unusable.to_pylist() == [{"k": 2, "_bad": "does not parse: x"}]


def test_a_tuple_that_is_never_alive_is_rejected_and_one_without_an_end_is_not():
    stream = base_stream(
        "CREATE STREAM s (ts BIGINT, k BIGINT, until BIGINT) TIMESTAMP BY ts SECONDS EXPIRES BY until SECONDS"
    )
    rows = pa.table({"ts": [5, 5, 5, 5, None], "k": [1, 2, 3, 4, 5], "until": [6, 5, 4, None, 9]})
    usable, unusable = with_times(stream, rows, pa.nulls(5, pa.string()), NOW, None)
    assert usable.column("k").to_pylist() == [1, 4]
    never = "until is not after the event time: the tuple is never alive"
    assert by_key(unusable) == {2: never, 3: never, 5: "there is no event time"}


def test_ends_are_compared_with_times_of_arrival_where_these_are_the_event_times():
    stream = base_stream("CREATE STREAM s (k BIGINT, until TIMESTAMP) EXPIRES BY until")
    until = pa.array(
        [datetime(2026, 7, 2, tzinfo=UTC), datetime(2026, 6, 30, tzinfo=UTC)], pa.timestamp("us", "UTC")
    )
    rows = pa.table({"k": [1, 2], "until": until})
    usable, unusable = with_times(stream, rows, pa.nulls(2, pa.string()), NOW, pa.array([NOW, NOW]))
    assert usable.column("k").to_pylist() == [1]
    assert list(by_key(unusable)) == [2]
