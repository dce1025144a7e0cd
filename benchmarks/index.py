"""The doubly partitioned index against indexes by one time, and lookups in a large answer (thesis of Golab, 4.4).

    python -m benchmarks.index [--megabytes 12] [--rows 10000000] [--only cells,lookups] [--save]

* cells: figures 4.4 to 4.11. Records of 1,000 bytes with 100 keys and lifetimes of uniform length; the rows that
  come in 36 updates are as many as are there. After each update, one key is looked for and all rows are read. An
  index is Rebuild or NoRebuild by G x E cells, round robin or chronological (chr), or one by times of coming
  alone, which is the wave index: R-ins and D-ins. The large data set is four times the small one; the thesis has
  500 MB and ten times that. In figure 4.8 the rate varies by a factor of up to four.
* lookups: one key of an answer of 10^7 rows, while epochs bring rows in a second thread, and without them; beside
  reading the whole answer.

Updates write segments and manifests as the tasks of epochs do, to the disk of the folder for temporary files. The
first reader of a segment also computes its checksum. No Spark.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, thread_time

import numpy as np
import pyarrow as pa

from benchmarks.index_report import draw
from benchmarks.indexed_store import IndexedStore
from benchmarks.result_files import load, save
from panes.answers.answer_index import AnswerIndex
from panes.answers.index_cells import IndexCells, Order
from panes.delta.delta import EXP, TS
from panes.plan.expressions import Call, Column, Expression, Literal
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, BOOLEAN, STRING

NAME = "index"
KEYS, RECORD, UPDATES = 100, 1_000, 36
PANE = 1 << 20
"""From one update to the next."""
LONGEST = 2 * UPDATES * PANE
"""The longest lifetime: as many rows come in its first half as are alive."""
RECORDS = Schema.of([("key", BIGINT), ("content", STRING)])
SIDES = (2, 3, 4, 5)
FLUCTUATING = (2, 4)


@dataclass(frozen=True)
class Layout:
    """An index as the thesis names it, and its number of cells."""

    name: str
    comings: int
    leavings: int
    rebuild: bool
    order: Order = "round_robin"

    @property
    def cells(self) -> int:
        return self.comings * self.leavings

    @property
    def index(self) -> AnswerIndex:
        cells = IndexCells(self.comings, self.leavings, self.order, 2 * UPDATES)
        return AnswerIndex(("key",), cells, self.rebuild)


def of_cells(side: int) -> Iterator[Layout]:
    """The indexes of side² cells that the thesis compares."""
    for rebuild, name, wave in ((True, "Rebuild", "R-ins"), (False, "NoRebuild", "D-ins")):
        yield Layout(name, side, side, rebuild)
        yield Layout(f"{name} chr", side, side, rebuild, "chronological")
        yield Layout(wave, side * side, 1, rebuild, "chronological")


@dataclass(frozen=True)
class Point:
    """One measurement: of which figure and index, at what, how much."""

    figure: str
    curve: str
    x: float
    y: float


@dataclass
class Records:
    """Records that come at a rate and live for a uniform time."""

    per_update: int
    random: np.random.Generator

    def between(self, since: int, clock: int, count: int) -> pa.Table:
        ts = self.random.integers(since + 1, clock + 1, count)
        exp = ts + self.random.integers(1, LONGEST, count)
        content = pa.repeat("x" * (RECORD - 24), count)
        keys = self.random.integers(0, KEYS, count)
        return pa.table({"key": keys, "content": content, TS: ts, EXP: exp})

    def alive(self) -> pa.Table:
        """What is alive at 0 of all that came before."""
        rows = self.between(-LONGEST, 0, self.per_update * 2 * UPDATES)
        return rows.filter(pa.array(rows.column(EXP).to_numpy() > 0))


def run(layout: Layout, records: int, *, varies: bool = False) -> Mapping[str, float]:
    """The mean times in ms of an update, a probe and a scan, and the KB and cells that an update writes."""
    random = np.random.default_rng(7)
    source = Records(records // UPDATES, random)
    # The same number of records in all, at a rate that varies by a factor of up to four.
    shares = random.uniform(1, 4, UPDATES) if varies else np.ones(UPDATES)
    counts = np.round(source.per_update * shares / shares.mean()).astype(int)
    with tempfile.TemporaryDirectory(prefix="panes-index-") as folder:
        store = IndexedStore(Path(folder), RECORDS, layout.index)
        store.apply(source.alive(), 0)
        found: dict[str, list[float]] = {name: [] for name in ("update", "probe", "scan", "written", "cells")}
        for number, count in enumerate(counts):
            rows = source.between(number * PANE, (number + 1) * PANE, int(count))
            found["update"].append(
                timed(lambda rows=rows, clock=(number + 1) * PANE: store.apply(rows, clock))
            )
            lookup = store.source.lookup_of(equals("key", int(random.integers(KEYS))))
            found["probe"].append(
                timed(lambda lookup=lookup: store.readers.invoke(store.source, None, lookup))
            )
            found["scan"].append(timed(lambda: store.readers.invoke(store.source)))
            found["written"].append(store.written_bytes / 1000)
            found["cells"].append(store.touched_cells)
        store.close()
    return {name: float(np.mean(values)) for name, values in found.items()}


def timed(work: object) -> float:
    """The ms that something takes."""
    assert callable(work)
    began = perf_counter()
    work()
    return 1000 * (perf_counter() - began)


def equals(column: str, value: int) -> Expression:
    return Call(BOOLEAN, "eq", (Column(BIGINT, column), Literal(BIGINT, value)))


def measure_cells(megabytes: int) -> Iterator[Point]:
    """Figures 4.4 to 4.11."""
    small = megabytes * 1_000_000 // RECORD
    one = [
        Layout(name, 1, 1, name in ("Rebuild", "R-ins"))
        for name in ("Rebuild", "NoRebuild", "R-ins", "D-ins")
    ]
    for layout in (*one, *(found for side in SIDES for found in of_cells(side))):
        for what, value in run(layout, small).items():
            yield Point(f"small, {what}", layout.name, layout.cells, value)
        if "chr" in layout.name or layout.cells == 1:
            continue
        for what, value in run(layout, 4 * small).items():
            yield Point(f"large, {what}", layout.name, layout.cells, value)
        if layout.cells in (side * side for side in FLUCTUATING):
            for what, value in run(layout, small, varies=True).items():
                yield Point(f"fluctuating, {what}", layout.name, layout.cells, value)
    for comings, leavings in ((4, 4), (2, 8), (8, 2)):
        layout = Layout(f"Rebuild{comings}x{leavings}", comings, leavings, rebuild=True)
        for what, value in run(layout, small).items():
            yield Point(f"shape, {what}", layout.name, layout.cells, value)


class Answer:
    """A large answer of small rows: ten for each key."""

    SCHEMA = Schema.of([("src", BIGINT), ("dst", BIGINT), ("bytes", BIGINT)])

    def __init__(self, folder: Path, rows: int, *, rebuild: bool) -> None:
        cells = IndexCells.of("4x4")
        self.keys = rows // 10
        self.store = IndexedStore(folder, self.SCHEMA, AnswerIndex(("src",), cells, rebuild))
        self._random = np.random.default_rng(11)
        self._longest = cells.panes * PANE
        self._per_pane = 2 * rows // cells.panes
        self._clock = 0
        for _ in range(cells.panes):
            self.advance(PANE)

    def advance(self, us: int) -> float:
        """An epoch of some length; gives the seconds that it took."""
        count = self._per_pane * us // PANE
        ts = self._random.integers(self._clock + 1, self._clock + us + 1, count)
        columns = {
            "src": self._random.integers(0, self.keys, count),
            "dst": self._random.integers(0, 1_000, count),
            "bytes": self._random.integers(40, 1_500, count),
            TS: ts,
            EXP: ts + self._random.integers(1, self._longest, count),
        }
        self._clock += us
        began = perf_counter()
        self.store.apply(pa.table(columns), self._clock)
        return perf_counter() - began

    def look_up(self, key: int) -> tuple[float, float]:
        """The ms of wall time and of CPU time that the lookup of a key takes."""
        source, began, cpu = self.store.source, perf_counter(), thread_time()
        found = self.store.readers.invoke(source, None, source.lookup_of(equals("src", key)))
        took = 1000 * (perf_counter() - began), 1000 * (thread_time() - cpu)
        assert set(found.table.column("src").to_pylist()) <= {key}
        return took


def measure_lookups(rows: int, seconds: float) -> Iterator[Point]:
    """Lookups of one key with and without epochs, and what reading the whole answer takes."""
    random = np.random.default_rng(5)
    for name, rebuild in (("NoRebuild", False), ("Rebuild", True)):
        with tempfile.TemporaryDirectory(prefix="panes-index-") as folder:
            answer = Answer(Path(folder), rows, rebuild=rebuild)
            yield Point("lookup, segments", name, 0, answer.store.chunks)
            yield Point("lookup, first", name, 0, answer.look_up(1)[0])
            quiet = [answer.look_up(int(random.integers(answer.keys))) for _ in range(500)]
            yield from _quantiles("lookup, quiet", name, quiet)
            busy, epochs = beside_epochs(answer, random, seconds)
            yield from _quantiles("lookup, busy", name, busy)
            yield Point("lookup, epochs", name, len(epochs), 1000 * float(np.mean(epochs)))
            whole = answer.store
            yield Point(
                "lookup, whole", name, 0, timed(lambda whole=whole: whole.readers.invoke(whole.source))
            )
            whole.close()


def beside_epochs(
    answer: Answer, random: np.random.Generator, seconds: float
) -> tuple[list[tuple[float, float]], list[float]]:
    """What lookups take for some time while epochs run in a second thread, and the seconds of these."""
    stop, epochs = threading.Event(), []

    def advance() -> None:
        # An epoch is a tenth of a pane; as much time again is without one, as on a machine that keeps up.
        while not stop.is_set():
            epochs.append(answer.advance(PANE // 10))
            stop.wait(epochs[-1])

    thread = threading.Thread(target=advance)
    thread.start()
    began, found = perf_counter(), []
    while perf_counter() - began < seconds:
        found.append(answer.look_up(int(random.integers(answer.keys))))
        stop.wait(0.002)
    stop.set()
    thread.join()
    return found, epochs


def _quantiles(figure: str, name: str, found: Sequence[tuple[float, float]]) -> Iterator[Point]:
    wall, cpu = zip(*found, strict=True)
    for share in (0.5, 0.95, 0.99):
        yield Point(figure, name, share, float(np.quantile(wall, share)))
    yield Point(f"{figure}, CPU", name, 0.5, float(np.quantile(cpu, 0.5)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=12)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--only", default="cells,lookups")
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    wanted = options.only.split(",")
    points: list[Point] = []
    measured = []
    if "cells" in wanted:
        measured.append(measure_cells(options.megabytes))
    if "lookups" in wanted:
        measured.append(measure_lookups(options.rows, options.seconds))
    for source in measured:
        for point in source:
            print(f"{point.figure:24} {point.curve:16} {point.x:6g} {point.y:12,.2f}", flush=True)
            points.append(point)
    if options.save:
        kept = [p for p in (load(NAME) or {}).get("results", []) if not _is_measured(p["figure"], wanted)]
        results = [*kept, *map(asdict, points)]
        save(NAME, results, megabytes=options.megabytes, rows=options.rows)
        draw(results)


def _is_measured(figure: str, wanted: Sequence[str]) -> bool:
    return ("lookups" if figure.startswith("lookup") else "cells") in wanted


if __name__ == "__main__":
    main()
