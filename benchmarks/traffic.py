"""The generated network traffic that all engines are given, and the standing queries of W5.

Always the same rows: packets of four links in the order of time, a thousand for each second of event time, with
few talkative sources and many quiet ones. Smaller runs take the first rows of the whole. What is written lies in a
cache folder that can be deleted at any time.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

START_MS = 1_700_000_400_000
"""Event time of the first packet; a multiple of all slides."""
ROWS = 2_000_000
FILES = 10
SEED = 20261115
SOURCES, DESTINATIONS = 5_000, 20_000
PROTOCOLS = {"telnet": 0.35, "ftp": 0.05, "smtp": 0.25, "nntp": 0.20, "http": 0.15}
STANDING_QUERIES = 1_000


@dataclass(frozen=True)
class Bounds:
    """A standing query of W5: `low <= bytes < high`, `first <= dst < last`, and for half of them one protocol."""

    low: int
    high: int
    first: int
    last: int
    proto: str | None

    @property
    def predicate(self) -> str:
        text = f"bytes >= {self.low} AND bytes < {self.high} AND dst >= {self.first} AND dst < {self.last}"
        return text if self.proto is None else f"{text} AND proto = '{self.proto}'"


@dataclass(frozen=True)
class Dataset:
    """Files of traffic in one folder."""

    folder: Path
    rows: int
    last_ms: int
    """Event time of the last packet."""

    @property
    def files(self) -> list[Path]:
        return sorted(self.folder.glob("part-*"))

    def slides(self, slide_ms: int) -> int:
        """How many slides are complete: the windows that end at START + k slides, for k from 1 to this number."""
        return (self.last_ms - START_MS) // slide_ms


@cache
def packets(rows: int = ROWS) -> pa.Table:
    """The first packets."""
    if rows < ROWS:
        return packets().slice(0, rows)
    random = np.random.default_rng(SEED)
    waits = random.exponential(1.0, rows)
    link = random.integers(0, 4, rows, dtype=np.int32)
    popularity = np.arange(1, SOURCES + 1) ** -1.1
    source = random.choice(SOURCES, rows, p=popularity / popularity.sum())
    destination = random.integers(0, DESTINATIONS, rows, dtype=np.int32)
    protocol = random.choice(len(PROTOCOLS), rows, p=list(PROTOCOLS.values()))
    size = np.clip(random.lognormal(6.0, 1.3, rows), 40, 5_000_000)
    return pa.table(
        {
            "ts": START_MS + np.floor(np.cumsum(waits)).astype(np.int64),
            "link": link,
            "src": source.astype(np.int32),
            "dst": destination,
            "proto": pa.array(np.array(list(PROTOCOLS))[protocol], pa.string()),
            "bytes": size.astype(np.int32),
        }
    )


@cache
def standing_queries(count: int = STANDING_QUERIES) -> tuple[Bounds, ...]:
    """Queries of which each takes 5 to 30 percent of the sizes and of the destinations."""
    random = np.random.default_rng(SEED + 1)
    sizes = np.sort(packets().column("bytes").to_numpy())
    names = list(PROTOCOLS)
    made = []
    for _ in range(count):
        of_sizes, of_destinations = random.uniform(0.05, 0.30, 2)
        size_from, destination_from = random.uniform(0, 1 - of_sizes), random.uniform(0, 1 - of_destinations)
        proto = names[random.integers(0, len(names))] if random.random() < 0.5 else None
        made.append(
            Bounds(
                int(sizes[int(size_from * (len(sizes) - 1))]),
                int(sizes[int((size_from + of_sizes) * (len(sizes) - 1))]) + 1,
                int(destination_from * DESTINATIONS),
                int((destination_from + of_destinations) * DESTINATIONS) + 1,
                proto,
            )
        )
    return tuple(made)


def dataset(rows: int, files: int, *, ahead_ms: int = 0, kind: str = "parquet") -> Dataset:
    """The first packets in some files, written on first use; `ahead_ms` is added to their times.

    `parquet` and `csv` (with a header) hold the rows in order; of `turns` (CSV without one, packed) the first file
    holds every second row, so that two readers move through time in step.
    """
    table = packets(rows)
    data = Dataset(cache_folder() / f"{kind}-{rows}-{files}-{ahead_ms}", rows, table["ts"][-1].as_py())
    if data.folder.exists():
        return data
    if ahead_ms:
        table = table.set_column(0, "ts", pa.array(table.column("ts").to_numpy() + ahead_ms))
    making = data.folder.with_name(f"{data.folder.name}.making")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    for number in range(files):
        path = making / f"part-{number:05d}"
        if kind == "turns":
            _write_csv(table.take(pa.array(np.arange(number, rows, files))), path, header=False)
        else:
            first, last = rows * number // files, rows * (number + 1) // files
            part = table.slice(first, last - first)
            if kind == "csv":
                _write_csv(part, path, header=True)
            else:
                pq.write_table(part, path.with_suffix(".parquet"))
    # File sources take files in the order of their age.
    for number, path in enumerate(sorted(making.glob("part-*"))):
        os.utime(path, (number, number))
    making.rename(data.folder)
    return data


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "panes" / "benchmarks"


def _write_csv(table: pa.Table, path: Path, *, header: bool) -> None:
    from pyarrow import csv

    options = csv.WriteOptions(include_header=header, quoting_style="none")
    if header:
        csv.write_csv(table, path.with_suffix(".csv"), options)
        return
    with pa.CompressedOutputStream(str(path.with_suffix(".csv.gz")), "gzip") as out:
        csv.write_csv(table, out, options)
