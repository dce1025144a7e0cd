"""How much memory a process and all that it started use at most, and how much processor time they took."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from pathlib import Path
from types import TracebackType

EVERY_S = 0.5


class PeakMemory:
    """Looks at the process tree twice a second while a block runs; memory that processes share counts once.

    with PeakMemory() as memory:
        …
    memory.megabytes
    """

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._peak = 0
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def megabytes(self) -> int:
        return self._peak // 1024

    def _watch(self) -> None:
        while True:
            self._peak = max(self._peak, _kilobytes_of_all())
            if self._stop.wait(EVERY_S):
                return


def megabytes_now() -> int:
    """What this process and those below it use at the moment."""
    return _kilobytes_of_all() // 1024


def _kilobytes_of_all() -> int:
    return sum(map(_kilobytes, _tree(os.getpid())))


def cpu_seconds() -> float:
    """Of this process and those below it that still run: what other work on the machine does not disturb."""
    ticks = 0
    for process in _tree(os.getpid()):
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _tree(root: int) -> list[int]:
    """A process and those below it."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # The name of a program may hold anything, but is closed by the last parenthesis.
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue
        children[parent].append(int(folder.name))
    found = [root]
    for process in found:
        found += children[process]
    return found


def _kilobytes(process: int) -> int:
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0
