"""Panes, through its public interface and with its default settings.

Timed is `db.run()`: everything from the first file to the last commit, after which the answers of all slides lie
in files. They are then read from `changes()`; how long that takes is told apart. The answer of W6 is the ten
sources in their order; how many packets each has, which the checksum wants too, is counted here, and not timed.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np
import pyarrow as pa

import panes
from benchmarks import checksums
from benchmarks.checksums import Checksum, Numbers
from benchmarks.engine import Outcome
from benchmarks.traffic import SOURCES, START_MS, Dataset, dataset, packets
from benchmarks.workloads import WORKLOADS, Workload

STREAM = """
CREATE STREAM packets (ts BIGINT, link INT, src INT, dst INT, proto STRING, bytes INT)
TIMESTAMP BY ts MILLISECONDS FROM FILES '{folder}'
"""


class PanesCql:
    def __init__(self, exchange: str = "auto") -> None:
        self._exchange = exchange

    def run(self, workload: str, rows: int, files: int) -> Outcome:
        asked = WORKLOADS[workload]
        data = dataset(rows, files, ahead_ms=1)
        epochs: list[panes.Epoch] = []
        with panes.connect() as db:
            db.sql(f"SET exchange = '{self._exchange}'; {STREAM.format(folder=data.folder)}")
            began = time.perf_counter()
            queries = [db.register(sql) for sql in asked.queries()]
            registered = time.perf_counter()
            db.run(on_epoch=epochs.append)
            ran = time.perf_counter()
            changes = [changes_of(query) for query in queries]
            read = time.perf_counter()
            checksum = checksum_of(asked, data, changes)
        more = {
            "registering_s": round(registered - began, 3),
            "reading_changes_s": round(read - ran, 3),
            "changes": sum(table.num_rows for table in changes),
            "phases": phases_of(epochs),
            "epochs": [(epoch.rows, round(epoch.seconds, 3)) for epoch in epochs],
        }
        return Outcome(ran - registered, checksum, more)

    def close(self) -> None:
        pass


def engine() -> PanesCql:
    return PanesCql()


def phases_of(epochs: Sequence[panes.Epoch]) -> dict[str, float]:
    """Seconds by phase, over all epochs, the longest first."""
    seconds: Counter[str] = Counter()
    for epoch in epochs:
        seconds.update(epoch.phases)
    return {name: round(took, 3) for name, took in seconds.most_common()}


def changes_of(query: panes.Query) -> pa.Table:
    """All changes of the answer, with the time and the weight of each."""
    tables = [change.table for change in query.changes()]
    return pa.concat_tables(tables) if tables else pa.table({})


def checksum_of(asked: Workload, data: Dataset, changes: Sequence[pa.Table]) -> str:
    checksum = Checksum()
    if asked.slide_ms is None:
        weight = partial(_numbers, name="_weight")
        checksum.add(*(sum(int(w[w > 0].sum()) for w in map(weight, changes)),))
        return checksum.text
    last = data.slides(asked.slide_ms)
    for number, table in enumerate(changes):
        if not table.num_rows:
            continue
        k, weight_ = slide_of(table, asked.slide_ms), _numbers(table, "_weight")
        if asked.name == "W6":
            _add_top(checksum, table, k, weight_, asked, data)
            continue
        match asked.name:
            case "W1":
                parts = checksums.groups(*(_numbers(table, name) for name in ("src", "n", "total")))
            case "W3":
                parts = checksums.number(_numbers(table, "n"))
            case "W4":
                parts = checksums.number(np.ones(table.num_rows, np.int64))
            case _:
                parts = checksums.standing(np.full(table.num_rows, number), _numbers(table, "n"))
        checksum.add(*checksums.of_changes(parts, k, weight_, last))
    return checksum.text


def slide_of(changes: pa.Table, slide_ms: int) -> Numbers:
    """The number of the slide at which each change happens."""
    at = changes.column("_at").cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_numpy()
    k: Numbers = (at - START_MS * 1_000) // (slide_ms * 1_000)
    return k


def _add_top(
    checksum: Checksum, changes: pa.Table, k: Numbers, weight: Numbers, asked: Workload, data: Dataset
) -> None:
    """The sources of every slide in their order, with the number of packets that each has then."""
    assert asked.slide_ms is not None
    last = data.slides(asked.slide_ms)
    counts = counts_at_slides(data.rows, asked, last)
    entered = {int(slide): place for place, slide in enumerate(k) if weight[place] > 0}
    tops = changes.column("top").to_pylist()
    top: list[int] = []
    for slide in range(1, last + 1):
        if slide in entered:
            top = tops[entered[slide]] or []
        sources = np.array(top, np.int64)
        parts = checksums.ranked(np.arange(1, len(sources) + 1), sources, counts[slide - 1][sources])
        checksum.add(*checksums.of_answer(parts, slide))


def counts_at_slides(rows: int, asked: Workload, last: int) -> Numbers:
    """How many packets every source has in the window of every slide from 1 to `last`."""
    assert asked.slide_ms is not None
    table = packets(rows)
    src = table.column("src").to_numpy().astype(np.int64)
    pane = (table.column("ts").to_numpy() - START_MS) // asked.slide_ms
    panes_ = np.zeros((last, SOURCES), np.int64)
    np.add.at(panes_, (pane[pane < last], src[pane < last]), 1)
    counts = panes_.cumsum(axis=0)
    length = asked.range_ms // asked.slide_ms
    counts[length:] -= counts[:-length].copy()
    return counts


def _numbers(table: pa.Table, name: str) -> Numbers:
    values: Numbers = table.column(name).to_numpy().astype(np.int64)
    return values
