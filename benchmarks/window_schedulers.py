"""Schedulers of queries and window updates over files, as section 7.5 of Golab's thesis (2006) compares them.

A window is a ring of n sub-windows, each a file of packets. Queries read it file by file and add up counters; an
update writes a file and puts it in the place of the oldest one. The clock of a run is the CPU time that its own
steps take, so other processes do not count. The runs that are compared take turns, step by step: what makes the
machine slower for a while makes it slower for all of them.

* Serial: a query runs to its end; updates and other queries wait.
* WS: updates are done at once, and a query goes on with the files that were there when it began.
* LWS (algorithm 7): updates are done at once, and a query that has read a file that left is aborted.
* TTU (algorithm 8): the same, but files are read in the order of their time-to-update.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from time import process_time

import numpy as np
import numpy.typing as npt

from tests.reference.window_reader import Reader, Ring, SequentialReader, TtuReader

SERIAL, WS, LWS, TTU = "Serial", "WS", "LWS", "TTU"
SCHEDULERS = (SERIAL, WS, LWS, TTU)
ADDRESSES = 1_000
ROWS = 1_000
"""Packets of a sub-window of length 1, on average."""
SHARED = 5
"""Queries that one scan answers."""
_OVER = object()
_LEAST, _MOST = 0.1, 1.9
"""The rate of a sub-window, as a share of the usual one."""


class Window:
    """The files of n sub-windows."""

    files: list[Path]

    def __init__(self, folder: Path, n: int, length: float, seed: int) -> None:
        folder.mkdir()
        self._folder = folder
        self._random = np.random.default_rng(seed)
        self._length = length
        self.ring = Ring(n)
        self.files = []
        for j in range(n):
            self.arrive()
            self.files.append(self._written(j))
        self.arrive()
        self.last = n - 1
        """The last update."""
        self.is_empty = False
        """Whether the packets of the next sub-window are still to come."""

    def update(self) -> int:
        """Moves the window on; gives the number of the update. The file that left stays, for those who read it."""
        self.last += 1
        self.is_empty = True
        self.files[self.last % self.ring.n] = self._written(self.last)
        self.ring.update(self.last)
        return self.last

    def arrive(self) -> None:
        """Makes the packets of the next sub-window. They come by themselves, so no clock counts it."""
        rows = max(1, int(ROWS * self._length * self._random.uniform(_LEAST, _MOST)))
        src = self._random.integers(0, ADDRESSES, rows, np.int64)
        self.is_empty = False
        self._arrived = np.stack([src, self._random.integers(1, 101, rows, np.int64)])

    def _written(self, j: int) -> Path:
        path = self._folder / f"{j:06d}"
        path.write_bytes(self._arrived.tobytes())
        return path


def add_file(path: Path, totals: npt.NDArray[np.float64]) -> None:
    """Adds the bytes of each address in a file."""
    src, size = np.frombuffer(path.read_bytes(), np.int64).reshape(2, -1)
    totals += np.bincount(src, weights=size, minlength=ADDRESSES)


@dataclass
class Scan:
    """One execution of some queries that share a scan, or of a one-time query."""

    group: int
    """The queries, by number; -1 is a one-time query."""
    reader: Reader
    files: list[Path]
    """The files as they were when it began."""
    reflects: int
    """Under WS and Serial: the last update when it began."""
    asked: float
    """When a one-time query was asked."""
    totals: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(ADDRESSES))


@dataclass
class Outcome:
    """What was measured in one run."""

    seconds: float = 0.0
    executions: int = 0
    aborts: int = 0
    staleness: list[float] = field(default_factory=list)
    between: list[float] = field(default_factory=list)
    """From one result of a group of queries to its next."""
    one_time_response: list[float] = field(default_factory=list)
    one_time_staleness: list[float] = field(default_factory=list)

    @property
    def aborted(self) -> float:
        """The share of executions that were aborted."""
        return self.aborts / max(1, self.executions + self.aborts)

    @property
    def throughput(self) -> float:
        return self.executions / self.seconds


def mean(values: list[float]) -> float:
    return fmean(values) if values else 0.0


class Run:
    """Queries that are executed in turn, again and again, while the window moves on every `period` seconds."""

    def __init__(
        self,
        window: Window,
        scheduler: str,
        *,
        groups: int,
        period: float,
        seed: int,
        one_time_every: float | None = None,
    ) -> None:
        random = np.random.default_rng(seed)
        n = window.ring.n
        self._window = window
        self._scheduler = scheduler
        self._period = period
        # A scan is as long as the longest window of the queries that share it.
        self._lengths = [int(random.integers(1, n + 1, SHARED).max()) for _ in range(groups)]
        self._random = random
        self._every = one_time_every
        self._waiting: deque[Scan] = deque()
        self._turn = 0
        self._committed: dict[int, float] = {}
        self._reported: dict[int, float] = {}

    def steps(self, periods: int, outcome: Outcome) -> Iterator[None]:
        """Runs until the window has moved on that many times, one step of a query after the other. Between two of
        them the clock stands still."""
        self._began = process_time()
        self._committed = {self._window.last: 0.0}
        next_update, updates = self._period, 0
        asks = self._asks(periods * self._period)
        next_ask = next(asks)
        running: list[Scan] = []
        while updates < periods:
            now = self._now()
            if now >= next_ask:
                # Simple aggregates: of half of the window at most.
                length = int(self._random.integers(1, max(2, self._window.ring.n // 2)))
                self._waiting.append(self._begin(-1, length, next_ask))
                next_ask = next(asks)
            if now >= next_update and not (self._scheduler == SERIAL and running):
                self._update(running, outcome)
                updates, next_update = updates + 1, next_update + self._period
            if not running or (self._waiting and self._scheduler != SERIAL):
                running.append(self._waiting.popleft() if self._waiting else self._periodic())
                if running[-1].group == -1:
                    self._begin_again(running[-1])
            # A one-time query suspends others: it is the last one.
            if self._step(running[-1]):
                self._report(running.pop(), outcome)
            stopped = process_time()
            if self._window.is_empty:
                self._window.arrive()
            yield
            self._began += process_time() - stopped
        outcome.seconds = self._now()  # updates that wait make a run longer

    def _now(self) -> float:
        return process_time() - self._began

    def _asks(self, seconds: float) -> Iterator[float]:
        at = 0.0
        while self._every is not None and at < seconds:
            at += float(self._random.uniform(0, 2 * self._every))
            yield at
        while True:
            yield float("inf")

    def _periodic(self) -> Scan:
        group = self._turn % len(self._lengths)
        self._turn += 1
        return self._begin(group, self._lengths[group], self._now())

    def _begin(self, group: int, length: int, asked: float) -> Scan:
        kind = TtuReader if self._scheduler in (TTU, WS) else SequentialReader
        reader = kind(self._ring(), length)
        return Scan(group, reader, list(self._window.files), self._window.last, asked)

    def _begin_again(self, scan: Scan) -> None:
        """Begins anew, with the window as it is now."""
        again = self._begin(scan.group, scan.reader.length, scan.asked)
        scan.reader, scan.files, scan.reflects = again.reader, again.files, again.reflects
        scan.totals[:] = 0

    def _ring(self) -> Ring:
        """Under WS a query does not hear of updates: its ring stays as it was."""
        if self._scheduler != WS:
            return self._window.ring
        ring = Ring(self._window.ring.n)
        ring.ttu = list(self._window.ring.ttu)
        return ring

    def _update(self, running: list[Scan], outcome: Outcome) -> None:
        j = self._window.update()
        self._committed[j] = self._now()
        if self._scheduler in (LWS, TTU):
            for scan in running:
                scan.reader.updated(j)
                if scan.reader.is_aborted:
                    outcome.aborts += 1
                    self._begin_again(scan)

    def _step(self, scan: Scan) -> bool:
        """Reads the next file; True when there is none left."""
        files = scan.files if self._scheduler == WS else self._window.files
        if not scan.reader.is_done:
            add_file(files[scan.reader.read()], scan.totals)
        if not scan.reader.is_done:
            return False
        np.partition(scan.totals, ADDRESSES - 10)  # the heaviest addresses
        return True

    def _report(self, scan: Scan, outcome: Outcome) -> None:
        reflects = self._window.last if self._scheduler in (LWS, TTU) else scan.reflects
        now = self._now()
        stale = now - self._committed[reflects]
        outcome.executions += 1
        if scan.group == -1:
            outcome.one_time_response.append(now - scan.asked)
            outcome.one_time_staleness.append(stale)
            return
        outcome.staleness.append(stale)
        if scan.group in self._reported:
            outcome.between.append(now - self._reported[scan.group])
        self._reported[scan.group] = now


def run(
    n: int,
    length: float,
    *,
    groups: int,
    period: float,
    seed: int,
    periods: int | None = None,
    one_time_every: float | None = None,
) -> dict[str, Outcome]:
    """A run of each scheduler over the same packets and queries, as long as the window is; they take turns."""
    folder = Path(tempfile.mkdtemp(prefix="panes-isolation-"))
    given = {"groups": groups, "period": period, "seed": seed}
    try:
        outcomes = {scheduler: Outcome() for scheduler in SCHEDULERS}
        under_way = []
        for scheduler, outcome in outcomes.items():
            window = Window(folder / scheduler, n, length, seed)
            made = Run(window, scheduler, **given, one_time_every=one_time_every)  # type: ignore[arg-type]
            under_way.append(made.steps(n if periods is None else periods, outcome))
        while under_way:
            under_way = [steps for steps in under_way if next(steps, _OVER) is not _OVER]
        return outcomes
    finally:
        shutil.rmtree(folder)


def seconds_of_a_file(length: float) -> float:
    """What it takes to read one file, in seconds of CPU time."""
    folder = Path(tempfile.mkdtemp(prefix="panes-isolation-"))
    try:
        window, totals = Window(folder / "files", 100, length, 0), np.zeros(ADDRESSES)
        for path in window.files:
            add_file(path, totals)
        began = process_time()
        for path in window.files:
            add_file(path, totals)
        return (process_time() - began) / len(window.files)
    finally:
        shutil.rmtree(folder)
