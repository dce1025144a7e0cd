"""Named steps of an epoch at which a test can make it fail.

Nothing happens at a step unless the environment variable PANES_CRASH_POINTS names a folder and that folder holds a
file with the name of the step. The file says how: `raise` fails the epoch with an exception, `full` as a full disk
does, `kill` kills the process that came by, `hang` waits for somebody else to kill it, and `hold` waits for
`release`, and then goes on as if nothing had been. A file works once.
"""

from __future__ import annotations

import errno
import os
import signal
import threading
from pathlib import Path

STEPS = (
    "during a write",
    "before segment",
    "after segment",
    "before manifest",
    "after manifest",
    "before commit",
    "after commit",
)
"""The last two happen in the driver, the four before them in a worker, for every shard, and the first in both."""


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
    (folder / f"{step}.reached").unlink(missing_ok=True)
    if how == "hold":
        os.mkfifo(_gate(folder, step))
    unfinished = folder / f"{step}.tmp"
    unfinished.write_text(how)
    unfinished.rename(folder / step)


def was_reached(folder: Path, step: str) -> bool:
    """Whether somebody has come by a step that was armed."""
    return (folder / f"{step}.reached").exists()


def release(folder: Path, step: str) -> None:
    """Lets those go on who are held at a step, or are about to be."""
    gate = _gate(folder, step)
    with gate.open("w"):
        gate.unlink()


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
    if how == "full":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if how == "hold":
        # Opening a pipe waits for the other end.
        _gate(folder, step).read_text()
        return
    raise Crash(step)


def _gate(folder: Path, step: str) -> Path:
    return folder / f"{step}.gate"
