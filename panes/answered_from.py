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

    def query(self, plan: Node) -> QueryRecord | None:
        """The registered query whose answer is that of a plan, whenever both are of one instant."""
        if is_table_only(plan) or why_not_once(plan) is not None or _is_estimated(plan):
            return None
        asked = _computes(plan)
        for record in self._catalog.queries():
            is_kept = record.group is None and not record.answers.is_asked_anew
            if not is_kept or record.error is not None or record.settings.is_input_triggered:
                continue
            own = self._registered.plan_of(record)
            if _computes(own) == asked and not sheds(own, record.settings):
                return record
        return None

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
