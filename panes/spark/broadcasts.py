"""The Spark broadcasts through which query indexes reach tasks: one for each set of queries.

An index of thousands of queries is not small. It is broadcast when the set of queries changes, and serves all
epochs until the next change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark import SparkContext

from panes.sharing.shared_indexes import ForTasks, Indexes
from panes.spark.sent_indexes import SentIndexes
from panes.stages.running_query import RunningQuery


class Broadcasts:
    """The broadcasts of the last epoch, kept for the next one.

    A broadcast belongs to its Spark context. In another context it is made anew, and the old one is left alone: it
    went with its context, and its number may by now be that of a broadcast of the new one.
    """

    def __init__(self) -> None:
        self._database = uuid4().hex
        self._numbers = count()
        self._context: SparkContext | None = None
        self._sent: dict[Indexes, SentIndexes] = {}

    def shipped(self, context: SparkContext, queries: Sequence[RunningQuery]) -> list[RunningQuery]:
        """The queries with broadcasts in place of indexes, for an epoch in this context.

        Broadcasts that these queries do not use are destroyed, so no task of an earlier epoch may be running.
        """
        if context is not self._context:
            self._context, self._sent = context, {}
        used = {indexes: query.id for query in queries for indexes in _indexes_of(query)}
        for gone in self._sent.keys() - used.keys():
            _destroy(self._sent.pop(gone))
        for indexes, query in used.items():
            if indexes not in self._sent:
                content = [index.to_ship() for index in indexes.value]
                sent = SentIndexes((self._database, query), next(self._numbers), context.broadcast(content))
                self._sent[indexes] = sent
        return [query if query.members is None else self._with_broadcasts(query) for query in queries]

    def close(self) -> None:
        """Destroys the broadcasts, if their context still runs."""
        if self._context is not None and self._context._jsc is not None:
            for sent in self._sent.values():
                _destroy(sent)
        self._context, self._sent = None, {}

    def _with_broadcasts(self, query: RunningQuery) -> RunningQuery:
        assert query.members is not None
        fresh = query.members.fresh
        members = replace(
            query.members,
            all=self._of(query.members.all),
            fresh=None if fresh is None else self._of(fresh),
        )
        return replace(query, members=members)

    def _of(self, indexes: ForTasks) -> ForTasks:
        return self._sent[indexes] if isinstance(indexes, Indexes) else indexes


def _indexes_of(query: RunningQuery) -> Iterator[Indexes]:
    if query.members is not None:
        for indexes in (query.members.all, query.members.fresh):
            if isinstance(indexes, Indexes):
                yield indexes


def _destroy(sent: SentIndexes) -> None:
    # Nothing depends on it any more: a failure must not become one of the epoch.
    with suppress(Py4JError, OSError):
        sent.broadcast.destroy()
