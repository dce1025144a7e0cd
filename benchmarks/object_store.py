"""State in an object store: the requests of an epoch by kind, and how long it takes beside a local folder.

    python -m benchmarks.object_store [--epochs 18] [--shards 2 8]

Nineteen queries run over pushed rows: those of the demo, and others of every kind. The same rows go to a database
whose state is in a local folder, in the same run. Ends with an error when an epoch on two shards needs more than
60 requests, or more time than twice that of a local one and the time of those requests.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import panes
from benchmarks.counted_store import CountedStore
from benchmarks.measuring import packets
from benchmarks.result_files import save
from panes.cli.demo_queries import QUERIES as DEMO
from panes.cli.demo_queries import TABLES
from panes.delta.delta import TS

if TYPE_CHECKING:
    from panes.spark.session import SparkSession

NAME = "object-store"
EPOCHS = 18
WARM = 10
"""The first epochs plan, Spark's workers get warm, and nothing is old enough to be removed."""
RETAINED = 4
SHARDS = (2, 8)
MOST_REQUESTS = 60
STREAMS = (
    "CREATE STREAM packets (ts BIGINT, link INT, src BIGINT, dst BIGINT, proto STRING, bytes BIGINT) "
    "TIMESTAMP BY ts MILLISECONDS",
    "CREATE STREAM web AS SELECT * FROM packets WHERE proto = 'http'",
    "CREATE STREAM ftp0 AS SELECT * FROM packets WHERE proto = 'ftp' AND link = 0",
    "CREATE STREAM ftp1 AS SELECT * FROM packets WHERE proto = 'ftp' AND link = 1",
)
OTHERS = (
    "SELECT src, dst FROM packets [RANGE 10 SECONDS] WHERE bytes < 100",
    "SELECT src, dst FROM packets [RANGE 20 SECONDS] WHERE proto = 'telnet'",
    "SELECT DISTINCT src FROM packets [RANGE 5 SECONDS]",
    "SELECT count(*) AS n, max(bytes) AS most FROM packets [RANGE 10 SECONDS]",
    "SELECT proto, quantile(bytes, 0.9) AS p90 FROM packets [RANGE 10 SECONDS] GROUP BY proto",
    "SELECT top_k(src, 5) AS talkers FROM packets [RANGE 5 SECONDS]",
    "SELECT src, bytes FROM packets [ROWS 1000]",
    "SELECT src, dst, bytes FROM packets [PARTITION BY src ROWS 3]",
    "SELECT src FROM ftp0 [RANGE 10 SECONDS] EXCEPT SELECT src FROM ftp1 [RANGE 10 SECONDS]",
    "SELECT src FROM ftp0 [RANGE 10 SECONDS] INTERSECT SELECT src FROM ftp1 [RANGE 10 SECONDS]",
    "SELECT src FROM ftp0 [RANGE 5 SECONDS] UNION ALL SELECT dst FROM ftp1 [RANGE 1 SECOND]",
    "SELECT DISTINCT src FROM ftp0 [RANGE 5 SECONDS] "
    "WHERE NOT EXISTS (SELECT * FROM ftp1 [RANGE 5 SECONDS] WHERE ftp1.src = ftp0.src)",
    "Istream(SELECT DISTINCT dst FROM packets [RANGE 10 SECONDS])",
)


@dataclass(frozen=True)
class Result:
    """An epoch with state in an object store, and one with state in a local folder: medians of some."""

    shards: int
    queries: int
    requests: dict[str, float]
    total: float
    requests_s: float
    """The time that the store takes for the requests of an epoch, one after another."""
    store_s: float
    local_s: float

    @property
    def allowed_s(self) -> float:
        return 2 * self.local_s + self.requests_s


def measure(session: SparkSession, store: CountedStore, shards: int, epochs: int) -> Result:
    local_s = [seconds for seconds, _, _ in run(session, None, store, shards, epochs)]
    found = run(session, store.uri(f"shards{shards}"), store, shards, epochs)
    kinds = sorted({kind for _, counts, _ in found for kind in counts})
    return Result(
        shards,
        len(DEMO) + len(OTHERS),
        {kind: statistics.median(counts[kind] for _, counts, _ in found) for kind in kinds},
        statistics.median(counts.total() for _, counts, _ in found),
        statistics.median(seconds for _, _, seconds in found),
        statistics.median(seconds for seconds, _, _ in found),
        statistics.median(local_s),
    )


def run(
    session: SparkSession, state: str | None, store: CountedStore, shards: int, epochs: int
) -> list[tuple[float, Counter[str], float]]:
    """Of every epoch with rows its seconds, its requests by kind, and the seconds that these took."""
    with (
        tempfile.TemporaryDirectory() as name,
        panes.connect(Path(name) / "db", state=state, spark=session) as db,
    ):
        # A push makes an epoch of its own.
        db.sql(f"SET shards = {shards}; SET epoch_megabytes = 0.0001; SET retain_epochs = {RETAINED}")
        db.sql("; ".join([*STREAMS, *TABLES]))
        for query in [*(query.sql for query in DEMO), *OTHERS]:
            db.register(query)
        for epoch in range(epochs):
            db.push("packets", packets(epoch).drop_columns([TS]))
        seen: list[tuple[int, float, tuple[Counter[str], float]]] = []
        db.run(on_epoch=lambda epoch: seen.append((epoch.rows, epoch.seconds, store.counts())))
    return [
        (seconds, counts - before[0], took - before[1])
        for (_, _, before), (rows, seconds, (counts, took)) in pairwise(seen[WARM - 1 :])
        if rows
    ]


def problems(results: list[Result]) -> list[str]:
    found = []
    for result in results:
        if result.shards == 2 and result.total > MOST_REQUESTS:
            found.append(f"{result.total:.0f} requests per epoch are more than {MOST_REQUESTS}")
        if result.store_s > result.allowed_s:
            most = f"{result.allowed_s:.2f} s at most"
            found.append(f"on {result.shards} shards an epoch takes {result.store_s:.2f} s, not {most}")
    return found


def main() -> None:
    from panes.spark.session import local_session

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--shards", type=int, nargs="+", default=SHARDS)
    arguments = parser.parse_args()
    with CountedStore() as store:
        session = local_session()
        results = [measure(session, store, shards, arguments.epochs) for shards in arguments.shards]
    for result in results:
        print(result)
    save(NAME, [asdict(result) for result in results], epochs=arguments.epochs)
    if found := problems(results):
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
