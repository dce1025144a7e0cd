"""Kills executors, Python workers and whole machines of a cluster at random while something runs."""

from __future__ import annotations

import threading
from random import Random
from types import TracebackType

from tests.cluster.standalone import Cluster

_SHORT_S, _LONG_S = 0.1, 1.5
"""Between two kills, or two looks for somebody who can be killed."""


class Disturbing:
    """Kills one thing after another until the end of the block, or until it was enough.

    There is a limit, because on a slow machine executors would be killed faster than they come up.
    """

    def __init__(self, cluster: Cluster, random: Random, most: int) -> None:
        self._cluster = cluster
        self._random = random
        self._most = most
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="disturbing")
        self._failure: BaseException | None = None
        self.kills = 0

    def __enter__(self) -> Disturbing:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        if self._failure is not None and error is None:
            raise self._failure

    def _work(self) -> None:
        try:
            while self.kills < self._most and not self._over.wait(self._random.uniform(_SHORT_S, _LONG_S)):
                self.kills += self._cluster.disturb(self._random)
        except BaseException as failure:
            self._failure = failure
