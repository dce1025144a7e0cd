"""Questions put to real traces, when they lie beside the checkout: after every epoch the answers are DuckDB's."""

from __future__ import annotations

import os
from collections import Counter
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest

from panes.clock import to_microseconds
from panes.testing import local

DATA = Path(__file__).parents[2].parent / "shared" / "data"
MINUTE = 60_000_000

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the traces are not beside this checkout")

FLAGS = "ts_us BIGINT, src BIGINT, dst BIGINT, sport BIGINT, dport BIGINT, flags STRING"
UDP = "ts_us BIGINT, src BIGINT, dst BIGINT"
WEB = "ts_us BIGINT, room STRING, machine STRING, url_id BIGINT, bytes BIGINT, delay_us BIGINT"

PACKETS = {
    "closed": (
        """
        SELECT s.src, s.dst, s.sport, f.flags FROM flags [RANGE 1 MINUTE] AS f, flags [RANGE 1 MINUTE] AS s
        WHERE s.src = f.src AND s.dst = f.dst AND s.sport = f.sport AND s.flags = 'S' AND f.flags <> 'S'
        """,
        """
        SELECT s.src, s.dst, s.sport, f.flags FROM flags f JOIN flags s USING (src, dst, sport)
        WHERE s.flags = 'S' AND f.flags <> 'S' AND f.ts_us > $now - 60000000 AND s.ts_us > $now - 60000000
        """,
        None,
    ),
    "silent": (
        """
        SELECT DISTINCT src FROM udp [RANGE 5 MINUTES]
        WHERE NOT EXISTS (SELECT * FROM flags [RANGE 5 MINUTES] WHERE flags.src = udp.src AND flags.flags = 'S')
        """,
        """
        SELECT DISTINCT src FROM udp WHERE ts_us > $now - 300000000 AND src NOT IN
        (SELECT src FROM flags WHERE flags = 'S' AND ts_us > $now - 300000000)
        """,
        None,
    ),
}
REQUESTS = {
    "busiest": (
        """
        SELECT machine, count(*) AS n, sum(bytes) AS total
        FROM web [RANGE 10 MINUTES SLIDE 1 MINUTE] GROUP BY machine
        """,
        "SELECT machine, count(*), sum(bytes)::BIGINT FROM web WHERE ts_us > $now - 600000000 GROUP BY machine",
        MINUTE,
    ),
    "slow": (
        "SELECT room, median(delay_us) AS middle FROM web [RANGE 1 HOUR] WHERE bytes > 0 GROUP BY room",
        "SELECT room, median(delay_us) FROM web WHERE bytes > 0 AND ts_us > $now - 3600000000 GROUP BY room",
        None,
    ),
    "fresh": (
        "SELECT count(DISTINCT url_id) AS urls FROM web [RANGE 15 MINUTES SLIDE 5 MINUTES]",
        "SELECT count(DISTINCT url_id) FROM web WHERE ts_us > $now - 900000000",
        5 * MINUTE,
    ),
    "last": (
        "SELECT machine, url_id FROM web [PARTITION BY machine ROWS 3]",
        """
        SELECT machine, url_id FROM (
          SELECT *, row_number() OVER (PARTITION BY machine ORDER BY ts_us DESC) AS age FROM web
        ) WHERE age <= 3
        """,
        None,
    ),
}


def check(tmp_path, streams: dict[str, tuple[str, str]], queries, most_rows: int, epochs: int) -> None:
    with local(tmp_path / "db") as db, duckdb.connect() as oracle:
        for name, (file, columns) in streams.items():
            table = pq.read_table(DATA / file).slice(0, most_rows)
            folder = tmp_path / name
            folder.mkdir()
            oracle.register(f"{name}_all", table)
            # Cut by time, so that the streams advance together.
            ts = table.column("ts_us").to_numpy()
            bounds = np.linspace(ts[0] - 1, ts[-1], epochs + 1).astype(int)
            for epoch, (after, until) in enumerate(pairwise(bounds)):
                pq.write_table(table.filter((ts > after) & (ts <= until)), folder / f"{epoch}.parquet")
                os.utime(folder / f"{epoch}.parquet", (epoch, epoch))
            db.sql(
                f"CREATE STREAM {name} ({columns}) TIMESTAMP BY ts_us MICROSECONDS "
                f"FROM FILES '{folder}' WITH (files_per_epoch = 1)"
            )
        for name, (sql, _, _) in queries.items():
            db.register(sql, name=name)
        compared = []

        def compare(epoch):
            clocks = {name: progress.clock for name, progress in db.status().streams.items()}
            for name, (sql, expected, slide) in queries.items():
                answer = db.query(name).invoke()
                at = to_microseconds(answer.as_of)
                read = [clock for stream, clock in clocks.items() if f"{stream} [" in sql]
                # While rows come the slowest stream decides; at the end nobody is waited for.
                now = max(read) if epoch.rows == 0 else min(read)
                assert at == (now - now % slide if slide else now)
                for stream in streams:
                    oracle.sql(
                        f"CREATE OR REPLACE TEMP VIEW {stream} AS FROM {stream}_all WHERE ts_us <= {at}"
                    )
                query = expected.replace("$now", str(at))
                got = Counter(zip(*[column.to_pylist() for column in answer.table.columns], strict=True))
                assert got == Counter(oracle.sql(query).fetchall()), f"{name} at {at}"
                compared.append(len(answer))

        db.run(on_epoch=compare)
        assert sum(compared) > 100


def test_packets_of_an_hour(tmp_path):
    streams = {"flags": ("lbl-tcp-flags.parquet", FLAGS), "udp": ("lbl-udp.parquet", UDP)}
    check(tmp_path, streams, PACKETS, most_rows=100_000, epochs=4)


def test_web_requests_of_a_day(tmp_path):
    check(tmp_path, {"web": ("web-requests.parquet", WEB)}, REQUESTS, most_rows=40_000, epochs=4)
