"""Query indexes on their way to tasks: one Spark broadcast for each set of queries.

An index of thousands of queries is not small. It is broadcast when the set of queries changes. A worker that has
received it keeps it for the epochs that follow, because every task of an epoch refers to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from py4j.protocol import Py4JError
from pyspark import Broadcast, SparkContext

from panes.pipeline.members import ForTasks, Indexes
from panes.pipeline.standing import StandingQuery
from panes.sharing.query_index import QueryIndex


class Broadcasts:
    """The broadcasts of the last epoch, kept for the next one.

    A broadcast belongs to its Spark context. In another context it is made anew, and the old one is left alone: it
    went with its context, and its number may by now be that of a broadcast of the new one.
    """

    def __init__(self) -> None:
        self._context: SparkContext | None = None
        self._sent: dict[Indexes, Broadcast[Sequence[QueryIndex]]] = {}

    def shipped(self, context: SparkContext, queries: Sequence[StandingQuery]) -> list[StandingQuery]:
        """The queries with broadcasts in place of indexes, for an epoch in this context.

        Broadcasts that these queries do not use are destroyed, so no task of an earlier epoch may be running.
        """
        if context is not self._context:
            self._context, self._sent = context, {}
        used = set(_indexes_of(queries))
        for gone in self._sent.keys() - used:
            _destroy(self._sent.pop(gone))
        for indexes in used - self._sent.keys():
            self._sent[indexes] = context.broadcast([index.to_ship() for index in indexes.value])
        return [query if query.members is None else self._with_broadcasts(query) for query in queries]

    def close(self) -> None:
        """Destroys the broadcasts, if their context still runs."""
        if self._context is not None and self._context._jsc is not None:
            for broadcast in self._sent.values():
                _destroy(broadcast)
        self._context, self._sent = None, {}

    def _with_broadcasts(self, query: StandingQuery) -> StandingQuery:
        assert query.members is not None
        fresh = query.members.fresh
        members = replace(
            query.members,
            all=self._broadcast(query.members.all),
            fresh=None if fresh is None else self._broadcast(fresh),
        )
        return replace(query, members=members)

    def _broadcast(self, indexes: ForTasks) -> ForTasks:
        return self._sent[indexes] if isinstance(indexes, Indexes) else indexes


def _indexes_of(queries: Iterable[StandingQuery]) -> Iterator[Indexes]:
    for query in queries:
        if query.members is not None:
            for indexes in (query.members.all, query.members.fresh):
                if isinstance(indexes, Indexes):
                    yield indexes


def _destroy(broadcast: Broadcast[Sequence[QueryIndex]]) -> None:
    # Nothing depends on it any more: a failure must not become one of the epoch.
    with suppress(Py4JError, OSError):
        broadcast.destroy()
