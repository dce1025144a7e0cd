"""The time of all processors that a process and those below it have taken."""

from __future__ import annotations

import subprocess
import sys
import time

from benchmarks.tree_cpu_seconds import tree_cpu_seconds

WORK = "import time\nwhile time.process_time() < 0.2: pass"


def test_the_time_of_processes_below_counts():
    before, own = tree_cpu_seconds(), time.process_time()
    subprocess.run([sys.executable, "-S", "-c", WORK], check=True)
    took = tree_cpu_seconds() - before
    assert took >= 0.15
    assert took > 2 * (time.process_time() - own), "nearly all of it was not that of this process"
