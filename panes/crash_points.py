"""Named steps of an epoch at which a test can make it fail.

Nothing happens at a step unless the environment variable PANES_CRASH_POINTS names a folder and that folder holds a
file with the name of the step. The file says how: `raise` fails the epoch with an exception, `kill` kills the
process that came by, `hang` waits for somebody else to kill it. A file works once.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

STEPS = (
    "before segment",
    "after segment",
    "before manifest",
    "after manifest",
    "before commit",
    "after commit",
)
"""The first four happen in a worker, for every shard; the last two in the driver."""


class Crash(Exception):
    """What an armed step raises."""


def reach(step: str) -> None:
    """Marks that a step has been reached."""
    folder = os.environ.get("PANES_CRASH_POINTS")
    if folder:
        _crash(Path(folder), step)


def arm(folder: Path, step: str, how: str) -> None:
    """Makes the step fail when it is reached next."""
    assert step in STEPS, step
    (folder / step).write_text(how)


def was_reached(folder: Path, step: str) -> bool:
    """Whether a step that was armed has failed."""
    return (folder / f"{step}.reached").exists()


def _crash(folder: Path, step: str) -> None:
    armed = folder / step
    try:
        how = armed.read_text()
        # Of several shards that come by, one takes the file.
        armed.rename(folder / f"{step}.reached")
    except FileNotFoundError:
        return
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "hang":
        threading.Event().wait()
    raise Crash(step)
