"""The history of a stream: what came is there, in order of arrival, for as long as it is to be kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from panes.errors import StateError
from panes.history import manifests
from panes.history.history_store import History, write_part
from panes.history.parts import Part
from panes.plan.stream import Stream
from panes.state.storage.epoch_log import NOTHING, EpochLog
from panes.state.storage.locations import location_of
from tests.base_stream import base_stream

S = base_stream("CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts MICROSECONDS")


def part(history: History, epoch: int, *times: int, number: int = 0) -> Part:
    rows = pa.table({"ts": list(times), "k": [epoch] * len(times), "_ts": list(times)})
    return write_part(history.folder, 1, epoch, number, rows)


def write(history: History, epoch: int, *times: int, since: int | None = None) -> None:
    """An epoch of the stream s whose rows have these times."""
    bounds = {"rows": len(times), "max_ts": max(times)}
    if since is not None:
        bounds["since"] = since
    history.note(S, epoch, [part(history, epoch, *times)], **bounds)


def rows_of(history: History, stream: Stream, epoch: int, **bounds: Any) -> pa.Table:
    return history.arrivals(stream, epoch, **bounds).drop_columns(["_came", "_epoch"])


def times(history: History, epoch: int, since: int | None = None) -> list[int]:
    rows = rows_of(history, S, epoch) if since is None else rows_of(history, S, epoch, since=since)
    return rows.column("_ts").to_pylist()


def parquet_files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*.parquet"))


def source(folder: Path, name: str, table: pa.Table) -> Path:
    folder.mkdir(exist_ok=True)
    pq.write_table(table, folder / name)
    return folder / name


def test_rows_come_back_in_order_of_arrival_up_to_the_epoch(tmp_path: Path) -> None:
    history = History(tmp_path)
    write(history, 0, 5, 3)
    write(history, 2, 4, 9)
    assert times(history, 0) == [5, 3]
    assert times(history, 1) == [5, 3]
    assert times(history, 2) == [5, 3, 4, 9]
    assert rows_of(history, S, 2).to_pylist()[3] == {"ts": 9, "k": 2, "_ts": 9}


def test_only_files_and_rows_from_a_time_on_are_given(tmp_path: Path) -> None:
    history = History(tmp_path)
    write(history, 0, 1, 2)
    write(history, 1, 2, 7)
    assert [file.epoch for file in history.files(1, 1, since=3)] == [1]
    assert times(history, 1, since=3) == [7]


def test_a_stream_that_brought_nothing_has_an_empty_history(tmp_path: Path) -> None:
    assert rows_of(History(tmp_path), S, 5).schema.names == ["ts", "k", "_ts"]
    assert History(tmp_path).files(1, 5) == []


def test_several_parts_keep_their_order_and_are_known_by_their_own_times(tmp_path: Path) -> None:
    history = History(tmp_path)
    names = [part(history, 0, 8, 9, number=0), part(history, 0, number=1), part(history, 0, 1, 2, number=2)]
    history.note(S, 0, names, rows=4, max_ts=9)
    assert [(file.rows, file.min_ts, file.max_ts) for file in history.files(1, 0)] == [(2, 8, 9), (2, 1, 2)]
    assert times(history, 0) == [8, 9, 1, 2]


def test_an_epoch_done_again_replaces_what_it_had(tmp_path: Path) -> None:
    history = History(tmp_path)
    write(history, 0, 1)
    write(history, 1, 2, 3)
    write(history, 1, 2)
    assert times(history, 1) == [1, 2]
    history.note(S, 1, [], rows=0, max_ts=0)
    assert times(history, 1) == [1]


def test_an_epoch_done_again_after_its_base_was_made_counts_once(tmp_path: Path) -> None:
    history = History(tmp_path, epochs_per_base=1)
    for epoch in range(3):
        write(history, epoch, epoch)
        history.collect(S, epoch, oldest_ts=0, retain_epochs=1)
    again = History(tmp_path, epochs_per_base=1)
    write(again, 2, 2)
    assert times(again, 2) == [0, 1, 2]
    again.collect(S, 2, oldest_ts=0, retain_epochs=1)
    assert times(again, 2) == [0, 1, 2]


def test_columns_can_be_chosen(tmp_path: Path) -> None:
    history = History(tmp_path)
    write(history, 3, 1)
    assert rows_of(history, S, 3, columns=["k"]).to_pylist() == [{"k": 3, "_ts": 1}]


def test_a_row_cannot_be_seen_before_the_epoch_that_it_came_in(tmp_path: Path) -> None:
    history = History(tmp_path)
    write(history, 0, 5)
    write(history, 1, 4, since=6)
    assert history.arrivals(S, 1).column("_came").to_pylist()[1] == 7


# Files of sources, as they are.


def test_files_of_a_source_are_linked_and_survive_it(tmp_path: Path) -> None:
    history = History(tmp_path / "history")
    file = source(tmp_path / "in", "a.parquet", pa.table({"k": [1, 2], "ts": [10, 20], "more": ["x", "y"]}))
    history.adopt(S, 0, [file], rows=2, min_ts=10, max_ts=20)
    (kept,) = history.files(1, 0)
    assert kept.is_raw
    assert kept.path.stat().st_ino == file.stat().st_ino
    file.unlink()
    assert rows_of(history, S, 0).to_pylist() == [
        {"ts": 10, "k": 1, "_ts": 10},
        {"ts": 20, "k": 2, "_ts": 20},
    ]


def test_a_file_that_cannot_be_linked_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr("os.link", refuse)
    history = History(tmp_path / "history")
    file = source(tmp_path / "in", "a.parquet", pa.table({"ts": [10], "k": [1]}))
    history.adopt(S, 0, [file], rows=1, min_ts=10, max_ts=10)
    (kept,) = history.files(1, 0)
    assert kept.path.stat().st_ino != file.stat().st_ino
    assert times(history, 0) == [10]


def test_adopting_again_gives_the_same_even_when_the_source_is_gone(tmp_path: Path) -> None:
    history = History(tmp_path / "history")
    file = source(tmp_path / "in", "a.parquet", pa.table({"ts": [10], "k": [1]}))
    for _ in range(2):
        history.adopt(S, 0, [file], rows=1, min_ts=10, max_ts=10)
    file.unlink()
    history.adopt(S, 0, [file], rows=1, min_ts=10, max_ts=10)
    assert times(history, 0) == [10]
    assert not list((tmp_path / "history").rglob("*.tmp"))
    with pytest.raises(StateError, match=r"a\.parquet is gone"):
        history.adopt(S, 1, [file], rows=1, min_ts=10, max_ts=10)


@pytest.mark.parametrize(
    ("clause", "column", "expected"),
    [
        ("ts BIGINT|ts MICROSECONDS", pa.array([7, None, -3], pa.int64()), [7, -3]),
        ("ts BIGINT|ts MILLISECONDS", pa.array([7, 2**62, -(2**62)], pa.int64()), [7_000]),
        ("ts INT|ts SECONDS", pa.array([7, None], pa.int32()), [7_000_000]),
        ("ts BIGINT|ts SECONDS", pa.array([253_402_300_799, 253_402_300_800]), [253_402_300_799_000_000]),
        ("ts BIGINT|ts SECONDS", pa.array([-62_135_596_800, -62_135_596_801]), [-62_135_596_800_000_000]),
        ("ts BIGINT|ts SECONDS", pa.array([7, 2**63], pa.uint64()), [7_000_000]),
        ("ts TIMESTAMP|ts", pa.array([7, 2**62, -(2**62), None], pa.timestamp("ms")), [7_000]),
        ("ts TIMESTAMP|ts", pa.array([7, 2**63 - 1, -(2**63)], pa.timestamp("us", tz="UTC")), [7]),
        ("ts TIMESTAMP|ts", pa.array([datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC), None]), [2_000_000]),
        ("ts TIMESTAMP|ts", pa.array([1_500], pa.timestamp("ms")), [1_500_000]),
        ("ts BIGINT|ts SECONDS", pa.array([None, None], pa.int64()), []),
    ],
)  # fmt: skip
@pytest.mark.parametrize("has_statistics", [True, False])
def test_event_time_is_that_of_the_pipeline(
    tmp_path: Path, clause: str, column: pa.Array, expected: Sequence[int], has_statistics: bool
) -> None:
    declared, by = clause.split("|")
    own = base_stream(f"CREATE STREAM s ({declared}, k BIGINT) TIMESTAMP BY {by}")
    file = tmp_path / "a.parquet"
    table = pa.table({"ts": column, "k": list(range(len(column)))})
    pq.write_table(table, file, write_statistics=has_statistics)
    history = History(tmp_path / "history")
    history.adopt(own, 0, [file], rows=len(column), min_ts=-1, max_ts=1)
    rows = rows_of(history, own, 0)
    assert rows.column("_ts").to_pylist() == list(expected)
    assert rows.schema.field("ts").type == own.columns["ts"].type.arrow
    bounds = [(file.rows, file.min_ts, file.max_ts) for file in history.files(1, 0)]
    assert bounds == ([(len(expected), min(expected), max(expected))] if expected else [])


def test_a_file_with_times_beyond_the_limit_is_kept_without_those_rows(tmp_path: Path) -> None:
    history = History(tmp_path / "history")
    file = source(tmp_path / "in", "a.parquet", pa.table({"ts": [10, 99, None], "k": [1, 2, 3]}))
    history.adopt(S, 0, [file], rows=1, min_ts=10, max_ts=10, latest=50)
    (kept,) = history.files(1, 0)
    assert (kept.kind, kept.rows, kept.min_ts, kept.max_ts) == ("written", 1, 10, 10)
    assert rows_of(history, S, 0).to_pylist() == [{"ts": 10, "k": 1, "_ts": 10}]
    assert pq.read_table(kept.path).to_pylist() == [{"ts": 10, "k": 1, "_ts": 10}]


def test_a_column_that_a_file_has_not_is_null_as_in_spark(tmp_path: Path) -> None:
    history = History(tmp_path / "history")
    file = source(tmp_path / "in", "a.parquet", pa.table({"TS": [10], "other": [1]}))
    history.adopt(S, 0, [file], rows=1, min_ts=10, max_ts=10)
    assert rows_of(history, S, 0).to_pylist() == [{"ts": 10, "k": None, "_ts": 10}]


# What is let go of.


def test_files_that_end_before_the_oldest_time_go_once_no_reader_needs_them(tmp_path: Path) -> None:
    history = History(tmp_path, epochs_per_base=1)
    for epoch in range(6):
        write(history, epoch, 10 * epoch)
        history.collect(S, epoch, oldest_ts=10 * epoch - 15, retain_epochs=2)
        for reader in range(max(0, epoch - 2), epoch + 1):
            wanted = [10 * e for e in range(reader + 1) if 10 * e >= 10 * reader - 15]
            assert times(history, reader)[-len(wanted) :] == wanted
    assert times(history, 5) == [40, 50]
    assert parquet_files(tmp_path)[0] == "part-0000000001-00000.parquet"
    assert history.at(1, 5).dropped == 4
    assert history.at(1, 5).dropped_to == 30


def test_a_reader_that_began_before_its_epoch_had_a_base_can_finish(tmp_path: Path) -> None:
    history = History(tmp_path, epochs_per_base=1)
    for epoch in range(8):
        write(history, epoch, epoch)
        being_read = history.files(1, epoch)
        history.collect(S, epoch, oldest_ts=epoch, retain_epochs=1)
        write(history, epoch + 1, epoch + 1)
        history.collect(S, epoch + 1, oldest_ts=epoch + 1, retain_epochs=1)
        assert all(file.path.exists() for file in being_read)


def test_the_youngest_rows_stay_however_old(tmp_path: Path) -> None:
    history = History(tmp_path, epochs_per_base=1)
    for epoch in range(4):
        write(history, epoch, 10 * epoch, 10 * epoch + 1)
    history.collect(S, 3, oldest_ts=1_000, retain_epochs=1, keep_rows=3)
    assert times(history, 3) == [20, 21, 30, 31]


def test_of_files_that_are_seen_at_once_the_later_is_younger(tmp_path: Path) -> None:
    history = History(tmp_path, epochs_per_base=1)
    names = [part(history, 0, 3, 4, number=0), part(history, 0, 1, 2, number=1)]
    history.note(S, 0, names, rows=4, max_ts=4, since=9)
    assert [file.max_ts for file in history.at(1, 0).youngest(2, 10)] == [2]
    assert [file.max_ts for file in history.at(1, 0).youngest(3, 10)] == [4, 2]


def test_rows_of_the_future_do_not_count_among_the_youngest(tmp_path: Path) -> None:
    history = History(tmp_path, epochs_per_base=1)
    write(history, 0, 10, 11)
    write(history, 1, 50, 51)
    history.collect(S, 1, oldest_ts=20, retain_epochs=1, keep_rows=2, clock=20)
    assert times(history, 1) == [10, 11, 50, 51]


def test_rows_that_are_not_kept_are_known_of(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.note(S, 0, [], rows=7, max_ts=9)
    write(history, 1, 12)
    assert times(history, 1) == [12]
    assert (history.at(1, 1).dropped, history.at(1, 1).dropped_to) == (7, 9)


def test_many_small_files_become_few_with_the_same_rows_in_the_same_order(tmp_path: Path) -> None:
    history = History(tmp_path / "history", epochs_per_base=4)
    expected: list[tuple[int, int]] = []
    for epoch in range(200):
        if epoch % 3:
            write(history, epoch, epoch + 1, epoch, since=epoch - 1)
            expected += [(epoch + 1, epoch), (epoch, epoch)]
        else:
            raw = source(tmp_path / "in", f"{epoch}.parquet", pa.table({"ts": [epoch, None], "k": [0, 0]}))
            history.adopt(S, epoch, [raw], rows=1, min_ts=epoch, max_ts=epoch, since=epoch - 1)
            expected.append((epoch, epoch))
        history.collect(S, epoch, oldest_ts=0, retain_epochs=1)
    arrivals = history.arrivals(S, 199)
    assert list(zip(arrivals["_ts"].to_pylist(), arrivals["_came"].to_pylist(), strict=True)) == expected
    assert len(history.files(1, 199)) < 30
    assert sum(file.rows for file in history.files(1, 199)) == len(expected)


def test_a_history_opened_again_reads_the_same(tmp_path: Path) -> None:
    history = History(tmp_path, epochs_per_base=2)
    for epoch in range(9):
        write(history, epoch, epoch)
        history.collect(S, epoch, oldest_ts=3, retain_epochs=2)
    again = History(tmp_path)
    assert again.at(1, 8) == history.at(1, 8)
    assert times(again, 8) == times(history, 8)


def test_forgetting_a_stream_removes_its_files_and_no_others(tmp_path: Path) -> None:
    history = History(tmp_path)
    other = base_stream('CREATE STREAM "a/b" (ts BIGINT) TIMESTAMP BY ts SECONDS', 2)
    write(history, 0, 1)
    name = write_part(tmp_path, 2, 0, 0, pa.table({"ts": [1], "_ts": [1]}))
    history.note(other, 0, [name], rows=1, max_ts=1)
    history.forget(2)
    assert rows_of(history, other, 0).num_rows == 0
    assert times(history, 0) == [1]
    assert len(parquet_files(tmp_path)) == 1


# Damage.


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    history = History(tmp_path)
    write(history, 0, 1)
    (tmp_path / "000001" / "part-0000000000-00000.parquet").unlink()
    with pytest.raises(StateError, match=r"part-0000000000-00000\.parquet is missing"):
        rows_of(history, S, 0)


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: str) -> None:
    history = History(tmp_path)
    write(history, 0, *range(1000))
    path = tmp_path / "000001" / "part-0000000000-00000.parquet"
    content = bytearray(path.read_bytes())
    if damage == "cut":
        del content[len(content) // 2 :]
    else:
        content[200:220] = bytes(20)
    path.write_bytes(content)
    with pytest.raises(StateError, match=r"part-0000000000-00000\.parquet is damaged"):
        rows_of(history, S, 0)


def test_a_damaged_manifest_is_named(tmp_path: Path) -> None:
    write(History(tmp_path), 0, 1)
    (tmp_path / "000001" / "epoch-0000000000.json").write_text("{")
    with pytest.raises(StateError, match=r"epoch-0000000000\.json is damaged"):
        rows_of(History(tmp_path), S, 0)


def test_a_history_elsewhere_is_merged_and_read_as_a_local_one(tmp_path: Path) -> None:
    history = History(location_of(f"file://{tmp_path}/home"), epochs_per_base=4, is_ours=True)
    for epoch in range(20):
        parts = [part(history, epoch, epoch, number=number) for number in range(2)]
        history.note(S, epoch, parts, rows=2, max_ts=epoch, writer=f"w{epoch}")
        history.collect(S, epoch, oldest_ts=5, retain_epochs=2, writer=f"w{epoch}")
    assert times(history, 19) == times(History(history.folder), 19)
    assert [ts for ts in times(history, 19) if ts >= 5] == sorted([*range(5, 20)] * 2)
    assert len(parquet_files(tmp_path / "home")) < 30
    (file, *_) = history.files(1, 19)
    (tmp_path / "home" / "000001" / file.path.name).write_bytes(b"damaged")
    assert len(times(history, 19)) == 30  # there is a copy on this machine


def test_a_folder_of_our_own_is_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[object] = []

    def listing(folder: Any) -> list[str]:
        listed.append(folder)
        return names_in(folder)

    names_in = manifests.names_in
    monkeypatch.setattr(manifests, "names_in", listing)
    history = History(tmp_path, is_ours=True)
    for epoch in range(5):
        write(history, epoch, epoch)
        assert times(history, epoch) == list(range(epoch + 1))
    assert len(listed) == 1


def test_two_attempts_at_an_epoch_write_manifests_of_their_own(tmp_path: Path) -> None:
    log = EpochLog(tmp_path / "epochs")
    history = History(tmp_path / "history", log)
    rows = pa.table({"ts": [1], "k": [0], "_ts": [1]})
    pins = {}
    for writer in ("first", "second"):
        written = write_part(history.folder, 1, 0, 0, rows, f"{writer}_7")
        pins[writer] = history.note(S, 0, [written], rows=1, max_ts=1, writer=writer)
    log.commit(replace(NOTHING, epoch=0, pins=pins["first"]))
    (file,) = history.files(1, 0)
    assert file.path.name == "part-0000000000-00000-first_7.parquet"


def test_a_column_that_was_added_is_null_in_rows_from_before_also_when_files_are_merged(
    tmp_path: Path,
) -> None:
    more = base_stream("CREATE STREAM s (ts BIGINT, k BIGINT, note STRING) TIMESTAMP BY ts MICROSECONDS")
    more = replace(more, created_with=2)
    history = History(tmp_path, epochs_per_base=1)
    for epoch in range(20):
        if epoch < 10:
            write(history, epoch, epoch)
        else:
            rows = pa.table({"ts": [epoch], "k": [1], "note": ["x"], "_ts": [epoch]})
            part = write_part(history.folder, 1, epoch, 0, rows)
            history.note(more, epoch, [part], rows=1, max_ts=epoch)
        history.collect(S if epoch < 10 else more, epoch, oldest_ts=0, retain_epochs=1)
    assert any(name.startswith("merged") for name in parquet_files(tmp_path))
    assert rows_of(history, more, 19).column("note").to_pylist() == [None] * 10 + ["x"] * 10
    assert times(history, 19) == list(range(20))
