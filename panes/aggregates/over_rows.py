"""The functions of OVER, over rows that stand one partition after the other, each in its order."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from panes.aggregates import holistic
from panes.aggregates.adders import adder_for
from panes.aggregates.base import Ints
from panes.aggregates.frequencies import COUNT, GROUP, VALUE
from panes.aggregates.linear import sum_type, sums_of
from panes.delta.grouped import are_first, starts_of
from panes.delta.orders import places_in_order
from panes.delta.rows import where
from panes.plan.durations import length_us
from panes.plan.expressions import Aggregate
from panes.plan.over_functions import OF_VALUES, Distance, Frame, OverFunction
from panes.plan.sort_key import SortKey

Flags = npt.NDArray[np.bool_]

_VALUES_AT_ONCE = 1_000_000
"""Values of frames that are held in memory at once, beyond those of one frame."""

_LEAST, _GREATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@dataclass(frozen=True)
class OverRows:
    """For every row where its partition and its peers begin, and where they end (the place after the last)."""

    partition: Ints
    begin: Ints
    end: Ints
    first_peer: Ints
    after_peers: Ints
    keys: pa.Array | None
    """The values of the only sort key, as integers that never fall within a partition but for NULL."""

    @classmethod
    def of(cls, partition: Ints, rank: Ints, keys: pa.Array | None = None) -> OverRows:
        """`partition` never falls, and `rank` does not within a partition; peers have one rank."""
        partitions, peers = starts_of(partition), starts_of(partition, rank)
        return cls(partition, *_ranges(partitions, partition), *_ranges(peers, partition), keys)

    @property
    def places(self) -> Ints:
        return np.arange(len(self.begin))

    def result(self, function: OverFunction, values: pa.Array | None) -> pa.Array:
        """The value of a function for every row; `values` is its argument."""
        found = self._result(function, values)
        return found.cast(function.type.arrow) if found.type != function.type.arrow else found

    def _result(self, function: OverFunction, values: pa.Array | None) -> pa.Array:
        number, count = self.places - self.begin, self.end - self.begin
        rank = self.first_peer - self.begin
        match function.function:
            case "row_number":
                return pa.array(number + 1)
            case "rank":
                return pa.array(rank + 1)
            case "dense_rank":
                return pa.array(self._dense_rank())
            case "percent_rank":
                return pa.array(rank / np.maximum(count - 1, 1))
            case "cume_dist":
                return pa.array((self.after_peers - self.begin) / count)
            case "ntile":
                return pa.array(_part(number, count, _whole(function, 0)))
        assert values is not None or function.function == "count"
        if function.function in ("lag", "lead"):
            assert values is not None
            return self._neighbor(function, values)
        assert function.frame is not None
        return self._of_frame(function, values, *self._bounds(function.frame))

    def _dense_rank(self) -> Ints:
        begins: Ints = np.cumsum(are_first(self.partition, self.first_peer))
        ranks: Ints = begins - begins[self.begin] + 1
        return ranks

    def _neighbor(self, function: OverFunction, values: pa.Array) -> pa.Array:
        distance = _whole(function, 0) * (-1 if function.function == "lag" else 1)
        at = self.places + distance
        is_there = (at >= self.begin) & (at < self.end)
        found = _picked(values, at, is_there)
        default = function.parameters[1]
        return (
            found
            if default is None
            else pc.if_else(pa.array(is_there), found, pa.scalar(default, found.type))
        )

    def _bounds(self, frame: Frame) -> tuple[Ints, Ints]:
        """Where the frame of each row begins, and the place after its last row."""
        begin = self.begin if frame.start is None else self._offset(frame, frame.start, self.first_peer)
        end = self.end if frame.end is None else self._offset(frame, frame.end, self.after_peers, after=1)
        return begin, np.maximum(begin, end)

    def _offset(self, frame: Frame, distance: Distance, peers: Ints, after: int = 0) -> Ints:
        if frame.by_rows:
            assert isinstance(distance, int)
            return np.clip(self.places + distance + after, self.begin, self.end)
        return self._by_distance(distance, peers, after) if distance else peers

    def _by_distance(self, distance: Distance, peers: Ints, after: int) -> Ints:
        """The first place whose key is not before that of the row plus the distance; with `after`, the place after
        the last one whose key is not beyond it. The frame of a row whose key is NULL is its peers."""
        assert self.keys is not None
        there = np.asarray(self.keys.is_valid())
        keys = self.keys.fill_null(0).to_numpy(zero_copy_only=False)
        by = length_us(distance) if isinstance(distance, timedelta) else distance
        wanted = keys + np.int64(by)
        wanted = np.where((wanted < keys) == (by < 0), wanted, _LEAST if by < 0 else _GREATEST)
        at = where(there)
        # Rows with a key stand side by side in its order. Each is sought among them, before or after its equals.
        by_key = np.concatenate([keys[at], wanted[at]])
        is_later = np.repeat([1 - after, after], len(at))
        order = np.lexsort((is_later, by_key, np.tile(self.partition[at], 2)))
        is_sought = order >= len(at)
        before = np.cumsum(~is_sought)[is_sought]
        row = at[order[is_sought] - len(at)]
        previous = np.append(at, -1)[before - 1]
        follows = (previous >= self.begin[row]) & (previous < self.end[row])
        found = peers.copy()
        found[row] = np.where(follows, previous + 1, np.append(at, 0)[before])
        return found

    def _of_frame(self, function: OverFunction, values: pa.Array | None, begin: Ints, end: Ints) -> pa.Array:
        if values is None:
            return pa.array(end - begin)
        match function.function:
            case "first_value":
                return _picked(values, begin, begin < end)
            case "last_value":
                return _picked(values, end - 1, begin < end)
            case "nth_value":
                at = begin + _whole(function, 0) - 1
                return _picked(values, at, at < end)
            case "min" | "max":
                return _extreme(values, begin, end, greatest=function.function == "max")
        if function.function in OF_VALUES:
            return _of_values(function, values, begin, end)
        counts = _sums(np.asarray(values.is_valid()).astype(np.int64), begin, end)
        if function.function == "count":
            return pa.array(counts)
        return _sum(function, values, counts, begin, end)


def _ranges(starts: Ints, rows: Ints) -> tuple[Ints, Ints]:
    lengths = np.diff(np.append(starts, len(rows)))
    return np.repeat(starts, lengths), np.repeat(starts + lengths, lengths)


def _whole(function: OverFunction, place: int) -> int:
    value = function.parameters[place]
    assert isinstance(value, int)
    return value


def _part(number: Ints, count: Ints, parts: int) -> Ints:
    """The part of each row; where `count` rows cannot be cut into equal parts, the first have one row more."""
    small, larger = np.divmod(count, parts)
    in_larger = larger * (small + 1)
    later = larger + (number - in_larger) // np.maximum(small, 1)
    found: Ints = np.where(number < in_larger, number // (small + 1), later) + 1
    return found


def _picked(values: pa.Array, at: Ints, is_there: Flags) -> pa.Array:
    return values.take(pa.array(np.where(is_there, at, 0), mask=~is_there))


def _sums(numbers: Ints, begin: Ints, end: Ints) -> Ints:
    """The sums of the numbers from `begin` to before `end`."""
    running = np.concatenate([[0], np.cumsum(numbers)])
    sums: Ints = running[end] - running[begin]
    return sums


def _sum(function: OverFunction, values: pa.Array, counts: Ints, begin: Ints, end: Ints) -> pa.Array:
    """sum and avg, added up exactly and rounded once."""
    assert function.arg is not None
    adder = adder_for(sum_type(function.arg.type))
    lifted = adder.lift(pa.chunked_array([values]))
    parts = {number: _sums(column, begin, end) for number, column in lifted.items()}
    if function.function == "avg":
        return pa.array(adder.doubles(parts, len(begin)) / np.maximum(counts, 1), mask=counts == 0)
    return sums_of(adder, parts, counts, function)


def _extreme(values: pa.Array, begin: Ints, end: Ints, *, greatest: bool) -> pa.Array:
    """The least or greatest value of each frame; NULLs count for nothing."""
    key = SortKey("value", descending=greatest)
    order = places_in_order(pa.table({"value": values}), [key]).to_numpy().astype(np.int64)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    is_there = begin < end
    best = np.zeros(len(begin), np.int64)
    best[is_there] = _least(rank, begin[is_there], end[is_there])
    return _picked(values, order[best] if len(order) else best, is_there)


def _of_values(function: OverFunction, values: pa.Array, begin: Ints, end: Ints) -> pa.Array:
    """An aggregate of the values of each frame. Equal frames are sorted once, some of them at a time."""
    frames, which = np.unique(np.stack([begin, end], axis=1), axis=0, return_inverse=True)
    lengths = frames[:, 1] - frames[:, 0]
    block = np.cumsum(lengths) // _VALUES_AT_ONCE
    cuts = [0, *(where(block[1:] != block[:-1]) + 1), len(frames)]
    call = Aggregate("", function.function, function.arg, function.type, parameters=function.parameters)
    parts = []
    for first, after in pairwise(cuts):
        count = lengths[first:after]
        frame = np.repeat(np.arange(after - first), count)
        at = np.arange(len(frame)) - np.repeat(np.cumsum(count) - count, count)
        held = values.take(pa.array(at + np.repeat(frames[first:after, 0], count)))
        rows = pl.DataFrame({GROUP: frame, VALUE: pl.Series(held)}).drop_nulls(VALUE)
        counted = rows.group_by(GROUP, VALUE).agg(pl.len().cast(pl.Int64).alias(COUNT)).sort(GROUP, VALUE)
        parts.append(holistic.result(call, counted, after - first))
    found = pa.concat_arrays(parts) if parts else pa.array([], function.type.arrow)
    return found.take(pa.array(which.ravel()))


def _least(numbers: Ints, begin: Ints, end: Ints) -> Ints:
    """The least of the numbers from `begin` to before `end`, which are never the same.

    Two ranges whose length is a power of two cover any other: `level` has the least of every range of `size`.
    """
    found = np.zeros(len(begin), np.int64)
    lengths = end - begin
    longest = int(lengths.max(initial=0))
    level, size = numbers, 1
    while size <= longest:
        here = (lengths >= size) & (lengths < 2 * size)
        found[here] = np.minimum(level[begin[here]], level[end[here] - size])
        level = np.minimum(level[:-size], level[size:])
        size *= 2
    return found
