"""A process killed in the middle of an epoch: the next one goes on, and nothing is lost or counted twice."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from panes.crash_points import STEPS, was_reached
from tests.faults.processes import descendants

PROGRAM = Path(__file__).with_name("killed.py")
ROOT = PROGRAM.parent.parent.parent
PATIENCE_S = 300


def start(database: Path, folder: Path, points: Path, master: str, *steps: str) -> subprocess.Popen:
    environment = os.environ | {
        "PANES_CRASH_POINTS": str(points),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
    }
    return subprocess.Popen(
        [sys.executable, PROGRAM, database, folder, master, *steps],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def found_by(process: subprocess.Popen) -> object:
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    return pickle.loads(output)


def kill_at(process: subprocess.Popen, points: Path, step: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not was_reached(points, step):
        assert time.monotonic() < deadline, f"{step!r} was never reached"
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
            pytest.fail(f"the program ended before {step!r}")
    kill_all(process)


def kill_all(process: subprocess.Popen) -> None:
    """The program, Java and the Python workers: all at once, as when the power fails."""
    send_kills(process)
    process.communicate(timeout=PATIENCE_S)


def send_kills(process: subprocess.Popen) -> None:
    for pid in [process.pid, *descendants(process.pid)]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def points(tmp_path) -> Path:
    """Where the program is told at which step what happens."""
    (tmp_path / "points").mkdir()
    return tmp_path / "points"


SPARKS_STEPS = ("during a write", "before manifest", "after commit")
"""The steps at which a process is killed on Spark too: in a task, between tasks, and in the driver."""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the workers to kill through /proc")
@pytest.mark.parametrize(("master", "steps"), [("none", STEPS), ("local[2]", SPARKS_STEPS)])
def test_a_process_killed_at_every_step_in_turn_goes_on_where_it_was(
    tmp_path, points, undisturbed_with_tables, master, steps
):
    folder = undisturbed_with_tables.folder
    # Killed before its epoch has begun, a transaction waits for the next process. Then the epoch that applies one
    # is killed at every step of it.
    process = start(tmp_path / "db", folder, points, master, "accepted=kill")
    process.wait(PATIENCE_S)
    assert process.returncode == -signal.SIGKILL
    kill_all(process)
    for step in steps:
        process = start(tmp_path / "db", folder, points, master, f"{step}=hang")
        kill_at(process, points, step)
    process = start(tmp_path / "db", folder, points, master)
    assert found_by(process) == undisturbed_with_tables.found


def test_tasks_that_fail_or_are_killed_once_are_tried_again_by_spark(
    tmp_path, points, undisturbed_with_tables
):
    steps = {"after segment": "raise", "before manifest": "kill", "after manifest": "raise"}
    armed = [f"{step}={how}" for step, how in steps.items()]
    process = start(tmp_path / "db", undisturbed_with_tables.folder, points, "local[2,4]", *armed)
    assert found_by(process) == undisturbed_with_tables.found
    assert all(was_reached(points, step) for step in steps)
