"""The versions of a table: which rows it held, and during which time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from panes.delta.delta import BEGINNING, EXP, FOREVER, TS, WEIGHT, Instants
from panes.delta.grouped import Numbers, cumsum_within, last_of_instants, sort_by_group, starts_of
from panes.delta.hashing import HASH, hash_rows
from panes.delta.keys import group_rows
from panes.delta.rows import Positions, concat, int64, take, where, with_column
from panes.state.buffers.chunked import ChunkedBuffer, Match, verified
from panes.state.buffers.hash_search import find_unsorted, hashes_of


class KeyedVersions(ChunkedBuffer):
    """The rows of a table with the time during which it held them: the sum of `_weight` over the stored rows with
    `_ts <= t < _exp` is how often the table held a row at t.

    A change is appended: a row that was deleted is one more row, of weight -1. A merge makes of the two one row
    that ends, and leaves out what ended before the instant that was last given to `forget`. So a change touches no
    stored row by itself, and the rows of old versions go when their chunks are merged.
    """

    kind = "versions"

    def __init__(self, keys: Sequence[str], *, reason: str) -> None:
        super().__init__(keys, reason=reason, combine=net_versions)

    def forget(self, now: int, since: int = BEGINNING) -> int:  # noqa: ARG002
        """Nobody asks for an instant before `now` any more; gives how many rows are left.

        Chunks are not rewritten for it: rows that ended lie in them until they are merged, and are counted.
        """
        self._log.drop_through(now)
        self._expired_to = max(self._expired_to, now)
        return self.rows

    def versions(self, needles: pa.Table, names: Sequence[str]) -> Iterator[Match]:
        """All versions of the rows whose key is that of a needle. The needles need not be sorted."""
        assert self.keys is not None
        hashes = hash_rows(needles, names)
        for chunk in self._log.parts:
            at, stored_at = find_unsorted(chunk, hashes)
            match = verified(needles, at, names, chunk.table, stored_at, self.keys, nulls_equal=False)
            self.touched += len(match[2])
            if len(match[2]):
                yield match

    def counts_at(self, instants: Instants) -> Numbers:
        """How many rows the table held at each of the instants, whatever their key."""
        self.touched += self.rows
        tables = [chunk.table for chunk in self._log.parts]
        begins = [(int64(table, TS), int64(table, WEIGHT)) for table in tables]
        ends = [(int64(table, EXP), -int64(table, WEIGHT)) for table in tables]
        if not tables:
            return np.zeros(len(instants), np.int64)
        times, changes = (np.concatenate(column) for column in zip(*begins, *ends, strict=True))
        order = np.argsort(times)
        held = np.concatenate([np.zeros(1, np.int64), np.cumsum(changes[order])])
        found: Numbers = held[np.searchsorted(times[order], instants, side="right")]
        return found

    def _together(self, tables: Sequence[pa.Table], after: int | None = None) -> pa.Table:
        table = super()._together(tables, after)
        ended = int64(table, EXP) <= self._expired_to
        return take(table, where(~ended)) if ended.any() else table


def net_versions(table: pa.Table, order: Positions | None = None) -> pa.Table:
    """Versions that say the same in the fewest rows: no two rows of equal values overlap in time.

    Rows stay sorted by hash, if they are, or are in the order given.
    """
    if order is not None:
        table = take(table, order)
    values = [name for name in table.column_names if name not in (TS, EXP, WEIGHT, HASH)]
    groups = group_rows(table, values)
    sizes = np.diff(np.append(groups.starts, table.num_rows))
    several = where(sizes[groups.codes] > 1)
    if not len(several):
        return table
    some = take(table, several)
    row, ts, exp, weight = _levels(some, groups.codes[several])
    netted = with_column(with_column(take(some, row), TS, ts), EXP, exp)
    netted = with_column(netted, WEIGHT, weight)
    both = concat([take(table, where(sizes[groups.codes] == 1)), netted])
    if HASH in both.column_names:
        both = take(both, np.argsort(hashes_of(both), kind="stable"))
    return both


def _levels(rows: pa.Table, codes: Numbers) -> tuple[Positions, Instants, Instants, Numbers]:
    """For each value, from each instant at which its number changes to the next: a row that has it, the two
    instants, and the number, where it is not zero."""
    ts, exp, weight = int64(rows, TS), int64(rows, EXP), int64(rows, WEIGHT)
    ends = where(exp < FOREVER)
    row = np.concatenate([np.arange(len(ts)), ends])
    time = np.concatenate([ts, exp[ends]])
    change = np.concatenate([weight, -weight[ends]])
    order = sort_by_group(codes[row], time)
    row, time, change = row[order], time[order], change[order]
    code = codes[row]
    held = cumsum_within(change, starts_of(code))
    last = last_of_instants(code, time)
    row, time, held, code = row[last], time[last], held[last], code[last]
    # What stays the same from one instant to the next is one version.
    is_other = np.ones(len(held), np.bool_)
    is_other[1:] = (held[1:] != held[:-1]) | (code[1:] != code[:-1])
    row, time, held, code = row[is_other], time[is_other], held[is_other], code[is_other]
    until = np.full(len(time), FOREVER)
    until[:-1] = np.where(code[1:] == code[:-1], time[1:], FOREVER)
    there = where(held != 0)
    return row[there], time[there], until[there], held[there]
