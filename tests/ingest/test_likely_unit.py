"""Event times in another unit than the declared one, as the times of the files tell."""

from __future__ import annotations

import os

import pytest

from panes.ingest.likely_unit import likely_unit
from tests.base_stream import base_stream

NOW_S = 1_790_000_000


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a").touch()
    os.utime(tmp_path / "a", (NOW_S, NOW_S))
    return tmp_path


def stream(folder, unit):
    return base_stream(f"CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts {unit} FROM FILES '{folder}'", 1)


@pytest.mark.parametrize(
    ("declared", "meant", "number"),
    [
        ("MICROSECONDS", "MILLISECONDS", NOW_S * 1000),
        ("MICROSECONDS", "SECONDS", NOW_S),
        ("MILLISECONDS", "SECONDS", NOW_S),
    ],
)
def test_times_that_fit_the_files_in_another_unit_are_told(folder, declared, meant, number):
    in_microseconds = {"MICROSECONDS": 1, "MILLISECONDS": 1000}
    problem = likely_unit(stream(folder, declared), number * in_microseconds[declared])
    assert problem.startswith("s: event times end at 1970-01-")
    assert problem.endswith(f"and the files are of 2026-09-21; is ts in {meant}? the stream says {declared}")


def test_times_of_their_own_are_no_mistake(folder):
    for seconds in (3, 7200, 10**9, NOW_S):
        for unit in ("SECONDS", "MILLISECONDS", "MICROSECONDS"):
            assert likely_unit(stream(folder, unit), seconds * 1_000_000) == ""
    pushed = base_stream("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts MICROSECONDS", 1)
    assert likely_unit(pushed, NOW_S * 1000) == ""
    assert likely_unit(stream("s3://bucket/in", "MICROSECONDS"), NOW_S * 1000) == ""
    arrived = base_stream(f"CREATE STREAM s (ts BIGINT) FROM FILES '{folder}'", 1)
    assert likely_unit(arrived, NOW_S * 1000) == ""


def test_old_times_in_files_as_old_are_no_mistake(folder):
    os.utime(folder / "a", (9, 9))
    assert likely_unit(stream(folder, "SECONDS"), 44_000_000) == ""
