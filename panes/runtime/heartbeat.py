"""A heartbeat: time moves also while nothing arrives."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Heartbeat:
    """Calls `beat` again and again in the background, until it is stopped."""

    def __init__(self, period_s: float, beat: Callable[[], None]) -> None:
        self._period_s = period_s
        self._beat = beat
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="panes-heartbeat", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._period_s):
            self._beat()
