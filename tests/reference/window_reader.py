"""The order in which a query reads a window that moves on (algorithms 7 and 8 of Golab's thesis, 2006).

ring = Ring(5)                   sub-windows 0 … 4, of which 0 is the oldest
reader = TtuReader(ring)         a query over all of them
ring.update(5); reader.updated(5)
reader.read()                    reads the next sub-window, and gives its number
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence


class Ring:
    """n sub-windows, each with its time-to-update: after how many updates it is replaced."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.ttu = list(range(1, n + 1))

    def update(self, j: int) -> None:
        """T_j replaces sub-window j mod n: all times-to-update go down by one, and its own is n."""
        self.ttu = [left - 1 for left in self.ttu]
        self.ttu[j % self.n] = self.n


class Reader(ABC):
    """A query over the `length` youngest sub-windows, under way."""

    def __init__(self, ring: Ring, length: int | None = None) -> None:
        self.ring = ring
        self.length = ring.n if length is None else length
        self.is_aborted = False
        self.left = sorted(range(ring.n), key=lambda i: ring.ttu[i])[ring.n - self.length :]
        """The sub-windows of the window of the query that were not read; that of the highest time-to-update is the
        last."""

    @property
    def is_done(self) -> bool:
        return not self.left

    def updated(self, j: int) -> None:
        """After T_j: aborts when the sub-window that has left the window of the query was read (line 5 of
        algorithm 7, line 9 of algorithm 8). The new one is to be read."""
        n = self.ring.n
        gone = (j + n - self.length) % n
        if self.left[:1] == [gone]:
            self.left = [*self.left[1:], j % n]
        else:
            self.is_aborted = True

    def read(self) -> int:
        """Reads the next sub-window; gives its number."""
        return self.left.pop(self.next_place())

    @abstractmethod
    def next_place(self) -> int:
        """The place in `left` of the sub-window that is read next."""


class SequentialReader(Reader):
    """Algorithm 7: in the order of the ring."""

    def next_place(self) -> int:
        return self.left.index(min(self.left))


class TtuReader(Reader):
    """Algorithm 8: the one of the highest time-to-update."""

    def next_place(self) -> int:
        return -1


class GivenReader(Reader):
    """By a preference among sub-windows that is given: any order of reads is one of these."""

    def __init__(self, ring: Ring, preference: Sequence[int], length: int | None = None) -> None:
        super().__init__(ring, length)
        self._rank = {place: rank for rank, place in enumerate(preference)}

    def next_place(self) -> int:
        return self.left.index(min(self.left, key=self._rank.__getitem__))
