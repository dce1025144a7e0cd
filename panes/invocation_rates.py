"""How often registered queries are invoked, told to the facts of a database epoch by epoch."""

from __future__ import annotations

from collections.abc import Iterable

from panes.answer_ways import fact_of_query, fact_of_shape
from panes.answers.invocations import Invocations
from panes.catalog import Catalog, QueryRecord
from panes.registered import Registered

_MOST = 500
"""The queries of which each has a fact of its own: there is no room for thousands. Those of a shape have one."""


class InvocationRates:
    """Gives what was counted since the last epoch. Queries that nobody has invoked yet do not count: nothing is
    known of them."""

    def __init__(self, catalog: Catalog, registered: Registered, invocations: Invocations) -> None:
        self._catalog = catalog
        self._registered = registered
        self._invocations = invocations
        self._shapes: dict[int, str] = {}
        """By the id of the query."""

    def observed(self, known: Iterable[str]) -> dict[str, tuple[float, int]]:
        """By the name of the fact, how many times queries were invoked, and how many queries these are. `known`
        are the facts so far: a query that was invoked once counts in every epoch from then on, while it is
        registered."""
        counts, known = self._invocations.taken(), set(known)
        if not counts and not known:
            return {}
        records = [
            record
            for record in self._catalog.queries()
            if record.name.lower() in counts or fact_of_query(record.origin) in known
        ]
        found: dict[str, tuple[float, int]] = {}
        own = sum(name.startswith(fact_of_query(0)[:-1]) for name in known)
        for record in records:
            times, name = counts.get(record.name.lower(), 0), fact_of_query(record.origin)
            if name in known or own < _MOST:
                own += name not in known
                found[name] = float(times), 1
            shape = self._shape(record)
            of_shape = found.get(shape, (0.0, 0))
            found[shape] = of_shape[0] + times, of_shape[1] + 1
        self._shapes = {record.id: self._shape(record) for record in records}
        return found

    def _shape(self, record: QueryRecord) -> str:
        if record.id not in self._shapes:
            self._shapes[record.id] = fact_of_shape(self._registered.plan_of(record))
        return self._shapes[record.id]
