"""One hour of event time with twenty standing queries of every kind: what the state comes to, epoch by epoch.

    python -m benchmarks.one_hour [--traces FOLDER] [--epochs 180] [--retain 20]

`--traces` is a folder with packets of the Lawrence Berkeley Laboratory (lbl-tcp-flags.parquet, lbl-udp.parquet);
without it, traffic of the same shape is made up. The windows are of ten minutes at most, so after the first ten
minutes, and the epochs that stay readable, nothing should grow any more. Ends with an error if something does.
Two queries are told apart, because by their meaning they keep something of all that ever came: the last packets of
every host, and the stream of all hosts that entered.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import panes
from benchmarks import charts, result_files

HOUR_US = 3_600_000_000
SEED = 7
GENERATED_ROWS = 24_000
COLUMNS = "ts_us BIGINT, src BIGINT, dst BIGINT, sport BIGINT, dport BIGINT, flags STRING"
TRACES = {"tcp": "lbl-tcp-flags.parquet", "udp": "lbl-udp.parquet"}

QUERIES = {
    "selection": "SELECT src, dst FROM tcp [RANGE 10 MINUTES] WHERE flags = 'S' AND dport < 1024",
    "projection": "SELECT src, dport % 100 AS port FROM udp [RANGE 5 MINUTES SLIDE 30 SECONDS]",
    "group by": "SELECT src, count(*) AS n FROM udp [RANGE 10 MINUTES] GROUP BY src",
    "group by, sliding": "SELECT dport, count(*) AS n FROM tcp [RANGE 10 MINUTES SLIDE 1 MINUTE] GROUP BY dport",
    "having": "SELECT dst, count(*) AS n FROM udp [RANGE 5 MINUTES] GROUP BY dst HAVING count(*) > 20",
    "global count": "SELECT count(*) AS n, max(ts_us) AS last FROM tcp [RANGE 10 MINUTES]",
    "distinct": "SELECT DISTINCT src FROM tcp [RANGE 10 MINUTES]",
    "count distinct": "SELECT count(DISTINCT dst) AS n FROM udp [RANGE 10 MINUTES SLIDE 1 MINUTE]",
    "quantile": "SELECT flags, quantile(dport, 0.9) AS p90 FROM tcp [RANGE 10 MINUTES] GROUP BY flags",
    "top_k": "SELECT top_k(src, 5) AS talkers FROM udp [RANGE 5 MINUTES]",
    "join": """SELECT s.src, s.dst, f.flags FROM tcp [RANGE 1 MINUTE] AS s, tcp [RANGE 5 MINUTES] AS f
        WHERE s.src = f.dst AND s.dst = f.src AND s.sport = f.dport AND s.flags = 'S'""",
    "join, grouped": """SELECT t.src, count(*) AS n FROM tcp [RANGE 5 MINUTES] AS t, udp [RANGE 30 SECONDS] AS u
        WHERE t.src = u.src GROUP BY t.src""",
    "not exists": """SELECT DISTINCT src FROM udp [RANGE 5 MINUTES] WHERE NOT EXISTS
        (SELECT * FROM tcp [RANGE 5 MINUTES] WHERE tcp.src = udp.src)""",
    "exists": """SELECT src, dport FROM tcp [RANGE 5 MINUTES] WHERE EXISTS
        (SELECT * FROM udp [RANGE 1 MINUTE] WHERE udp.src = tcp.src)""",
    "rows": "SELECT src, dst FROM udp [ROWS 1000]",
    "rows by partition": "SELECT src, dst, dport FROM tcp [PARTITION BY src ROWS 3]",
    "union": "SELECT src FROM tcp [RANGE 5 MINUTES] UNION ALL SELECT src FROM udp [RANGE 1 MINUTE]",
    "except": "SELECT src FROM tcp [RANGE 10 MINUTES] EXCEPT SELECT src FROM udp [RANGE 10 MINUTES]",
    "intersect": "SELECT src FROM tcp [RANGE 10 MINUTES] INTERSECT SELECT src FROM udp [RANGE 10 MINUTES]",
    "istream": "Istream(SELECT DISTINCT dst FROM tcp [RANGE 10 MINUTES])",
}

KEEP_SOMETHING_OF_ALL = ("rows by partition", "istream")


@dataclass(frozen=True)
class Measure:
    """What is there after an epoch."""

    epoch: int
    minute: float
    seconds: float
    state_bytes: int
    """Of the queries whose windows bound it."""
    other_bytes: int
    """Of those that keep something of all that ever came."""
    segments: int
    files: int
    disk_bytes: int
    history_bytes: int


def write_streams(folder: Path, traces: Path | None, epochs: int) -> None:
    """A folder per stream with a file per epoch, cut by time, so that the streams advance together."""
    for number, (name, file) in enumerate(TRACES.items()):
        rows = pq.read_table(traces / file) if traces else generated(number)
        if "flags" not in rows.column_names:
            rows = rows.append_column("flags", pa.nulls(rows.num_rows, pa.string()))
        ts = rows.column("ts_us").to_numpy()
        bounds = np.linspace(-1, HOUR_US, epochs + 1).astype(np.int64)
        (folder / name).mkdir()
        for epoch, (after, until) in enumerate(pairwise(bounds)):
            path = folder / name / f"{epoch:05d}.parquet"
            pq.write_table(rows.filter(pa.array((ts > after) & (ts <= until))), path)
            os.utime(path, (epoch, epoch))


def generated(number: int) -> pa.Table:
    """Packets of an hour: few talkative hosts and many quiet ones, connections that are opened and closed."""
    random = np.random.default_rng(SEED + number)
    hosts = np.clip(random.zipf(1.3, (2, GENERATED_ROWS)), 1, 2_000)
    flags = np.array(["S", "F", "R"])[random.choice(3, GENERATED_ROWS, p=[0.5, 0.4, 0.1])]
    return pa.table(
        {
            "ts_us": np.sort(random.integers(0, HOUR_US, GENERATED_ROWS)),
            "src": hosts[0],
            "dst": hosts[1],
            "sport": random.integers(1_024, 5_000, GENERATED_ROWS),
            "dport": random.choice([23, 25, 53, 80, 119, 2_049], GENERATED_ROWS),
            "flags": pa.array(flags, pa.string()),
        }
    )


def run(folder: Path, traces: Path | None, epochs: int, retain: int) -> list[Measure]:
    write_streams(folder, traces, epochs)
    measures: list[Measure] = []
    with panes.connect(folder / "db") as db:
        db.sql(f"SET retain_epochs = {retain}")
        for name in TRACES:
            db.sql(
                f"CREATE STREAM {name} ({COLUMNS}) TIMESTAMP BY ts_us MICROSECONDS "
                f"FROM FILES '{folder / name}' WITH (files_per_epoch = 1)"
            )
        for name, sql in QUERIES.items():
            db.register(sql, name=name)

        def measure(epoch: panes.Epoch) -> None:
            status = db.status()
            files, size = disk_use(db.path / "states")
            others = sum(status.queries[name].bytes for name in KEEP_SOMETHING_OF_ALL)
            assert epoch.clock is not None
            measures.append(
                Measure(
                    epoch=epoch.number,
                    minute=epoch.clock.timestamp() / 60,
                    seconds=epoch.seconds,
                    state_bytes=status.state_bytes - others,
                    other_bytes=others,
                    segments=status.state_segments,
                    files=files,
                    disk_bytes=size,
                    history_bytes=disk_use(db.path / "history")[1],
                )
            )

        db.run(on_epoch=measure)
        for query in db.queries():
            print(f"  {query.name}: {len(query.invoke())} rows in its answer")
    return measures


def disk_use(folder: Path) -> tuple[int, int]:
    """Files and bytes below a folder."""
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return len(sizes), sum(sizes)


def table(measures: Sequence[Measure]) -> str:
    """What is there at every tenth minute."""
    lines = [
        "| minute | state of 18 queries | of the other 2 | segments | files | on disk | history | an epoch |",
        "| --: | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for minute in range(10, 61, 10):
        then = [m for m in measures if minute - 10 < m.minute <= minute]
        last = then[-1]
        seconds = statistics.median(m.seconds for m in then)
        lines.append(
            f"| {minute} | {last.state_bytes / 1e6:.2f} MB | {last.other_bytes / 1e6:.2f} MB "
            f"| {last.segments} | {last.files} | {last.disk_bytes / 1e6:.2f} MB "
            f"| {last.history_bytes / 1e6:.2f} MB | {seconds:.2f} s |"
        )
    return "\n".join(lines)


def draw(measures: Sequence[Measure]) -> None:
    def line(values: Sequence[float]) -> list[tuple[float, float]]:
        return [(m.minute, value) for m, value in zip(measures, values, strict=True)]

    panels = {
        "bytes (MB)": {
            "state of 18 queries": line([m.state_bytes / 1e6 for m in measures]),
            "state of the other 2": line([m.other_bytes / 1e6 for m in measures]),
            "files of all epochs kept": line([m.disk_bytes / 1e6 for m in measures]),
            "history": line([m.history_bytes / 1e6 for m in measures]),
        },
        "files": {
            "segments of the last epoch": line([m.segments for m in measures]),
            "files on disk": line([m.files for m in measures]),
        },
        "seconds": {"an epoch": line([m.seconds for m in measures])},
    }
    charts.lines(
        "one-hour",
        [
            charts.Panel(y, lines, "minute of event time", y, is_log_x=False, is_log_y=False)
            for y, lines in panels.items()
        ],
    )


def growing(measures: Sequence[Measure]) -> list[str]:
    """What has grown by more than a fourth between the middle of the hour and its end."""
    found = []
    for what in ("state_bytes", "segments", "files", "history_bytes"):
        middle = statistics.mean(getattr(m, what) for m in measures if 20 < m.minute <= 40)
        end = statistics.mean(getattr(m, what) for m in measures if m.minute > 40)
        if end > 1.25 * middle:
            found.append(f"{what}: {middle:,.0f} in minutes 20 to 40, {end:,.0f} after")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, help="the folder with the packets of an hour")
    parser.add_argument("--epochs", type=int, default=180)
    parser.add_argument("--retain", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        measures = run(Path(name), options.traces, options.epochs, options.retain)
    source = (
        "packets of an hour at the Lawrence Berkeley Laboratory" if options.traces else "generated packets"
    )
    result_files.save("one_hour", [asdict(m) for m in measures], source=source, retain_epochs=options.retain)
    draw(measures)
    print(table(measures))
    if found := growing(measures):
        sys.exit("still growing: " + "; ".join(found))


if __name__ == "__main__":
    main()
