"""The Spark broadcasts through which query indexes and plans reach tasks.

A stream has one index, and with thousands of queries it is not small; neither are a hundred plans. They are
broadcast when the set of queries changes, or of those that are awake, and serve all epochs until the next change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any, TypeVar
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark import SparkContext

from panes.runtime.task_plans import TaskPlans
from panes.sharing.query_index import QueryIndex
from panes.sharing.shared_indexes import Indexed, Slices
from panes.spark.sent import Sent
from panes.stages.running_query import RunningQuery

T = TypeVar("T")

_PLANS_KEPT = 3
"""The number of broadcasts of plans that are kept."""


class Broadcasts:
    """The broadcasts of the last epoch, kept for the next one.

    A broadcast belongs to its Spark context. In another context it is made anew, and the old one is left alone: it
    went with its context, and its number may by now be that of a broadcast of the new one. What an epoch does not
    use is destroyed, so no task of an earlier epoch may be running.
    """

    def __init__(self) -> None:
        self._database = uuid4().hex
        self._numbers = count()
        self._context: SparkContext | None = None
        self._indexes: dict[Indexed, Sent[QueryIndex]] = {}
        self._plans: list[tuple[TaskPlans, Sent[TaskPlans]]] = []
        """Those that were used last, the last one at the end."""

    def shipped(self, context: SparkContext, queries: Sequence[RunningQuery]) -> list[RunningQuery]:
        """The queries with broadcasts in place of indexes, for an epoch in this context."""
        self._enter(context)
        used = _indexes_of(queries)
        for gone in self._indexes.keys() - used.keys():
            _destroy(self._indexes.pop(gone))
        for index, name in used.items():
            if index not in self._indexes:
                self._indexes[index] = self._send(context, name, index.value.to_ship())
        return [query if query.members is None else self._with_broadcasts(query) for query in queries]

    def plans(self, context: SparkContext, plans: TaskPlans) -> Sent[TaskPlans]:
        """The plans of an epoch in this context, in a broadcast: that of an earlier epoch, when they are the same.

        Queries wake and sleep, so epochs with rows and epochs without may need other plans in turn.
        """
        self._enter(context)
        found = next((known for known in self._plans if known[0] == plans), None)
        if found is None:
            if len(self._plans) == _PLANS_KEPT:
                _destroy(self._plans.pop(0)[1])
            # A worker remembers one value under each name.
            taken = {sent.name[1] for _, sent in self._plans}
            free = next(name for number in range(_PLANS_KEPT) if (name := f"plans {number}") not in taken)
            found = plans, self._send(context, free, plans)
        self._plans = [*(known for known in self._plans if known is not found), found]
        return found[1]

    def close(self) -> None:
        """Destroys the broadcasts, if their context still runs."""
        if self._context is not None and self._context._jsc is not None:
            for sent in self._all():
                _destroy(sent)
        self._context, self._indexes, self._plans = None, {}, []

    def _enter(self, context: SparkContext) -> None:
        if context is not self._context:
            self._context, self._indexes, self._plans = context, {}, []

    def _send(self, context: SparkContext, name: str, value: T) -> Sent[T]:
        return Sent((self._database, name), next(self._numbers), context.broadcast(value))

    def _all(self) -> Iterator[Sent[Any]]:
        yield from self._indexes.values()
        yield from (sent for _, sent in self._plans)

    def _with_broadcasts(self, query: RunningQuery) -> RunningQuery:
        assert query.members is not None
        fresh = query.members.fresh
        members = replace(
            query.members,
            all=self._sent(query.members.all),
            fresh=None if fresh is None else self._sent(fresh),
        )
        return replace(query, members=members)

    def _sent(self, slices: Slices) -> Slices:
        return tuple(
            replace(mine, index=self._indexes[mine.index]) if isinstance(mine.index, Indexed) else mine
            for mine in slices
        )


def _indexes_of(queries: Sequence[RunningQuery]) -> dict[Indexed, str]:
    """The indexes of some plans, and the name under which a worker is to remember each. A stream has one of all
    queries, and one of those that begin, if they are not all."""
    members = [query.members for query in queries if query.members is not None]
    begin = [mine for some in members for mine in some.fresh or ()]
    run = [mine for some in members for mine in some.all]
    found: dict[Indexed, str] = {}
    for slices, name in ((begin, "new queries of"), (run, "queries of")):
        for mine in slices:
            if isinstance(mine.index, Indexed):
                found[mine.index] = f"{name} {mine.index.value.source}"
    return found


def _destroy(sent: Sent[Any]) -> None:
    # Nothing depends on it any more: a failure must not become one of the epoch.
    with suppress(Py4JError, OSError):
        sent.broadcast.destroy()
