"""Programs and commands as processes of their own: standard error stays empty, and no process is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.faults.processes import descendants, left_of_session
from tests.test_docs import blocks

ROOT = Path(__file__).parent.parent.parent
PATIENCE_S = 600
PANES = [sys.executable, "-m", "panes.cli.entry"]

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes through /proc"),
]

TICKS = (
    "CREATE STREAM ticks (value BIGINT, ts BIGINT) TIMESTAMP BY ts MILLISECONDS FROM RATE;"
    "CREATE QUERY counted AS SELECT count(*) AS n FROM ticks [RANGE 1 HOUR];\n"
)

LEFT_RUNNING = f"""
import threading
import panes
db = panes.connect()
db.sql({TICKS!r})
came = threading.Event()
db.start(on_epoch=lambda _: came.set())
came.wait()
print(len(db.sql("SELECT count(*) AS n FROM ticks [RANGE 1 HOUR]")))
"""


def start(*command: str | Path, stdin: str = "") -> subprocess.Popen:
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "100"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    process.stdin.write(stdin)
    process.stdin.flush()
    return process


def end_of(process: subprocess.Popen) -> tuple[int, str, str, list[str]]:
    """The exit code, what was printed, what was complained of, and the processes that were left."""
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, err, left_of_session(process.pid)


def press_ctrl_c(process: subprocess.Popen) -> None:
    """As a terminal does: to the whole process group."""
    os.killpg(process.pid, signal.SIGINT)


def test_the_first_program_of_the_readme_complains_of_nothing():
    program, shown = (blocks(ROOT / "README.md", language)[0] for language in ("python", "text"))
    assert end_of(start(sys.executable, "-c", program)) == (0, shown, "", [])


def test_a_program_that_ends_while_it_runs_in_the_background_complains_of_nothing():
    assert end_of(start(sys.executable, "-c", LEFT_RUNNING)) == (0, "1\n", "", [])


def test_a_shell_that_starts_and_stops_complains_of_nothing():
    process = start(*PANES, "shell", stdin=f"{TICKS}.start\n.stop\n.start\nINVOKE counted;\n.stop\n")
    code, _, err, left = end_of(process)
    assert (code, err, left) == (0, "", [])


def test_ctrl_c_while_the_demo_starts_ends_it_with_one_line():
    process = start(*PANES, "demo")
    while not descendants(process.pid):
        time.sleep(0.01)
    press_ctrl_c(process)
    code, out, err, left = end_of(process)
    assert (code, err, left) == (0, "", [])
    assert out.splitlines()[-1] == "Stopped while Spark was starting."


def test_ctrl_c_while_a_file_is_run_ends_it_with_one_line(tmp_path):
    (tmp_path / "ticks.sql").write_text(TICKS)
    process = start(*PANES, "run", tmp_path / "ticks.sql", "--database", tmp_path / "db", "--seconds", "3600")
    while not list((tmp_path / "db").glob("epochs/epoch-*.json")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    press_ctrl_c(process)
    code, out, err, left = end_of(process)
    assert (code, err, left) == (0, "", [])
    assert out.startswith("counted\n")
    assert "1 row, as of" in out
    ended = start(*PANES, "status", tmp_path / "db")
    assert end_of(ended)[0::2] == (0, "")
