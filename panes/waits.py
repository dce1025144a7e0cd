"""How long epochs wait for streams that are silent."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from panes.config import NONE, Value


class Waits(NamedTuple):
    """`idle_after_s`: the seconds of silence after which a stream holds nobody back, and with IDLE ADVANCE goes on
    with wall time. `heartbeat_s`: the seconds between two epochs without rows."""

    idle_after_s: float
    heartbeat_s: float


def waits(setting: Callable[[str], Value]) -> Waits:
    """The waits under the settings of a database.

    With `max_delay` half of it is spent on waiting for a stream, and a quarter on waiting for the next heartbeat,
    so that a quarter is left for the epoch.

    >>> waits({"idle_after": 60, "heartbeat": 1, "max_delay": "none"}.__getitem__)
    Waits(idle_after_s=60.0, heartbeat_s=1.0)
    >>> waits({"idle_after": 60, "heartbeat": 1, "max_delay": 2}.__getitem__)
    Waits(idle_after_s=1.0, heartbeat_s=0.5)
    """
    found = Waits(float(setting("idle_after")), float(setting("heartbeat")))
    if setting("max_delay") == NONE:
        return found
    most = float(setting("max_delay"))
    return Waits(min(found.idle_after_s, most / 2), min(found.heartbeat_s, most / 4))
