"""Panes, through its public interface and with its default settings.

Timed is `db.run()`: everything from the first file to the last commit, after which the answers of all slides lie
in files. They are then read from `changes()`; how long that takes is told apart. For W6 the ten largest of every
slide are taken from them, and that is timed with the rest, since the language has no ORDER BY.
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
from benchmarks.traffic import SOURCES, START_MS, Dataset, dataset
from benchmarks.workloads import WORKLOADS, Workload

TOP = 10
STREAM = """
CREATE STREAM packets (ts BIGINT, link INT, src INT, dst INT, proto STRING, bytes INT)
TIMESTAMP BY ts MILLISECONDS FROM FILES '{folder}'
"""


class PanesCql:
    def run(self, workload: str, rows: int, files: int) -> Outcome:
        asked = WORKLOADS[workload]
        data = dataset(rows, files, ahead_ms=1)
        epochs: list[panes.Epoch] = []
        with panes.connect() as db:
            db.sql(STREAM.format(folder=data.folder))
            began = time.perf_counter()
            queries = [db.register(sql) for sql in asked.queries()]
            registered = time.perf_counter()
            db.run(on_epoch=epochs.append)
            ran = time.perf_counter()
            changes = [changes_of(query) for query in queries]
            read = time.perf_counter()
            checksum = checksum_of(asked, data, changes)
            done = time.perf_counter()
        seconds = ran - registered
        if workload == "W6":
            seconds += done - ran
        more = {
            "registering_s": round(registered - began, 3),
            "reading_changes_s": round(read - ran, 3),
            "changes": sum(table.num_rows for table in changes),
            "phases": phases_of(epochs),
            "epochs": [(epoch.rows, round(epoch.seconds, 3)) for epoch in epochs],
        }
        return Outcome(seconds, checksum, more)

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
            _add_top(checksum, table, k, weight_, last)
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


def _add_top(checksum: Checksum, changes: pa.Table, k: Numbers, weight: Numbers, last: int) -> None:
    """The ten largest counts of every slide; of equal ones, the smaller source comes first."""
    counts = counts_at_slides(_numbers(changes, "src"), _numbers(changes, "n"), k, weight, last)
    order = np.argsort(-counts, axis=1, kind="stable")[:, :TOP]
    for slide, (sources, held) in enumerate(zip(order, np.take_along_axis(counts, order, 1), strict=True), 1):
        sources, held = sources[held > 0], held[held > 0]
        parts = checksums.ranked(np.arange(1, len(sources) + 1), sources, held)
        checksum.add(*checksums.of_answer(parts, slide))


def counts_at_slides(src: Numbers, n: Numbers, k: Numbers, weight: Numbers, last: int) -> Numbers:
    """The count of every source at every slide from 1 to `last`: a row of counts for each slide."""
    seen = (k >= 1) & (k <= last)
    place = (k[seen] - 1) * SOURCES + src[seen]
    added = np.bincount(place, weights=(weight * n)[seen].astype(np.float64), minlength=last * SOURCES)
    counts: Numbers = added.astype(np.int64).reshape(last, SOURCES).cumsum(axis=0)
    return counts


def _numbers(table: pa.Table, name: str) -> Numbers:
    values: Numbers = table.column(name).to_numpy().astype(np.int64)
    return values
