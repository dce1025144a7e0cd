"""A folder that may not be written to: every change is refused with a sentence, and what is there can be read."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import panes

ROOT = Path(__file__).parent.parent.parent
NOBODY = 65534

PROGRAM = """
import os, sys
import panes
from panes import errors

place = sys.argv[1]
with panes.connect() as db:
    db.sql("CREATE STREAM s (ts BIGINT)")  # imports what it needs while it may
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(int(sys.argv[2]))
    os.setuid(int(sys.argv[2]))
with panes.connect(place, read_only=True) as db:
    print(db.sql("SHOW STREAMS").num_rows)
for connect in (lambda: panes.connect(place), lambda: panes.connect(place + "/deeper")):
    try:
        connect()
    except errors.StateError as error:
        print(error)
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that everybody may look into; those of pytest are for its user alone."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
        for path in Path(folder).rglob("*"):
            path.chmod(0o755)


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="becomes another user")
def test_a_database_of_somebody_else_can_be_read_and_not_changed(place):
    database = place / "db"
    with panes.connect(database) as db:
        db.sql("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts SECONDS")
    before = sorted(path.name for path in database.rglob("*"))
    for path in (database, *database.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    command = [sys.executable, "-c", PROGRAM, database, str(NOBODY)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert ran.stderr == ""
    streams, here, deeper = ran.stdout.splitlines()
    assert streams == "1"
    for said, place in ((here, database), (deeper, database / "deeper")):
        assert said == (
            f"{place} cannot hold a database: Permission denied; choose a folder that can be written to, "
            "or connect with read_only=True"
        )
    assert sorted(path.name for path in database.rglob("*")) == before
