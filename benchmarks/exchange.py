"""The two ways of the exchange side by side: tables between tasks in files, and through Spark's shuffle.

    python -m benchmarks.exchange [W1 W4 …] [--rows 2000000] [--times 3]

Both run each workload in turn, so that they meet the same machine; the better of their runs counts, and the least
processor time of Python and Java together, which other work on the machine disturbs less. The tables of
one epoch are also written and read without Spark, with each compression of Arrow: what that costs and saves.
Results go to benchmarks/results/exchange.json; `python -m benchmarks.report` puts them into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from benchmarks.checksums import EXPECTED
from benchmarks.engine import WARM_UP_FILES, WARM_UP_ROWS, Outcome, files_of
from benchmarks.engines.panes_cql import PanesCql
from benchmarks.result_files import save
from benchmarks.traffic import ROWS, packets
from benchmarks.workloads import WORKLOADS

NAME = "exchange"
WAYS = ("files", "shuffle")
CODECS = (None, "lz4", "zstd")
CODEC_ROWS, CODEC_TIMES = 200_000, 7


def side_by_side(workload: str, rows: int, times: int) -> list[dict[str, Any]]:
    """The best run of each way, after a small one."""
    engines = {way: PanesCql(exchange=way) for way in WAYS}
    for engine in engines.values():
        engine.run(workload, WARM_UP_ROWS, WARM_UP_FILES)
    runs: dict[str, list[Outcome]] = {way: [] for way in WAYS}
    for turn in range(times):
        # Each way comes first as often as the other: Java is slower at what it does for the first time.
        for way in WAYS if turn % 2 else WAYS[::-1]:
            runs[way].append(engines[way].run(workload, rows, files_of(rows)))
    expected = EXPECTED.get(f"{workload}:{rows}")
    return [
        {
            "workload": workload,
            "exchange": way,
            "rows": rows,
            "seconds": round(min(run.seconds for run in found), 3),
            "cpu_s": min(run.more["cpu_s"] for run in found),
            "is_right": None if expected is None else all(run.checksum == expected for run in found),
        }
        for way, found in runs.items()
    ]


def codecs() -> list[dict[str, Any]]:
    """CPU time to write and to read a table of packets as an Arrow IPC stream, and how large the stream is."""
    rows = packets(CODEC_ROWS)
    reading = pa.ipc.IpcReadOptions(use_threads=False)
    found = []
    for codec in CODECS:
        options = pa.ipc.IpcWriteOptions(use_threads=False, compression=codec)
        written, read, size = [], [], 0
        for _ in range(CODEC_TIMES):
            began = time.process_time()
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, rows.schema, options=options) as writer:
                writer.write_table(rows)
            stream = sink.getvalue()
            between = time.process_time()
            pa.ipc.open_stream(stream, options=reading).read_all()
            read.append(time.process_time() - between)
            written.append(between - began)
            size = stream.size
        megabytes = rows.nbytes / 1e6
        found.append(
            {
                "codec": codec or "none",
                "size": round(size / rows.nbytes, 3),
                "write_ms_per_mb": round(1000 * min(written) / megabytes, 3),
                "read_ms_per_mb": round(1000 * min(read) / megabytes, 3),
            }
        )
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS))
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--times", type=int, default=3)
    given = parser.parse_args(arguments)
    results = []
    for workload in given.workloads:
        found = side_by_side(workload, given.rows, given.times)
        for result in found:
            print(*(f"{name} {value}" for name, value in result.items()), sep="  ", flush=True)
        results += found
    print(f"Wrote {save(NAME, results, codecs=codecs(), load=round(os.getloadavg()[2], 1))}")


if __name__ == "__main__":
    main()
