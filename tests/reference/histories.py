"""Histories of queries and window updates, and what they may read (chapter 7 of Golab's thesis, 2006).

A window is a ring of n sub-windows. Update T_j replaces sub-window j mod n, and commits; a query T_Q reads
sub-windows one by one, and commits or aborts. `parse_history` reads the notation of the thesis:

    rQ1[0] w5[0] c5 rQ1[1] rQ1[2] rQ1[3] rQ1[4] cQ1

The updates T_0 … T_{n-1}, and all others up to the first that a history names, have been committed before it.
A read sees the last write before it, unless it says another: `rQ1[0]@5` sees what T_5 wrote, as reads do of a
system that keeps versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Transaction = int | str
"""The number of an update, or the name of a query."""
Edge = tuple[Transaction, Transaction]


class Operation(NamedTuple):
    kind: Literal["r", "w", "c", "a"]
    by: Transaction
    place: int = -1
    """The sub-window that is read or written."""
    version: int | None = None
    """Of a read: the update whose write it sees; None: the last one."""


_OPERATION = re.compile(r"([rwca])(Q?\d+)(?:\[(\d+)\])?(?:@(\d+))?")


@dataclass(frozen=True)
class History:
    """Operations in the order in which they were done, on a window of n sub-windows."""

    n: int
    operations: tuple[Operation, ...]

    @property
    def queries(self) -> list[str]:
        """The queries that commit."""
        return [op.by for op in self.operations if op.kind == "c" and isinstance(op.by, str)]

    @property
    def updates(self) -> list[int]:
        return [op.by for op in self.operations if op.kind == "w" and isinstance(op.by, int)]

    def versions_read(self, query: str) -> dict[int, int]:
        """For each sub-window that a query reads, the update whose write it sees."""
        newest = self._before_all()
        found = {}
        for op in self.operations:
            if op.kind == "w" and isinstance(op.by, int):
                newest[op.place] = op.by
            elif op.kind == "r" and op.by == query:
                found[op.place] = newest[op.place] if op.version is None else op.version
        return found

    def edges(self) -> set[Edge]:
        """The serialization graph, between updates and the queries that commit: from what was read to who wrote it
        later, and from who wrote it to those who read that or something later."""
        found: set[Edge] = set()
        for query in self.queries:
            for place, version in self.versions_read(query).items():
                for update in self.updates:
                    if update % self.n == place:
                        found.add((update, query) if update <= version else (query, update))
        return found

    def concurrent(self, query: str) -> set[int]:
        """The updates with an operation between the first and the last one of a query."""
        own = [place for place, op in enumerate(self.operations) if op.by == query]
        between = self.operations[own[0] : own[-1] + 1]
        return {op.by for op in between if isinstance(op.by, int)}

    def is_window_serializable(self) -> bool:
        """Theorem 7.1: updates that are serialized before a query come before those that are after it."""
        return all(
            max(self._before(query), default=-1)
            < min(self._after(query), default=max(self.updates, default=0) + 1)
            for query in self.queries
        )

    def is_latest_window_serializable(self) -> bool:
        """Theorem 7.2: all updates that are concurrent with a query are serialized before it."""
        return self.is_window_serializable() and not any(
            self._after(query) & self.concurrent(query) for query in self.queries
        )

    def is_commit_order_preserving(self) -> bool:
        """Whether transactions that conflict are serialized in the order of their commits."""
        commits = {op.by: place for place, op in enumerate(self.operations) if op.kind == "c"}
        return all(commits[one] < commits[other] for one, other in self.edges())

    def reads_a_window(self) -> bool:
        """Definition 7.1: each query reads n sub-windows that follow one another, as they were before its end."""
        return all(self._state(query) is not None for query in self.queries)

    def reads_the_latest_window(self) -> bool:
        """Definition 7.2: each query reads the window as it is when it commits."""
        return all(self._state(query) == self._last_before_commit(query) for query in self.queries)

    def _state(self, query: str) -> int | None:
        """The update after which the window was as a query has read it; None when it never was."""
        seen = sorted(self.versions_read(query).values())
        is_whole = seen == list(range(seen[-1] - len(seen) + 1, seen[-1] + 1)) if seen else False
        return (
            seen[-1]
            if is_whole and len(seen) == self.n and seen[-1] <= self._last_before_commit(query)
            else None
        )

    def _last_before_commit(self, query: str) -> int:
        newest = max(self._before_all().values())
        for op in self.operations:
            if op == Operation("c", query):
                break
            if op.kind == "w" and isinstance(op.by, int):
                newest = max(newest, op.by)
        return newest

    def _before(self, query: str) -> set[int]:
        return {one for one, other in self.edges() if other == query and isinstance(one, int)}

    def _after(self, query: str) -> set[int]:
        return {other for one, other in self.edges() if one == query and isinstance(other, int)}

    def _before_all(self) -> dict[int, int]:
        """What sub-windows hold before the history: the n updates before the first one in it."""
        first = min(self.updates, default=self.n)
        return {update % self.n: update for update in range(first - self.n, first)}


def parse_history(text: str, n: int) -> History:
    """A history in the notation of the thesis."""

    def by(name: str) -> Transaction:
        return name if name.startswith("Q") else int(name)

    found = [_OPERATION.fullmatch(word) for word in text.split()]
    return History(
        n,
        tuple(
            Operation(
                match[1],  # type: ignore[arg-type]
                by(match[2]),
                -1 if match[3] is None else int(match[3]),
                None if match[4] is None else int(match[4]),
            )
            for match in found
            if match is not None
        ),
    )


class RecordedRead(NamedTuple):
    """A read of a running system: the last epoch when it began and when it ended, and the one it is of."""

    began: int
    ended: int
    epoch: int


def recorded_history(reads: Sequence[RecordedRead]) -> History:
    """The history of reads of a running system, one sub-window for each epoch and one for what was before.

    That a read found an epoch to be the last one says when that was: after its commit, and before the next one.
    """
    first = min(read.began for read in reads)
    last = max(max(read.ended, read.epoch) for read in reads)
    n = last - min(first, min(read.epoch for read in reads)) + 1
    names = {place: f"Q{place}" for place in range(len(reads))}
    base = n  # the epoch that the first update stands for is numbered so that all before it are committed
    shift = base - first - 1

    def operations() -> Iterator[Operation]:
        yield from _begun(reads, names, n, first, shift)
        for epoch in range(first + 1, last + 1):
            yield from _ended(reads, names, epoch - 1)
            update = epoch + shift
            yield Operation("w", update, update % n)
            yield Operation("c", update)
            yield from _begun(reads, names, n, epoch, shift)
        yield from _ended(reads, names, last)

    return History(n, tuple(operations()))


def _begun(
    reads: Sequence[RecordedRead], names: dict[int, str], n: int, epoch: int, shift: int
) -> Iterable[Operation]:
    """The operations of the reads that began at an epoch: what each saw is said with the version."""
    for place, read in enumerate(reads):
        if read.began == epoch:
            seen = read.epoch + shift
            for update in range(seen - n + 1, seen + 1):
                yield Operation("r", names[place], update % n, update)


def _ended(reads: Sequence[RecordedRead], names: dict[int, str], epoch: int) -> Iterable[Operation]:
    return (Operation("c", names[place]) for place, read in enumerate(reads) if read.ended == epoch)
