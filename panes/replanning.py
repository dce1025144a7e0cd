"""Giving registered queries other plans while they run: by statement, or when statistics have drifted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from panes.catalog import Catalog, QueryRecord
from panes.clock import Clock
from panes.errors import CatalogError, PanesError
from panes.history.history_store import History
from panes.history.why_not_rebuilt import why_not_rebuilt
from panes.optimizer.drift import Decision, drift
from panes.plan.begin_end import is_begin_end
from panes.plan.output_streams import is_known_at_every_instant
from panes.plan.walk import streams_of
from panes.plan_history import ChosenPlan
from panes.registered import Registered
from panes.stages.physical_plan import PhysicalPlan
from panes.state.storage.epoch_log import EpochRecord
from panes.stored_plans import shape_of

LOOK_EVERY = 20
"""A plan is compared with others at most once in so many epochs."""
_LOOKS_PER_EPOCH = 2
"""At most so many plans are compared before an epoch, in turn, so that the time it takes does not grow with the
number of queries."""

Cost = Callable[[PhysicalPlan], float]
"""What a plan is expected to cost under the statistics of now, in CPU seconds per second of event time."""


class Replanning:
    """Chooses plans anew. A plan that was chosen begins with the next epoch and takes over after it: readers of
    the query see nothing of it, because both have the same answer when that epoch ends."""

    def __init__(
        self, catalog: Catalog, registered: Registered, history: History, cost: Cost, clock: Clock
    ) -> None:
        self._catalog = catalog
        self._registered = registered
        self._history = history
        self._cost = cost
        self._clock = clock
        self._looked: dict[int, int] = {}
        """By plan, the epoch before which it was looked at last."""

    def replan(self, name: str, latest: EpochRecord | None) -> None:
        """Chooses the plan of a query anew, whatever it would gain; `latest` is the last committed epoch.

        Raises CatalogError when the query cannot get another plan. Where the choice is the plan that it has, that
        is noted and nothing else happens.
        """
        record = self._catalog.query(name)
        if record.error is not None:
            raise CatalogError(f"query {name!r} is suspended, and gets a new plan when it is resumed")
        reason = self.why_not(record, latest)
        if reason is not None:
            raise CatalogError(f"query {name!r} keeps its plan: {reason}")
        current, best = self._registered.newest_plan(record), self._registered.chosen_now(record)
        reason = "ALTER QUERY … REPLAN"
        if best == current:
            self._catalog.keep_plan(record, self._chosen(f"{reason}: the choice is the plan that runs", best))
        else:
            self._replace(record, current, best, reason)

    def why_not(self, record: QueryRecord, before: EpochRecord | None) -> str | None:
        """The reason why a query cannot get another plan in the epoch after one; None when it can."""
        if record.group is not None:
            return "it shares the plan with other queries, and each of them has a history of its own in it"
        plan = self._registered.plan_of(record)
        if is_begin_end(plan):
            return "it has a BEGIN … END window, which is applied when it is invoked"
        if before is None or record.first_epoch is None or record.first_epoch > before.epoch:
            return None
        numbers = {s.name: s.number for s in self._catalog.base_streams() if s.name in streams_of(plan)}
        kept = {name: self._history.at(number, before.epoch) for name, number in numbers.items()}
        brought = {name: before.brought.get(number, 0) for name, number in numbers.items()}
        ran = before.queries.get(record.running)
        clock = before.clock_of(numbers.values()) if ran is None else ran.clock
        return why_not_rebuilt(plan, kept, brought, clock)

    # By itself.

    def look(self, records: Sequence[QueryRecord], before: EpochRecord) -> None:
        """Compares the plans of some queries with those that they would get now; gives those another plan that it
        pays for. `records` are the queries of the epoch `before`, and the next one is about to begin."""
        if str(self._catalog.setting("replan")) == "never":
            return
        self._looked = {r.plan_number: self._looked.get(r.plan_number, before.epoch) for r in records}
        due = [r for r in records if before.epoch - self._looked[r.plan_number] >= LOOK_EVERY]
        due.sort(key=lambda record: self._looked[record.plan_number])
        for record in due[:_LOOKS_PER_EPOCH]:
            self._looked[record.plan_number] = before.epoch
            if self._is_as_it_was(record):
                self._compare(record, before)

    def _is_as_it_was(self, record: QueryRecord) -> bool:
        """Whether a query of the last epoch is still registered, and has no other plan by now."""
        now = self._catalog.find_query(record.id)
        return now is not None and now.error is None and not self._catalog.has_successor(now)

    def _compare(self, record: QueryRecord, before: EpochRecord) -> None:
        current = self._registered.physical_plan(record)
        try:
            best = self._registered.chosen_now(record)
        except PanesError as error:
            # A choice that fails must not end the run: the plan that the query has is as good as ever.
            self._catalog.keep_plan(record, self._chosen(f"no other plan could be chosen: {error}", current))
            return
        if best == current or self.why_not(record, before) is not None:
            return
        decision = self._decided(record, current, best, before)
        if decision.is_switched:
            self._replace(record, current, best, decision.reason)

    def _decided(
        self, record: QueryRecord, current: PhysicalPlan, best: PhysicalPlan, before: EpochRecord
    ) -> Decision:
        switched = self._catalog.last_switch(record)
        since = None if switched is None else before.epoch - switched
        return drift(self._cost(current), self._cost(best), since)

    def _replace(self, record: QueryRecord, current: PhysicalPlan, best: PhysicalPlan, reason: str) -> None:
        _check_alike(current, best)
        self._registered.replace_plan(record, best, self._chosen(reason, best, current))

    def _chosen(self, reason: str, plan: PhysicalPlan, current: PhysicalPlan | None = None) -> ChosenPlan:
        before = None if current is None else self._cost(current)
        return ChosenPlan(self._clock.now_us(), reason, shape_of(plan), before, self._cost(plan))


def _check_alike(current: PhysicalPlan, best: PhysicalPlan) -> None:
    """Readers go on from the answer of one plan with the changes of the other."""
    if current.plan.schema != best.plan.schema:
        raise CatalogError(
            f"a plan with the columns {best.plan.schema} cannot replace one with {current.plan.schema}"
        )
    if is_known_at_every_instant(current.plan) != is_known_at_every_instant(best.plan):
        raise CatalogError("a plan that tells its answer at other instants cannot replace the one that runs")
