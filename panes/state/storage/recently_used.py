"""A bounded cache for threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class RecentlyUsed(Generic[Key, Value]):
    """The values that were used last, as many as fit: `most` of them, or of their sizes added up."""

    def __init__(self, most: int, size: Callable[[Value], int] = lambda _: 1) -> None:
        self._most = most
        self._size = size
        self._lock = threading.Lock()
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._held = 0

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """The value of a key; when it is not there it is made, by several threads at once if they all ask."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        self.put(key, value)
        return value

    def find(self, key: Key) -> Value | None:
        """The value of a key, if it is there."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]

    def put(self, key: Key, value: Value) -> None:
        size = self._size(value)
        with self._lock:
            if key in self._values:
                self._held -= self._size(self._values.pop(key))
            if size > self._most:
                return
            self._values[key] = value
            self._held += size
            while self._held > self._most:
                _, oldest = self._values.popitem(last=False)
                self._held -= self._size(oldest)

    def drop(self, key: Key) -> None:
        """Removes the value of a key, if it is there."""
        with self._lock:
            if key in self._values:
                self._held -= self._size(self._values.pop(key))

    def __len__(self) -> int:
        return len(self._values)
