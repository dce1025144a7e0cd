"""Polars, which has no standing queries: the rows of the window are kept in a frame, and every slide asks again.

It keeps everything in memory, and nothing for the next slide.
"""

from __future__ import annotations

import time
from functools import reduce

import numpy as np
import polars as pl

from benchmarks import checksums
from benchmarks.checksums import Checksum
from benchmarks.engine import Outcome
from benchmarks.traffic import Bounds, dataset, standing_queries
from benchmarks.workloads import WORKLOADS, Workload

col = pl.col


class PolarsRerun:
    def run(self, workload: str, rows: int, files: int) -> Outcome:
        data, asked = dataset(rows, files), WORKLOADS[workload]
        run = _join if asked.slide_ms is None else _slides
        checksum = Checksum()
        began = time.perf_counter()
        run([str(file) for file in data.files], asked, checksum)
        return Outcome(time.perf_counter() - began, checksum.text)

    def close(self) -> None:
        pass


def engine() -> PolarsRerun:
    return PolarsRerun()


def _join(files: list[str], asked: Workload, checksum: Checksum) -> None:
    """W2 has no slides: each file is joined with the last minute before it."""
    apart = asked.range_ms - 1
    held: pl.DataFrame | None = None
    for number, file in enumerate(files):
        read = pl.read_parquet(file)
        since = read["ts"][0] - apart
        new = read.filter(col("proto") == "ftp", col("link") <= 1).select(
            "ts", "link", "src", pl.lit(number).alias("file")
        )
        held = new if held is None else pl.concat([held.filter(col("ts") >= since), new])
        left, right = (held.lazy().filter(col("link") == link) for link in (0, 1))
        pairs = left.join(right, on="src").filter(
            (col("ts") - col("ts_right")).abs() <= apart,
            pl.max_horizontal("file", "file_right") == number,
        )
        checksum.add(pairs.select(pl.len()).collect().item())


def _slides(files: list[str], asked: Workload, checksum: Checksum) -> None:
    assert asked.slide_ms is not None
    held: pl.DataFrame | None = None
    done = 0
    counts = [_count(bounds).alias(str(i)) for i, bounds in enumerate(standing_queries())]
    for file in files:
        new = pl.read_parquet(file)
        oldest = asked.end_ms(done + 1) - asked.range_ms
        held = new if held is None else pl.concat([held.filter(col("ts") >= oldest), new], rechunk=True)
        ts = held["ts"].to_numpy()
        complete = int(ts[-1] - asked.end_ms(0)) // asked.slide_ms
        for k in range(done + 1, complete + 1):
            first, last = np.searchsorted(ts, (asked.end_ms(k) - asked.range_ms, asked.end_ms(k)))
            window = held.slice(int(first), int(last - first))
            checksum.add(*checksums.of_answer(_answer(window, asked.name, counts), k))
        done = complete


def _answer(window: pl.DataFrame, workload: str, counts: list[pl.Expr]) -> list[checksums.Part]:
    match workload:
        case "W1":
            groups = window.group_by("src").agg(
                pl.len().cast(pl.Int64).alias("n"), col("bytes").cast(pl.Int64).sum().alias("total")
            )
            return checksums.groups(
                *(groups[name].cast(pl.Int64).to_numpy() for name in ("src", "n", "total"))
            )
        case "W3":
            pairs = window.lazy().filter(col("link") == 0).select("src", "dst").unique()
            return checksums.number(np.array([pairs.select(pl.len()).collect().item()]))
        case "W4":
            left, right = (window.lazy().filter(col("link") == link) for link in (0, 1))
            rest = left.join(right, on="src", how="anti").select(pl.len()).collect().item()
            return checksums.number(np.array([rest]))
        case "W5":
            found = window.select(counts).to_numpy()[0]
            return checksums.standing(np.arange(len(found)), found)
    top = window.group_by("src").agg(pl.len().cast(pl.Int64).alias("n"))
    top = top.sort(["n", "src"], descending=[True, False]).head(10)
    ranks = np.arange(1, len(top) + 1)
    return checksums.ranked(ranks, top["src"].cast(pl.Int64).to_numpy(), top["n"].to_numpy())


def _count(bounds: Bounds) -> pl.Expr:
    terms = [
        col("bytes") >= bounds.low,
        col("bytes") < bounds.high,
        col("dst") >= bounds.first,
        col("dst") < bounds.last,
    ]
    if bounds.proto is not None:
        terms.append(col("proto") == bounds.proto)
    return reduce(lambda one, other: one & other, terms).sum().cast(pl.Int64)
