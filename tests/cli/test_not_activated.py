"""Programs that are started by the path of their Python, from another directory, with nothing activated."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_docs import blocks

ROOT = Path(__file__).parent.parent.parent
PATIENCE_S = 600

pytestmark = pytest.mark.spark

OWN_SESSION = """
from pyspark.sql import SparkSession
import panes
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
with panes.connect("db", spark=spark) as db:
    db.sql("CREATE STREAM p (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS")
    counted = db.register("SELECT count(*) AS n FROM p [RANGE 1 HOUR]")
    db.push("p", [(1, 1), (2, 2)])
    db.run()
    print(counted.invoke().to_pylist())
"""

STATEMENTS = """
CREATE STREAM visits (ts BIGINT, who STRING, page STRING, ms BIGINT) TIMESTAMP BY ts SECONDS
    FROM FILES 'examples/visits' WITH (format = 'csv', header = TRUE);
CREATE QUERY counted AS SELECT count(*) AS n FROM visits [RANGE 1 HOUR];
INVOKE counted;
"""


def run(folder: Path, *command: str | Path) -> str:
    """What it prints. The PATH has the system's programs alone, and so another Python or none."""
    hidden = ("PYSPARK_PYTHON", "VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "PANES_CRASH_POINTS")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment | {"PATH": "/usr/local/bin:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def test_an_own_session(folder):
    (folder / "own.py").write_text(OWN_SESSION)
    assert run(folder, sys.executable, "own.py").splitlines()[-1] == "[{'n': 2}]"


def test_the_program_of_the_readme(folder):
    program = next(block for block in blocks(ROOT / "README.md", "python") if "busy.explain()" in block)
    (folder / "program.py").write_text(program)
    assert "as of 2" in run(folder, sys.executable, "program.py")


def test_panes_run(folder):
    (folder / "visits.sql").write_text(STATEMENTS)
    assert "1 row, as of" in run(folder, sys.executable, "-m", "panes.cli.entry", "run", "visits.sql")
