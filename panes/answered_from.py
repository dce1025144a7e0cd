"""Where a one-time query finds its answer without reading the history: in the answers of registered queries."""

from __future__ import annotations

from collections.abc import Hashable

from panes.answer_sources import AnswerSources
from panes.catalog import Catalog, QueryRecord
from panes.delta.delta import BEGINNING
from panes.onetime.can_ask_once import why_not_once
from panes.onetime.one_time import OneTime
from panes.plan.nodes import GroupBy, Node
from panes.plan.stated_error import stated_error
from panes.plan.structure import structure
from panes.plan.walk import is_table_only, walk
from panes.registered import Registered
from panes.state.storage.epoch_log import EpochLog
from panes.stored_plans import sheds

_MOST_KNOWN = 10_000
"""Then it begins to forget what queries compute: they come and go for as long as a process lives."""


class AnsweredFrom:
    """Finds the registered query that computes what a one-time query asks for.

    Their plans differ in aliases alone, so their answers are equal where both are of one instant. Queries that
    share a plan with others are not looked through: there may be many thousands.
    """

    def __init__(
        self,
        catalog: Catalog,
        registered: Registered,
        sources: AnswerSources,
        one_time: OneTime,
        log: EpochLog,
    ) -> None:
        self._catalog = catalog
        self._registered = registered
        self._sources = sources
        self._one_time = one_time
        self._log = log
        self._known: dict[int, Hashable] = {}
        """What each query computes, by its id: an altered query gets another one."""

    def query(self, plan: Node) -> QueryRecord | None:
        """The registered query whose answer is that of a plan, whenever both are of one instant."""
        if not is_exact(plan):
            return None
        asked = _computes(plan)
        for record in self._catalog.queries():
            is_kept = record.group is None and not record.answers.is_asked_anew
            if not is_kept or record.error is not None or record.settings.is_input_triggered:
                continue
            if self._computed_by(record) == asked and not sheds(
                self._registered.plan_of(record), record.settings
            ):
                return record
        return None

    def _computed_by(self, record: QueryRecord) -> Hashable:
        if record.id not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[record.id] = _computes(self._registered.plan_of(record))
        return self._known[record.id]

    def is_same(self, record: QueryRecord, plan: Node, epoch: int | None) -> bool:
        """Whether the answers of a query and of a plan are of one instant as of an epoch, and the query has seen
        all rows that the windows hold."""
        if epoch is None or epoch not in self._log.epochs:
            return False
        source = self._sources.of(record)
        ran = source.ran_by(self._log.record(epoch))
        now = self._one_time.clock_at(plan, epoch)
        if ran is None or now == BEGINNING or ran.clock != now or ran.clock < source.whole_from:
            return False
        return source.complete_from(ran.clock, ran.epoch) is None


def is_exact(plan: Node) -> bool:
    """Whether a standing query can compute what a one-time query asks for: it is over streams, and no estimate."""
    return not is_table_only(plan) and why_not_once(plan) is None and not _is_estimated(plan)


def _computes(plan: Node) -> Hashable:
    return structure(plan), plan.schema.names


def _is_estimated(plan: Node) -> bool:
    """Whether a standing query approximates what a one-time query computes exactly."""
    return any(
        stated_error(node, aggregate) is not None
        for node in walk(plan)
        if isinstance(node, GroupBy)
        for aggregate in node.aggregates
    )
