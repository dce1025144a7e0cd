"""The doubly partitioned index against indexes by one time, and lookups in a large answer (thesis of Golab, 4.4).

    python -m benchmarks.index [--megabytes 12] [--rows 10000000] [--only cells,lookups] [--save]

* cells: figures 4.4 to 4.11. Records of 1,000 bytes with 100 keys and lifetimes of uniform length; the rows that
  come in 36 updates are as many as are there. After each update, one key is looked for and all rows are read. An
  index is Rebuild or NoRebuild by G x E cells, round robin or chronological (chr), or one by times of coming
  alone, which is the wave index: R-ins and D-ins. The large data set is four times the small one; the thesis has
  500 MB and ten times that. In figure 4.8 the rate varies by a factor of up to four.
* lookups: one key of an answer of 10^7 rows, while epochs bring rows, and without them; beside reading the whole
  answer. A second process writes what epochs bring, as tasks do, and this one commits it, as the driver does.

Updates write segments and manifests as the tasks of epochs do, to the disk of the folder for temporary files. The
first reader of a segment also computes its checksum. No Spark. Times are CPU times, but for lookups.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import Any

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


Found = Mapping[str, float]
"""The mean times in ms of an update, a probe and a scan, and the KB and cells that an update writes."""


class Measured:
    """An index under way."""

    def __init__(self, folder: Path, layout: Layout, records: int, *, varies: bool) -> None:
        self._random = np.random.default_rng(7)
        self._source = Records(records // UPDATES, self._random)
        # The same number of records in all, at a rate that varies by a factor of up to four.
        shares = self._random.uniform(1, 4, UPDATES) if varies else np.ones(UPDATES)
        self._counts = np.round(self._source.per_update * shares / shares.mean()).astype(int)
        self._store = IndexedStore(folder, RECORDS, layout.index)
        self._store.apply(self._source.alive(), 0)
        self._found: dict[str, list[float]] = {
            name: [] for name in ("update", "probe", "scan", "written", "cells")
        }

    def update(self, number: int) -> None:
        """Measures an update, and a probe and a scan after it."""
        store, found, clock = self._store, self._found, (number + 1) * PANE
        rows = self._source.between(number * PANE, clock, int(self._counts[number]))
        found["update"].append(timed(lambda: store.apply(rows, clock)))
        lookup = store.source.lookup_of(equals("key", int(self._random.integers(KEYS))))
        found["probe"].append(timed(lambda: store.readers.invoke(store.source, None, lookup)))
        found["scan"].append(timed(lambda: store.readers.invoke(store.source)))
        found["written"].append(store.written_bytes / 1000)
        found["cells"].append(store.touched_cells)

    def end(self) -> Found:
        self._store.close()
        return {name: float(np.mean(values)) for name, values in self._found.items()}


def run(layouts: Sequence[Layout], records: int, *, varies: bool = False) -> list[Found]:
    """What some indexes take. They are updated in turn, so that all meet the same machine."""
    with tempfile.TemporaryDirectory(prefix="panes-index-") as folder:
        made = [
            Measured(Path(folder) / str(place), layout, records, varies=varies)
            for place, layout in enumerate(layouts)
        ]
        for number in range(UPDATES):
            for one in made:
                one.update(number)
        return [one.end() for one in made]


def timed(work: Callable[[], object]) -> float:
    """The ms of CPU time that something takes."""
    began = process_time()
    work()
    return 1000 * (process_time() - began)


def equals(column: str, value: int) -> Expression:
    return Call(BOOLEAN, "eq", (Column(BIGINT, column), Literal(BIGINT, value)))


def measure_cells(megabytes: int) -> Iterator[Point]:
    """Figures 4.4 to 4.11."""
    small = megabytes * 1_000_000 // RECORD
    one = [
        Layout(name, 1, 1, name in ("Rebuild", "R-ins"))
        for name in ("Rebuild", "NoRebuild", "R-ins", "D-ins")
    ]
    every = [*one, *(found for side in SIDES for found in of_cells(side))]
    main = [layout for layout in every if "chr" not in layout.name and layout.cells > 1]
    shapes = [Layout(f"Rebuild{g}x{e}", g, e, rebuild=True) for g, e in ((4, 4), (2, 8), (8, 2))]
    squares = [side * side for side in FLUCTUATING]
    for name, layouts, records in (
        ("small", every, small),
        ("fluctuating", [layout for layout in main if layout.cells in squares], small),
        ("shape", shapes, small),
        ("large", main, 4 * small),
    ):
        measured = run(layouts, records, varies=name == "fluctuating")
        for layout, found in zip(layouts, measured, strict=True):
            for what, value in found.items():
                yield Point(f"{name}, {what}", layout.name, layout.cells, value)


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
        self._panes = cells.panes

    def fill(self) -> None:
        """Lets as many rows come as there are to be."""
        for _ in range(self._panes):
            self.advance(PANE)

    @property
    def place(self) -> tuple[int, dict[str, str], int]:
        """How far it has come: what `go_on` takes."""
        return self._clock, *self.store.place

    def go_on(self, clock: int, states: dict[str, str], epoch: int) -> None:
        """Writes what comes after that."""
        self._clock = clock
        self.store.go_on(states, epoch)

    def advance(self, us: int) -> None:
        """An epoch of some length."""
        rows = self._rows(us)
        self._clock += us
        self.store.apply(rows, self._clock)

    def write(self, us: int) -> tuple[dict[str, Any], int, float]:
        """What a task writes in an epoch of some length, the clock at its end, and the seconds that it took."""
        rows = self._rows(us)
        self._clock += us
        began = perf_counter()
        states = self.store.write(rows, self._clock)
        self.store.go_on(states["states"], self.store.place[1] + 1)
        return states, self._clock, perf_counter() - began

    def _rows(self, us: int) -> pa.Table:
        count = self._per_pane * us // PANE
        ts = self._random.integers(self._clock + 1, self._clock + us + 1, count)
        columns = {
            "src": self._random.integers(0, self.keys, count),
            "dst": self._random.integers(0, 1_000, count),
            "bytes": self._random.integers(40, 1_500, count),
            TS: ts,
            EXP: ts + self._random.integers(1, self._longest, count),
        }
        return pa.table(columns)

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
            answer.fill()
            yield Point("lookup, segments", name, 0, answer.store.chunks)
            yield Point("lookup, first", name, 0, answer.look_up(1)[0])
            quiet = [answer.look_up(int(random.integers(answer.keys))) for _ in range(500)]
            yield from _quantiles("lookup, quiet", name, quiet)
            busy, epochs = beside_epochs(answer, Path(folder), rows, random, seconds, rebuild=rebuild)
            yield from _quantiles("lookup, busy", name, busy)
            yield Point("lookup, epochs", name, len(epochs), 1000 * float(np.mean(epochs)))
            whole = answer.store
            yield Point(
                "lookup, whole", name, 0, timed(lambda whole=whole: whole.readers.invoke(whole.source))
            )
            whole.close()


def beside_epochs(
    answer: Answer,
    folder: Path,
    rows: int,
    random: np.random.Generator,
    seconds: float,
    *,
    rebuild: bool,
) -> tuple[list[tuple[float, float]], list[float]]:
    """What lookups take for some time while epochs run, and the seconds of these. As in a database, a task of
    another process writes what an epoch brings, and a second thread of this one commits it."""
    stop, epochs = threading.Event(), []
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    task = context.Process(target=_write, args=(there, folder, rows, rebuild, answer.place))
    task.start()

    def advance() -> None:
        # An epoch is a tenth of a pane; as much time again is without one, as on a machine that keeps up.
        while not stop.is_set():
            here.send(PANE // 10)
            states, clock, took = here.recv()
            answer.store.commit(states, clock)
            epochs.append(took)
            stop.wait(took)
        here.send(None)

    here.recv()  # it is ready
    thread = threading.Thread(target=advance)
    thread.start()
    began, found = perf_counter(), []
    while perf_counter() - began < seconds:
        found.append(answer.look_up(int(random.integers(answer.keys))))
        stop.wait(0.002)
    stop.set()
    thread.join()
    task.join()
    return found, epochs


def _write(
    driver: Connection, folder: Path, rows: int, rebuild: bool, place: tuple[int, dict[str, str], int]
) -> None:
    """Writes epochs of the lengths that the driver says, until it says None."""
    answer = Answer(folder, rows, rebuild=rebuild)
    answer.go_on(*place)
    driver.send(None)
    while (us := driver.recv()) is not None:
        driver.send(answer.write(us))


def _quantiles(figure: str, name: str, found: Sequence[tuple[float, float]]) -> Iterator[Point]:
    wall, cpu = zip(*found, strict=True)
    for share in (0.5, 0.95, 0.99):
        yield Point(figure, name, share, float(np.quantile(wall, share)))
        yield Point(f"{figure}, CPU", name, share, float(np.quantile(cpu, share)))


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
        before = load(NAME) or {}
        kept = [p for p in before.get("results", []) if not _is_measured(p["figure"], wanted)]
        results = [*kept, *map(asdict, points)]
        sizes = {"megabytes": options.megabytes, "rows": options.rows}
        for name, part in (("megabytes", "cells"), ("rows", "lookups")):
            if part not in wanted and name in before:
                sizes[name] = before[name]  # of what stays as it was measured
        save(NAME, results, **sizes)
        draw(results)


def _is_measured(figure: str, wanted: Sequence[str]) -> bool:
    return ("lookups" if figure.startswith("lookup") else "cells") in wanted


if __name__ == "__main__":
    main()
