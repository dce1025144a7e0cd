"""A log of immutable parts, and the policy that merges them: the store of every state, answer and history.

A log is a sequence of parts, old to young. A part never changes: what is new is appended as a part of its own, and
now and then the youngest parts are combined into one. A part is usually a chunk (some rows in one table). It knows
how many rows it has, and the range of its sort key, by which readers pass over it and expiry drops it whole. The
store says what `combine` makes of several parts: it sorts them, adds them up, cancels rows out, drops dead ones.

**The policy.** Let f be the fan-in, g the growth factor and s the smallest size. After an append, the *run* is the
longest sequence of youngest parts of which each has fewer than g·max(y, s) rows, where y is the number of rows of
the youngest. A run of f or more parts becomes one part, and the rule is applied again with that as the youngest.

**How many parts there are.** Go from young to old: take the youngest part, the first one that is not in its run,
the first older one that is not in the run of that, and so on. Each has at least g times as many rows as the one
taken before, and g·s at least, so in a log of n rows there are at most 1 + log_g(n/s) of them. The parts from one
of them up to the next were its run when it was the youngest, so they are fewer than f. In all there are at most
(f - 1)·(1 + log_g(n/s)) parts; expiry adds none.

**How often a row is rewritten.** An older part of the run, of p < g·y rows, becomes one of p + y rows or more: it
grows by a factor of 1 + 1/g at least. The youngest part may grow by less, but once: what is older now has at least
g·y rows, so the next merge lets it grow by more. As no part outgrows the log, a row is rewritten a logarithmic
number of times. When all appends are of about one size, that is once for every factor of f, as f parts of one size
make one of the next. An append that is small against the log leaves its large parts alone.

Parts of fewer than s rows are the exception: they are merged however little they grow. But that happens with every
(f - 1)th append at most, and each of the parts has fewer than g·s rows, so a small append pays for at most
f·g·s / (f - 1) rows, whatever the size of the log. Below s rows, rewriting a part is cheaper than having one more
to look into.

**When `combine` drops rows**, parts need not grow. A merge is then paid for by its youngest part: the others are
at most f - 1 below g·y rows, f - 1 below y, f - 1 below y/g, and so on, together (f - 1)·g²/(g - 1) rows for each
row of the youngest. A row is in the youngest part when it is appended, and then only after its part has grown.

**What dead rows may remain.** A part leaves when all of its rows are dead (`drop_through`); a store may rewrite
one earlier. Rows that cancel out remain until a merge has them both. No two rows of the same part cancel out, so
at most two dead rows of this kind remain for each row outside the largest part. A store that counts them can
combine all parts when they become too many (`merge_all`).

**With an upper limit** (`most`, `share`) a run is cut to its youngest parts that fit into one part of that size.
Parts near the limit stay as they are: up to f parts for as many rows as the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar


class Part(Protocol):
    """What a log has to know of its parts."""

    @property
    def rows(self) -> int: ...

    @property
    def low(self) -> int:
        """The least sort key."""

    @property
    def high(self) -> int:
        """The greatest sort key."""


PartT = TypeVar("PartT", bound=Part)
Combine: TypeAlias = Callable[[Sequence[PartT]], PartT | None]
"""Makes one part of several that follow each other; None when nothing is left of them."""


@dataclass(frozen=True)
class MergePolicy:
    """Which of the youngest parts become one: `fan_in` or more, about as large as the youngest or smaller.

    With a fan-in above two, `growth` is less, so that a part made of equal ones is not taken for one more of them.
    No merge makes a part of more than `most` rows, or of more than `share` of the rows of the log, whichever is
    larger.
    """

    fan_in: int = 2
    growth: int = 2
    smallest: int = 1
    most: int | None = None
    share: float | None = None

    def count_to_merge(self, parts: Sequence[Part]) -> int:
        """How many of the youngest parts become one; 0 when none do."""
        if not parts:
            return 0
        too_large = self.growth * max(parts[-1].rows, self.smallest)
        most = self._most(parts)
        count = rows = 0
        for part in reversed(parts):
            rows += part.rows
            if part.rows >= too_large or (most is not None and rows > most):
                break
            count += 1
        return count if count >= self.fan_in else 0

    def _most(self, parts: Sequence[Part]) -> int | None:
        if self.share is None:
            return self.most
        return max(self.most or 0, int(self.share * sum(part.rows for part in parts)))


class Log(Generic[PartT]):
    """Parts, old to young. They are appended and dropped; a part that nothing happens to stays the same object.

    A log can be partitioned: only parts of one partition merge. Partitions may be joined, and are never split.
    A store that drops or rewrites parts by rules of its own assigns what is left to `parts`.
    """

    def __init__(self, policy: MergePolicy, parts: Iterable[PartT] = ()) -> None:
        self.policy = policy
        self.parts = list(parts)

    def append(
        self, part: PartT, combine: Combine[PartT], is_near: Callable[[PartT], bool] | None = None
    ) -> None:
        """Adds a part at the young end, and merges as the policy says. `is_near` says which parts are of its
        partition.

        `combine` is not kept: it may depend on the moment, and a log that held a method of its owner would be a
        reference cycle, so that the owner's tables would stay in memory until the garbage collector runs.
        """
        others, near = self._split(is_near)
        near.append(part)
        while count := self.policy.count_to_merge(near):
            near[-count:] = _combined(combine, near[-count:])
        self.parts = others + near

    def merge_all(self, combine: Combine[PartT], is_near: Callable[[PartT], bool] | None = None) -> None:
        """Makes one part of all parts of a partition, also when there is just one."""
        others, near = self._split(is_near)
        self.parts = others + _combined(combine, near)

    def drop_through(self, limit: int) -> None:
        """Drops the parts in which no sort key is greater than the limit."""
        self.parts = [part for part in self.parts if part.high > limit]

    def _split(self, is_near: Callable[[PartT], bool] | None) -> tuple[list[PartT], list[PartT]]:
        """The parts of other partitions, and those of the partition in question."""
        if is_near is None:
            return [], self.parts
        others: list[PartT] = []
        near: list[PartT] = []
        for part in self.parts:
            (near if is_near(part) else others).append(part)
        return others, near


def _combined(combine: Combine[PartT], parts: Sequence[PartT]) -> list[PartT]:
    combined = combine(parts)
    return [] if combined is None else [combined]
