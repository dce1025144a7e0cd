from __future__ import annotations

from pathlib import Path

from panes.delta.delta import ALWAYS, BEGINNING
from panes.delta.rows import concat
from panes.state.storage.epoch_log import StreamProgress
from panes.tables.merge_versions import merge_versions, settled
from panes.tables.table_manifest import TableEntry
from panes.tables.table_versions import Versions, read_versions, versions_of
from panes.tables.version_clocks import SETTLED, VersionClocks
from tests.tables.table_of_hosts import HOSTS, change, rows_of


def versions(*parts: tuple[int, int | None, tuple[int, str, int]]) -> Versions:
    """Rows with the epoch that applied each, and when it is to take effect; the clock before epoch e is 10e."""
    rows = concat([versions_of(change(row), epoch, at) for epoch, at, row in parts])
    clocks = VersionClocks()
    for epoch in {epoch for epoch, _, _ in parts}:
        clocks |= VersionClocks.before(epoch, {1: StreamProgress(clock=10 * epoch)})
    return Versions(rows, clocks)


def test_versions_before_the_horizon_add_up() -> None:
    #  epoch   1     2     3        takes effect at 11, 21, 31
    #          +a    -a +b  -b +c   what is before 21 is settled
    found = versions(
        (1, None, (1, "a", 1)),
        (2, None, (1, "a", -1)),
        (2, None, (1, "b", 1)),
        (3, None, (1, "b", -1)),
        (3, None, (1, "c", 1)),
    )
    after, to = settled(found, {1: 21})
    assert to == 21
    assert rows_of(after.rows) == [(1, "b", -1, 3, None), (1, "b", 1, SETTLED, None), (1, "c", 1, 3, None)]
    assert rows_of(after.effective({1})) == [(1, "b", -1, 31), (1, "b", 1, ALWAYS), (1, "c", 1, 31)]


def test_nothing_is_settled_that_a_stream_may_ask_for() -> None:
    found = versions((1, None, (1, "a", 1)))
    assert settled(found, {1: 10}) == (found, BEGINNING)
    assert settled(found, {1: 11})[1] == 11


def test_a_change_at_an_instant_is_settled_when_that_has_passed() -> None:
    found = versions((1, 50, (1, "a", 1)))
    assert settled(found, {1: 49}) == (found, BEGINNING)
    assert rows_of(settled(found, {1: 50})[0].rows) == [(1, "a", 1, SETTLED, None)]


def test_a_change_at_an_instant_waits_for_streams_that_have_not_begun() -> None:
    found = versions((1, 50, (1, "a", 1)), (1, None, (2, "b", 1)))
    after, _ = settled(found, {1: 100, 2: ALWAYS})
    assert rows_of(after.rows) == [(1, "a", 1, 1, 50), (2, "b", 1, SETTLED, None)]


def test_many_small_segments_become_few(tmp_path: Path) -> None:
    entry = TableEntry()
    for epoch in range(100):
        entry = merge_versions(tmp_path, entry, HOSTS.columns, {1: BEGINNING}, f"000001/merged-{epoch}")
        row = (epoch, None, (epoch, "a", 1))
        new = versions(row).write(tmp_path, f"000001/versions-{epoch}.arrow")
        entry = TableEntry((*entry.segments, new), entry.settled_to)
    assert len(entry.segments) < 20
    found = read_versions(tmp_path, entry.segments, HOSTS.columns)
    assert rows_of(found.effective({1})) == rows_of(
        versions(*((epoch, None, (epoch, "a", 1)) for epoch in range(100))).effective({1})
    )


def test_a_row_that_changes_all_the_time_is_kept_once_beyond_the_horizon(tmp_path: Path) -> None:
    entry = TableEntry()
    for epoch in range(200):
        horizons = {1: 10 * (epoch - 10)}
        entry = merge_versions(tmp_path, entry, HOSTS.columns, horizons, f"000001/merged-{epoch}")
        rows = [(epoch, None, (1, str(epoch), 1))] + [(epoch, None, (1, str(epoch - 1), -1))] * (epoch > 0)
        new = versions(*rows).write(tmp_path, f"000001/versions-{epoch}.arrow")
        entry = TableEntry((*entry.segments, new), entry.settled_to)
    assert sum(segment.rows for segment in entry.segments) < 120
    assert 1000 < entry.settled_to < 1900


def test_segments_that_cannot_be_read_stay_as_they_are(tmp_path: Path) -> None:
    segments = [
        versions((epoch, None, (epoch, "a", 1))).write(tmp_path, f"000001/versions-{epoch}.arrow")
        for epoch in range(8)
    ]
    (tmp_path / segments[3].object).write_bytes(b"damaged")
    entry = TableEntry(tuple(segments))
    assert merge_versions(tmp_path, entry, HOSTS.columns, {}, "000001/merged") == entry
