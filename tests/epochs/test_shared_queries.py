"""Queries that are equal up to constants share one plan, and nobody can tell from their answers."""

from collections import Counter

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from panes.clock import to_microseconds
from panes.testing import local

ROWS = 1_600
EPOCHS = 4

IN_WINDOW = "ts * 1000 <= {now} AND {now} < ts * 1000 + {length}"
SHAPES = {
    "selection": (
        "SELECT ts, src FROM packets [RANGE {w} SECONDS] WHERE bytes >= {a} AND bytes < {b}",
        "SELECT ts, src FROM rows WHERE bytes >= {a} AND bytes < {b} AND " + IN_WINDOW,
    ),
    "global aggregate": (
        "SELECT count(*) AS n, sum(bytes) AS s FROM packets [RANGE {w} SECONDS SLIDE 10 SECONDS] "
        "WHERE bytes >= {a} AND bytes < {b} AND proto = '{p}'",
        "SELECT count(*), sum(bytes)::BIGINT FROM rows WHERE bytes >= {a} AND bytes < {b} AND proto = '{p}' AND "
        + IN_WINDOW.format(now="{slide}", length="{length}"),
    ),
    "grouped aggregate": (
        "SELECT src, count(*) AS n FROM packets [RANGE {w} SECONDS] WHERE proto IN ('{p}', 'udp') GROUP BY src",
        "SELECT src, count(*) FROM rows WHERE proto IN ('{p}', 'udp') AND " + IN_WINDOW + " GROUP BY src",
    ),
    "join": (
        "SELECT x.src, y.bytes FROM packets [RANGE {w} SECONDS] x, packets [RANGE 20 SECONDS] y "
        "WHERE x.src = y.src AND x.bytes < {a} AND y.proto = '{p}'",
        "SELECT x.src, y.bytes FROM (SELECT * FROM rows WHERE bytes < {a} AND "
        + IN_WINDOW
        + ") x, (SELECT * FROM rows WHERE proto = '{p}' AND "
        + IN_WINDOW.format(now="{now}", length="20000000")
        + ") y WHERE x.src = y.src",
    ),
}


def traffic():
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "ts": np.sort(rng.integers(0, 160_000, ROWS)),
            "src": rng.integers(0, 30, ROWS),
            "bytes": rng.integers(0, 1500, ROWS),
            "proto": rng.choice(["ftp", "tcp", "udp"], ROWS).tolist(),
        }
    )


class Asked:
    """A registered query, and what DuckDB has to say to it."""

    def __init__(self, db, kind, rng):
        a = int(rng.integers(0, 900))
        self.constants = {
            "a": a,
            "b": a + int(rng.integers(50, 500)),
            "p": str(rng.choice(["ftp", "tcp"])),
            # Windows are applied when a selection or join is invoked; in the others they are part of the plan.
            "w": int(rng.choice([15, 40])) if kind in ("selection", "join") else 40,
        }
        self.kind = kind
        self.query = db.register(SHAPES[kind][0].format(**self.constants))

    def difference(self, rows, now):  # noqa: ARG002  DuckDB finds the rows by their name
        length = self.constants["w"] * 1_000_000
        slide = now // 10_000_000 * 10_000_000
        sql = SHAPES[self.kind][1].format(**self.constants, now=now, slide=slide, length=length)
        expected = Counter(duckdb.sql(sql).fetchall())
        answer = Counter(tuple(row.values()) for row in self.query.invoke().to_pylist())
        return (expected - answer, answer - expected)


