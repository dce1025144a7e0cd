"""A SELECT by itself, BEGIN … END queries, and queries that no epoch has had yet, on a database without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import panes
from panes.catalog import Catalog
from panes.errors import CatalogError, EpochGone, EvaluationError, SqlError, StateError
from panes.history.history_store import History, write_part
from panes.language import parse
from panes.state.storage.epoch_log import EpochLog, EpochRecord, StreamProgress
from tests.onetime.kept import numbered

SECOND = 1_000_000
DEFINED = """
    CREATE STREAM s (ts BIGINT, k BIGINT, v DOUBLE) TIMESTAMP BY ts SECONDS;
    CREATE STREAM other (ts BIGINT, k BIGINT, v DOUBLE) TIMESTAMP BY ts SECONDS;
    CREATE STREAM big AS SELECT k, v FROM s WHERE v > 1.5;
    CREATE STREAM counts AS SELECT Istream(k, count(*) AS n) FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY k;
"""


def rows(*triples: tuple[int, int, float]) -> pa.Table:
    ts, k, v = zip(*triples, strict=True)
    return pa.table({"ts": pa.array(ts), "k": pa.array(k), "v": pa.array(v)})


class Made:
    """A database whose epochs are made by hand."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open()
        self.streams = numbered(parse(DEFINED))
        self._epoch, self._clock = -1, -1
        self._pins: dict[str, str] = {}

    def _open(self) -> None:
        with closing(Catalog(self.path / "catalog.sqlite")) as catalog:
            self._log = EpochLog(self.path / "epochs", catalog.database)
        self.history = History(self.path / "history", self._log, epochs_per_base=1)

    def epoch(self, clock: int, *, is_raw: bool = False, **came: pa.Table) -> None:
        """What came on each stream until the clock, in seconds."""
        self._open()  # another may have connected meanwhile
        self._epoch += 1
        since = self._clock * SECOND
        for name, table in came.items():
            ts = [t * SECOND for t in table.column("ts").to_pylist()]
            bounds = {"rows": len(ts), "max_ts": max(ts), "since": since}
            stream = self.streams[name]
            if is_raw:
                file = self.path / f"{name}-{self._epoch}.parquet"
                pq.write_table(table, file)
                self._pins |= self.history.adopt(stream, self._epoch, [file], **bounds, min_ts=min(ts))
            else:
                table = table.append_column("_ts", pa.array(ts))
                part = write_part(self.history.folder, stream.number, self._epoch, 0, table)
                self._pins |= self.history.note(stream, self._epoch, [part], **bounds)
        with closing(Catalog(self.path / "catalog.sqlite")) as catalog:
            catalog.marks.begin_epoch(self._epoch)
        self._log.commit(
            EpochRecord(
                epoch=self._epoch,
                batch=-1,
                rows=0,
                seconds=0.0,
                finished_us=0,
                streams={s.number: StreamProgress(clock=clock * SECOND) for s in self.streams.values()},
                pins=dict(self._pins),
            )
        )
        self._clock = clock


@pytest.fixture
def made(tmp_path: Path) -> Made:
    with panes.connect(tmp_path / "db") as db:
        db.sql(DEFINED)
    made = Made(tmp_path / "db")
    made.epoch(3, is_raw=True, s=rows((1, 1, 1.0), (2, 2, 2.0), (3, 1, 3.0)), other=rows((2, 1, 0.0)))
    made.epoch(6, s=rows((5, 1, 4.0), (6, 2, float("nan"))))
    return made


@pytest.fixture
def db(made: Made) -> Iterator[panes.Database]:
    with panes.connect(made.path) as database:
        yield database


