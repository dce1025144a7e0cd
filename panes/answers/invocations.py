"""How many times registered queries were invoked, counted until an epoch asks."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping


class Invocations:
    """Counts by the name of the query, whatever its case. For any number of threads."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, name: str) -> None:
        """A query was invoked."""
        with self._lock:
            self._counts[name.lower()] += 1

    def taken(self) -> Mapping[str, int]:
        """The counts since this was last asked, by lower-case name."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        return counts
