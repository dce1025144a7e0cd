"""The indexes of all streams, kept up to date as queries come and go."""

from __future__ import annotations

from collections.abc import Mapping

from panes.sharing.index_slice import IndexSlice
from panes.sharing.query_index import QueryIndex, SliceKey
from panes.sharing.shared_indexes import Indexed, SharedSlice

_Slices = Mapping[SliceKey, IndexSlice]


class StreamIndexes:
    """One index per stream that queries are matched with, whatever the number of groups.

    An index is the same object for as long as its queries stay the same, so that it reaches tasks once. Only the
    indexes of the last epoch are kept.
    """

    def __init__(self) -> None:
        self._indexes: dict[str, Indexed] = {}

    def update(self, slices: _Slices) -> dict[SliceKey, SharedSlice]:
        """Takes over the slices of all groups; gives each as a part of the index of its stream."""
        self._indexes = self._of(slices)
        return _shared(self._indexes)

    def some(self, slices: _Slices) -> dict[SliceKey, SharedSlice]:
        """The slices of some queries, those that begin in an epoch, as parts of indexes of their own: one per
        stream. Where all queries of a stream begin, it is the index of all."""
        return _shared(self._of(slices))

    def _of(self, slices: _Slices) -> dict[str, Indexed]:
        by_source: dict[str, dict[SliceKey, IndexSlice]] = {}
        for key, mine in slices.items():
            by_source.setdefault(mine.source, {})[key] = mine
        return {source: self._index(source, mine) for source, mine in by_source.items()}

    def _index(self, source: str, slices: _Slices) -> Indexed:
        known = self._indexes.get(source)
        if known is not None and _are_same(known.value.slices, slices):
            return known
        return Indexed(QueryIndex(source, slices))


def _are_same(some: _Slices, others: _Slices) -> bool:
    return some.keys() == others.keys() and all(others[key] is mine for key, mine in some.items())


def _shared(indexes: Mapping[str, Indexed]) -> dict[SliceKey, SharedSlice]:
    found = ((index, key) for index in indexes.values() for key in index.value.slices)
    return {key: SharedSlice(index, key) for index, key in found}