def answer(db: panes.Database, sql: str) -> list[tuple[object, ...]]:
    result = db.sql(sql)
    assert isinstance(result, panes.Answer)
    return sorted((tuple(row.values()) for row in result.to_pylist()), key=str)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT ts FROM s [RANGE 3 SECONDS]", [(5,), (6,)]),
        ("SELECT ts FROM s [RANGE 4 SECONDS SLIDE 5 SECONDS]", [(2,), (3,), (5,)]),
        ("SELECT ts FROM s [NOW]", [(6,)]),
        ("SELECT ts FROM s [ROWS 2]", [(5,), (6,)]),
        ("SELECT ts FROM s [ROWS 2 SLIDE 2]", [(3,), (5,)]),
        ("SELECT ts FROM s [PARTITION BY k ROWS 1]", [(5,), (6,)]),
        ("SELECT count(*) FROM s", [(5,)]),
        ("SELECT k, count(*), sum(ts) FROM s [RANGE 5 SECONDS] GROUP BY k", [(1, 2, 8), (2, 2, 8)]),
        ("SELECT k FROM big [RANGE 1 MINUTE]", [(1,), (1,), (2,), (2,)]),
        ("SELECT s.ts FROM s [RANGE 1 MINUTE], other [RANGE 1 MINUTE] WHERE s.k = other.k", [(1,), (3,), (5,)]),
        ("SELECT k FROM s [RANGE 1 MINUTE] EXCEPT SELECT k FROM other [RANGE 1 MINUTE]", [(2,)]),
        ("SELECT ts FROM s [RANGE 1 MINUTE] WHERE k NOT IN (SELECT k FROM other [RANGE 1 MINUTE])", [(2,), (6,)]),
        ("SELECT n, count(*) FROM (SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k) GROUP BY n",
         [(2, 1), (3, 1)]),
        ("SELECT max(ts) FROM s BEGIN (NOW - INTERVAL 4 SECONDS) END (NOW - INTERVAL 2 SECONDS)", [(3,)]),
        ("SELECT ts FROM s BEGIN ('1970-01-01 00:00:02') END ('1970-01-01 00:00:05')", [(2,), (3,), (5,)]),
        ("SELECT k, n FROM counts [RANGE 4 SECONDS]", [(1, 2)]),
        ("SELECT ts FROM s [RANGE 1 MINUTE] WHERE v > 100.0", [(6,)]),
    ],
)  # fmt: skip
def test_select_is_answered_over_the_windows_of_the_last_epoch(
    db: panes.Database, sql: str, expected: list[tuple[int, ...]]
) -> None:
    assert answer(db, sql) == expected


def test_answer_is_of_the_clock_or_of_the_last_slide(db: panes.Database) -> None:
    for sql, second in (
        ("SELECT k FROM s [NOW]", 6),
        ("SELECT k FROM s [RANGE 5 SECONDS SLIDE 4 SECONDS]", 4),
    ):
        result = db.sql(sql)
        assert isinstance(result, panes.Answer)
        assert result.as_of == datetime(1970, 1, 1, 0, 0, second, tzinfo=UTC)


def test_before_the_first_epoch_there_is_nothing(tmp_path: Path) -> None:
    with panes.connect(tmp_path / "db") as db:
        db.sql(DEFINED)
        result = db.sql("SELECT k FROM s [RANGE 1 MINUTE]")
        assert isinstance(result, panes.Answer)
        assert (result.as_of, len(result)) == (None, 0)


def test_late_rows_are_in_once_they_have_come(made: Made) -> None:
    made.epoch(9, s=rows((2, 7, 0.0), (8, 8, 0.0)))
    with panes.connect(made.path) as db:
        assert answer(db, "SELECT k FROM s [RANGE 8 SECONDS]") == [(1,), (1,), (2,), (2,), (7,), (8,)]
        # At the last slide, 6, the row had not come.
        assert answer(db, "SELECT k FROM s [RANGE 5 SECONDS SLIDE 6 SECONDS]") == [(1,), (1,), (2,), (2,)]
        assert answer(db, "SELECT k FROM s [ROWS 2]") == [(7,), (8,)]


