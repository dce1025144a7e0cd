"""A log of immutable parts, and the policy that merges them: the store of every state, answer and history.

A log is a sequence of parts, old to young. A part never changes: what is new is appended as a part of its own, and
now and then the youngest parts are combined into one. A part is usually a chunk (some rows in one table). It knows
how many rows it has, and the range of its sort key, by which readers pass over it and expiry drops it whole. The
store says what `combine` makes of several parts: it sorts them, adds them up, cancels rows out, drops dead ones.

**The policy.** Let f be the fan-in and s the smallest size. Parts of fewer than f·s rows are of level 0, those of
at least f^k·s and fewer than f^(k+1)·s rows of level k. After an append, the *run* is the longest sequence of
youngest parts of which none is of a higher level than the youngest. A run of f or more parts becomes one part, and
the rule is applied again, with that part as the youngest.

**How many parts there are.** Going from young to old, call a part a record when its level is higher than that of
all younger parts. No two records are of one level. The parts from a record up to the next older one were the run
when the record was appended, so they are fewer than f. A log of n rows therefore has at most
(f - 1)·(1 + log_f(n/s)) parts; expiry adds none.

**How often a row is rewritten.** A merge whose youngest part is of level k > 0 joins at least f^k·s rows to each
older part of the run. Rows from lower levels rise to level k or higher. Rows of older parts of level k stay there
through at most f - 2 such merges, and rise with the next. Rows of the youngest part can stay once more, when all
that it meets is small; after that no part of level k or below is left for it to merge with. So a row is rewritten
at most f times per level, f·log_f(n/s) times in all; once per level when all appends are of about one size, since
then f parts of a level make one of the next. An append that is small against the log leaves its large parts alone.

Level 0 is the exception: parts may become one that is still of level 0. But that happens with every (f - 1)th
append at most, and each of the parts has fewer than f·s rows, so a small append pays for at most f²·s / (f - 1)
rows, whatever the size of the log. Below s rows, rewriting a part is cheaper than having one more to look into.

**When `combine` drops rows**, a merge may leave the others on their level, or below. It is then paid for by its
youngest part: the older parts of the run are at most f - 1 per level up to k, together fewer than f^(k+2)·s rows,
which is f² for each row of the youngest. A row pays that once per level, unless it falls below a level because
most of the rows that it was merged with are gone.

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
    """Which of the youngest parts become one.

    `fan_in` is a power of two. No merge makes a part of more than `most` rows, or of more than `share` of the rows
    of the log, whichever is larger.
    """

    fan_in: int = 2
    smallest: int = 1
    most: int | None = None
    share: float | None = None

    def level(self, rows: int) -> int:
        """The size of a part, in factors of the fan-in above the smallest size."""
        bits_per_level = self.fan_in.bit_length() - 1
        return max(0, (rows // self.smallest).bit_length() - 1) // bits_per_level

    def count_to_merge(self, parts: Sequence[Part]) -> int:
        """How many of the youngest parts become one; 0 when none do."""
        most = self._most(parts)
        level = self.level(parts[-1].rows) if parts else 0
        count = rows = 0
        for part in reversed(parts):
            rows += part.rows
            if self.level(part.rows) > level or (most is not None and rows > most):
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
