"""Ctrl-C at any moment, and Java killed under an open database: nothing is lost, left behind or printed."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.processes import left_of_session
from tests.faults.test_killed_process import kill_all

PROGRAM = Path(__file__).with_name("interrupted.py")
ROOT = PROGRAM.parent.parent.parent
PATIENCE_S = 600

INTERRUPTED = (
    "Java is starting",
    "Spark is starting",
    "the first epoch is under way",
    "between epochs",
    "an epoch is under way",
    "twice in an epoch",
    "stopping",
)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes through /proc")
def test_ctrl_c_at_many_moments_and_a_killed_java_lose_nothing(tmp_path, undisturbed):
    (tmp_path / "points").mkdir()
    environment = os.environ | {"PANES_CRASH_POINTS": str(tmp_path / "points"), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, PROGRAM, tmp_path / "db", undisturbed.folder],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        output, printed = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        kill_all(process)
        raise
    assert (process.returncode, printed.decode()) == (0, "")
    ended, found = pickle.loads(output)
    assert {moment: ended[moment] for moment in INTERRUPTED} == dict.fromkeys(
        INTERRUPTED, "KeyboardInterrupt"
    )
    assert ended["processes after that"] == ended["processes after this"] == 0
    for moment in ("status without Java", "invoke without Java", "stop without Java"):
        assert ended[moment].startswith("PipelineError('the Java process that Spark runs in has ended")
    assert ended["to the end"] == "done"
    assert found == undisturbed.found
    assert left_of_session(process.pid) == []
