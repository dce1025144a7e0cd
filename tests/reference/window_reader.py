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
        self.is_read = [False] * ring.n
        self.is_aborted = False

    @property
    def left(self) -> list[int]:
        """The sub-windows that are in the window of the query and were not read, in the order of the ring."""
        oldest = self.ring.n - self.length
        return [i for i in range(self.ring.n) if not self.is_read[i] and self.ring.ttu[i] > oldest]

    @property
    def is_done(self) -> bool:
        return not self.left

    def updated(self, j: int) -> None:
        """After T_j: aborts when the sub-window that has left the window of the query was read (line 5 of
        algorithm 7, line 9 of algorithm 8)."""
        n = self.ring.n
        if self.is_read[(j + n - self.length) % n]:
            self.is_aborted = True

    def read(self) -> int:
        """Reads the next sub-window; gives its number."""
        m = self.next_of(self.left)
        self.is_read[m] = True
        return m

    @abstractmethod
    def next_of(self, left: Sequence[int]) -> int:
        """Which of the sub-windows that are left is read next."""


class SequentialReader(Reader):
    """Algorithm 7: in the order of the ring."""

    def next_of(self, left: Sequence[int]) -> int:
        return left[0]


class TtuReader(Reader):
    """Algorithm 8: the one of the highest time-to-update."""

    def next_of(self, left: Sequence[int]) -> int:
        return max(left, key=lambda i: self.ring.ttu[i])


class GivenReader(Reader):
    """By a preference among sub-windows that is given: any order of reads is one of these."""

    def __init__(self, ring: Ring, preference: Sequence[int], length: int | None = None) -> None:
        super().__init__(ring, length)
        self._rank = {place: rank for rank, place in enumerate(preference)}

    def next_of(self, left: Sequence[int]) -> int:
        return min(left, key=self._rank.__getitem__)