def test_rows_of_the_future_wait_for_their_time(made: Made) -> None:
    made.epoch(7, s=rows((7, 7, 0.0), (9, 9, 0.0)))
    with panes.connect(made.path) as db:
        assert answer(db, "SELECT k FROM s [ROWS 1]") == [(7,)]
        assert answer(db, "SELECT k FROM s [RANGE 1 SECOND]") == [(7,)]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT Istream(k) FROM s [RANGE 1 SECOND]", "Istream gives what changes"),
        ("SELECT Dstream(k) FROM s [RANGE 1 SECOND]", "Dstream gives what changes"),
        ("SELECT Rstream(k) FROM s [RANGE 1 SECOND]", "Rstream gives what changes"),
        ("SELECT k FROM s [RANGE 1 SECOND INTERNAL]", "asked once remembers nothing"),
    ],
)
def test_what_has_no_meaning_at_one_moment_is_refused(db: panes.Database, sql: str, reason: str) -> None:
    with pytest.raises(SqlError, match=reason):
        db.sql(sql)


def test_rows_that_are_no_longer_kept_are_not_passed_over_in_silence(made: Made) -> None:
    stream = made.streams["s"]
    made.history.collect(stream, 1, oldest_ts=4 * SECOND, retain_epochs=1)
    with panes.connect(made.path) as db:
        assert answer(db, "SELECT ts FROM s [RANGE 3 SECONDS]") == [(5,), (6,)]
        assert answer(db, "SELECT ts FROM s [ROWS 2]") == [(5,), (6,)]
        for sql in (
            "SELECT k FROM s [RANGE 4 SECONDS]",
            "SELECT k FROM s [ROWS 3]",
            "SELECT count(*) FROM s",
        ):
            with pytest.raises(SqlError, match="s no longer keeps what came up to 1970-01-01T00:00:03"):
                db.sql(sql)


def test_count_windows_slide_by_the_numbers_of_all_rows_that_ever_came(made: Made) -> None:
    made.epoch(9, s=rows((7, 7, 0.0), (8, 8, 0.0)))
    made.history.collect(made.streams["s"], 2, oldest_ts=5 * SECOND, retain_epochs=1)
    with panes.connect(made.path) as db:
        # Rows 4 to 7 are left: the last multiple of 3 is row 6.
        assert answer(db, "SELECT ts FROM s [ROWS 2 SLIDE 3]") == [(6,), (7,)]


def test_a_sum_beyond_64_bits_is_an_error(made: Made) -> None:
    made.epoch(7, s=rows((7, 2**63 - 1, 0.0), (7, 2**63 - 1, 0.0)))
    with panes.connect(made.path) as db, pytest.raises(EvaluationError, match="cannot be answered"):
        db.sql("SELECT sum(k) FROM s [RANGE 1 MINUTE]")


@pytest.mark.parametrize("damage", ["missing", "damaged"])
def test_a_file_that_cannot_be_read_is_named(made: Made, damage: str) -> None:
    (path,) = made.history.folder.rglob("part-*1-00000.parquet")
    with panes.connect(made.path) as db:
        if damage == "missing":
            path.unlink()
        else:
            path.write_bytes(path.read_bytes()[:100])
        with pytest.raises(StateError, match=f"part-0000000001-00000.parquet is {damage}"):
            db.sql("SELECT sum(v) FROM s [RANGE 1 MINUTE]")


# Registered queries.


def test_a_query_is_answered_over_old_data_right_after_it_was_registered(db: panes.Database) -> None:
    query = db.register("SELECT k, count(*) AS n FROM s [RANGE 5 SECONDS] GROUP BY k")
    assert sorted(row["k"] for row in query.invoke().to_pylist()) == [1, 2]
    assert query.invoke().as_of == datetime(1970, 1, 1, 0, 0, 6, tzinfo=UTC)


def test_a_query_that_gives_a_stream_has_no_answer_before_its_first_epoch(db: panes.Database) -> None:
    answer = db.register("SELECT Istream(k) FROM s [RANGE 5 SECONDS]").invoke()
    assert (len(answer), answer.as_of) == (0, None)