def test_queries_that_come_and_go_have_their_own_exact_answers(tmp_path):
    rng = np.random.default_rng(6)
    rows = traffic()
    (tmp_path / "in").mkdir()
    with local(tmp_path / "db") as db:
        db.sql(
            "CREATE STREAM packets (ts BIGINT, src BIGINT, bytes BIGINT, proto STRING) "
            f"TIMESTAMP BY ts MILLISECONDS FROM FILES '{tmp_path / 'in'}'; SET share_from = 2"
        )
        asked = [Asked(db, kind, rng) for kind in SHAPES for _ in range(3)]
        for epoch in range(EPOCHS):
            size = ROWS // EPOCHS
            pq.write_table(rows.slice(epoch * size, size), tmp_path / "in" / f"{epoch}.parquet")
            db.run()
            now = to_microseconds(db.status().clock)
            # Those registered now have not been in an epoch: the history answers them.
            asked += [Asked(db, kind, rng) for kind in SHAPES]
            for one in asked:
                assert one.difference(rows, now) == (Counter(), Counter()), (one.kind, one.constants, epoch)
            asked.pop(epoch).query.drop()
        assert len(db._catalog.groups()) == len(SHAPES)


def test_the_changes_of_a_member_add_up_to_its_answer(tmp_path):
    rows = traffic()
    (tmp_path / "in").mkdir()
    with local(tmp_path / "db") as db:
        db.sql(
            "CREATE STREAM packets (ts BIGINT, src BIGINT, bytes BIGINT, proto STRING) "
            f"TIMESTAMP BY ts MILLISECONDS FROM FILES '{tmp_path / 'in'}'; SET share_from = 1"
        )
        rng = np.random.default_rng(7)
        asked = [Asked(db, kind, rng) for kind in SHAPES for _ in range(2)]
        totals = [Counter() for _ in asked]
        for epoch in range(2):
            pq.write_table(rows.slice(epoch * 800, 800), tmp_path / "in" / f"{epoch}.parquet")
            db.run()
            for one, total in zip(asked, totals, strict=True):
                for change in one.query.changes():
                    total.update(tuple(row.values()) for row in change.inserted.to_pylist())
                    total.subtract(tuple(row.values()) for row in change.deleted.to_pylist())
                answer = Counter(tuple(row.values()) for row in one.query.invoke().to_pylist())
                assert +total == answer, (one.kind, one.constants)
                assert min(total.values(), default=0) >= 0


def test_a_landmark_that_joins_a_group_has_what_a_landmark_outside_of_it_made_the_stream_keep(tmp_path):
    landmark = "SELECT ts FROM s BEGIN ('1970-01-01 00:00:10') END (NOW)"
    with local(tmp_path / "db") as db:
        db.sql("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts SECONDS; SET share_from = 100")
        alone = db.register(landmark)
        db.sql("SET share_from = 1")
        db.register("SELECT ts FROM s [RANGE 1 SECOND]")  # the group would keep no more than this
        for ts in range(5, 50, 10):
            db.push("s", [{"ts": ts}])
            db.run()
        member = db.register(landmark)
        before = member.invoke().to_pylist()
        db.push("s", [{"ts": 60}])
        db.run()
        assert before == [{"ts": ts} for ts in (15, 25, 35, 45)]
        assert member.invoke().to_pylist() == alone.invoke().to_pylist() == [*before, {"ts": 60}]


def test_a_snapshot_long_past_does_not_stop_the_expiry_of_its_group(tmp_path):
    with local(tmp_path / "db") as db:
        db.sql(
            "CREATE STREAM s (ts BIGINT, a BIGINT) TIMESTAMP BY ts SECONDS; SET share_from = 1; SET shards = 1"
        )
        snapshot = db.register("SELECT a FROM s BEGIN ('1970-01-01') END ('1970-01-01 00:00:09')")
        db.register("SELECT a FROM s [RANGE 1 SECOND]")
        sizes = []
        for epoch in range(6):
            # Of one epoch so many that its stretch is not merged with that of another.
            db.push("s", {"ts": [10 * epoch] * 20_000, "a": list(range(20_000))})
            db.run()
            sizes.append(db.status().state_bytes)
        assert len(snapshot.invoke()) == 20_000
        assert sizes[-1] < 1.1 * sizes[2]
