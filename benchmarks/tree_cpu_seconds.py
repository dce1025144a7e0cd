"""The time of all processors that a measurement takes, Java and its workers included."""

from __future__ import annotations

import os
from pathlib import Path


def tree_cpu_seconds() -> float:
    """What this process and those below it have taken so far: unlike wall time it does not depend on others."""
    parents, ticks = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, fields = path.read_text(encoding="utf-8").rpartition(") ")
        except OSError:  # it has ended meanwhile
            continue
        process, values = int(name.split(" ", 1)[0]), fields.split()
        parents[process] = int(values[1])
        # Its own time, and that of those below it that have ended.
        ticks[process] = sum(map(int, values[11:15]))
    below = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in below} - below:
        below |= more
    return sum(ticks.get(process, 0) for process in below) / os.sysconf("SC_CLK_TCK")