def test_begin_and_end_are_applied_when_the_query_is_invoked(made: Made) -> None:
    with panes.connect(made.path) as db:
        db.register("SELECT ts FROM s BEGIN (NOW - INTERVAL 3 SECONDS) END (NOW)", name="sliding")
        db.register("SELECT count(*) AS n FROM s BEGIN ('1970-01-01 00:00:03') END (NOW)", name="landmark")
        db.register(
            "SELECT x.ts FROM s x, other y WHERE x.k = y.k BEGIN ('1970-01-01') END ('1970-01-01 00:00:03')",
            name="snapshot",
        )
        assert answer(db, "INVOKE sliding") == [(3,), (5,), (6,)]
        assert answer(db, "INVOKE landmark") == [(3,)]
        assert answer(db, "INVOKE snapshot") == [(1,), (3,)]
    made.epoch(8, s=rows((7, 1, 0.0)))
    with panes.connect(made.path) as db:
        assert answer(db, "INVOKE sliding") == [(5,), (6,), (7,)]
        assert answer(db, "INVOKE landmark") == [(4,)]
        assert answer(db, "INVOKE snapshot") == [(1,), (3,)]
        assert "BEGIN" in db.query("sliding").explain()


def test_begin_and_end_at_an_earlier_instant(db: panes.Database) -> None:
    query = db.register("SELECT ts FROM s BEGIN (NOW - INTERVAL 1 SECOND) END (NOW)")
    at = query.invoke(as_of=datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC))
    assert (at.to_pylist(), at.as_of) == ([{"ts": 5}], datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC))
    with pytest.raises(EpochGone, match="not known yet: its clock has come to 1970-01-01T00:00:06"):
        query.invoke(as_of="1970-01-01 00:00:07")


def test_begin_and_end_have_no_changes(db: panes.Database) -> None:
    query = db.register("SELECT ts FROM s BEGIN (NOW - INTERVAL 1 SECOND) END (NOW)", name="recent")
    with pytest.raises(CatalogError, match="'recent' is asked of the history when it is invoked"):
        list(query.changes())


def test_a_dropped_stream_leaves_nothing_to_one_of_the_same_name(db: panes.Database) -> None:
    db.sql("DROP STREAM other; CREATE STREAM other (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS")
    assert answer(db, "SELECT * FROM other [RANGE 1 MINUTE]") == []


def test_an_answer_from_the_history_says_from_when_on_it_has_all_tuples(made: Made) -> None:
    made.history.collect(made.streams["s"], 1, oldest_ts=4 * SECOND, retain_epochs=1)
    after_3 = datetime(1970, 1, 1, 0, 0, 3, 1, tzinfo=UTC)
    with panes.connect(made.path) as db:
        for sql, since in (
            ("SELECT ts FROM s [RANGE 3 SECONDS]", None),
            ("SELECT ts FROM s [RANGE 4 SECONDS]", after_3),
            ("SELECT ts FROM s [RANGE 1 SECOND SLIDE 5 SECONDS]", None),
            ("SELECT ts FROM s [ROWS 2]", None),
            ("SELECT ts FROM s [ROWS 3]", after_3),
            ("SELECT count(*) FROM s", after_3),
            ("SELECT ts FROM other [RANGE 1 MINUTE]", None),
            ("SELECT max(ts) FROM s BEGIN ('1970-01-01 00:00:02') END (NOW)", after_3),
            ("SELECT max(ts) FROM s BEGIN ('1970-01-01 00:00:04') END (NOW)", None),
        ):
            found = db.register(sql).invoke()
            assert (found.complete_from, found.is_complete) == (since, since is None), sql
        assert repr(db.query("query_2").invoke()).endswith(
            "2 rows of ts; its windows may lack tuples from before 1970-01-01T00:00:03.000001+00:00>"
        )


def test_a_column_that_was_added_is_null_in_the_files_from_before(made: Made) -> None:
    with panes.connect(made.path) as db:
        db.sql("ALTER STREAM s ADD COLUMN note STRING")
        assert answer(db, "SELECT note, ts FROM s [RANGE 1 MINUTE]") == [(None, ts) for ts in (1, 2, 3, 5, 6)]
        made.streams |= {stream.name: stream for stream in db._catalog.base_streams()}
    made.epoch(7, s=rows((7, 1, 1.0)).append_column("note", pa.array(["x"])))
    with panes.connect(made.path) as db:
        counts = "SELECT note, count(*) FROM s [RANGE 1 MINUTE] GROUP BY note"
        assert answer(db, counts) == [("x", 1), (None, 5)]
        db.register(counts, name="counts_by_note")
        assert len(db.query("counts_by_note").invoke()) == 2
