"""Giving registered queries other plans while they run: by statement, or when statistics have drifted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from panes.catalog import Catalog, QueryRecord
from panes.catalog.plan_history import ChosenPlan
from panes.clock import Clock
from panes.errors import CatalogError, PanesError
from panes.history.history_store import History
from panes.history.why_not_rebuilt import why_not_rebuilt
from panes.optimizer.drift import drift
from panes.plan.output_streams import is_known_at_every_instant
from panes.plan.walk import streams_of
from panes.registered import Registered
from panes.stages.physical_plan import PhysicalPlan
from panes.state.storage.epoch_log import EpochRecord
from panes.stored_plans import shape_of

LOOK_EVERY = 20
"""The least number of epochs between two looks at a plan. One plan is looked at before an epoch, all in turn, so
that the time it takes does not grow with the number of queries."""
_IS_MOVED = 0.1
"""The share by which the expected cost of a plan must have changed since plans were last compared: a choice takes
up to some tens of milliseconds, a look much less."""
_LOOKS_PER_CHOICE = 3
"""The number of looks after which plans are compared anyway: another one may have become cheaper while the cost of
this one stayed."""

Cost = Callable[[PhysicalPlan], float]
"""What a plan is expected to cost under the statistics of now, in CPU seconds per second of event time."""


@dataclass
class _Looked:
    """When a plan was looked at last, and what came of it."""

    epoch: int
    cost: float | None = None
    """What it was expected to cost when it was last compared with others."""
    times: int = 0
    """How many times it was looked at since."""

    def is_moved(self, cost: float) -> bool:
        """Whether its cost has changed, or was compared long ago, so that a choice may tell something new."""
        self.times += 1
        is_same = self.cost is not None and abs(cost - self.cost) < _IS_MOVED * self.cost
        return not is_same or self.times >= _LOOKS_PER_CHOICE


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
        self._looked: dict[int, _Looked] = {}
        """By the number of the plan."""

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
            return
        difference = _difference(current, best)
        if difference:
            raise CatalogError(f"query {name!r} keeps its plan: {difference}")
        self._replace(record, current, best, reason)

    def why_not(self, record: QueryRecord, before: EpochRecord | None) -> str | None:
        """The reason why a query cannot get another plan in the epoch after one; None when it can."""
        if record.group is not None:
            return "it shares the plan with other queries, and each of them has a history of its own in it"
        if record.settings.is_input_triggered:
            return (
                "its operators go by tuples that came to them, of which those of another plan have not heard"
            )
        if record.answers.is_asked_anew:
            return f"it is asked of the history when it is invoked ({record.answers.reason})"
        if before is None or record.first_epoch is None or record.first_epoch > before.epoch:
            return None
        return self.why_not_rebuilt(record, before)

    def why_not_rebuilt(self, record: QueryRecord, before: EpochRecord) -> str | None:
        """The reason why what streams keep after an epoch does not give the answer that a query has; None when it
        does."""
        plan = self._registered.plan_of(record)
        numbers = {s.name: s.number for s in self._catalog.base_streams() if s.name in streams_of(plan)}
        kept = {name: self._history.at(number, before.epoch) for name, number in numbers.items()}
        brought = {name: before.brought.get(number, 0) for name, number in numbers.items()}
        ran = before.queries.get(record.running)
        clock = before.clock_of(numbers.values()) if ran is None else ran.clock
        return why_not_rebuilt(plan, kept, brought, clock)

    # By itself.

    def look(self, records: Sequence[QueryRecord], before: EpochRecord) -> None:
        """Compares the plan of a query with the one that it would get now, if that may tell something new, and
        gives it the other one if that pays. `records` are the queries of the epoch `before`; the next one is
        about to begin."""
        if str(self._catalog.setting("replan")) == "never":
            return
        known = self._looked
        self._looked = {r.plan_number: known.get(r.plan_number) or _Looked(before.epoch) for r in records}
        record = min(records, key=lambda record: self._looked[record.plan_number].epoch, default=None)
        if record is None or before.epoch - self._looked[record.plan_number].epoch < LOOK_EVERY:
            return
        looked = self._looked[record.plan_number]
        looked.epoch = before.epoch
        current = self._registered.physical_plan(record)
        cost = self._cost(current)
        if looked.is_moved(cost) and self._is_as_it_was(record):
            self._looked[record.plan_number] = _Looked(before.epoch, cost)
            self._compare(record, current, before)

    def _is_as_it_was(self, record: QueryRecord) -> bool:
        """Whether a query of the last epoch is still registered, and has no other plan by now."""
        now = self._catalog.find_query(record.id)
        return now is not None and now.error is None and not self._catalog.has_successor(now)

    def _compare(self, record: QueryRecord, current: PhysicalPlan, before: EpochRecord) -> None:
        try:
            best = self._registered.chosen_now(record)
        except PanesError as error:
            # A choice that fails must not end the run: the plan that the query has is as good as ever.
            self._catalog.keep_plan(record, self._chosen(f"no other plan could be chosen: {error}", current))
            return
        if best == current or _difference(current, best) or self.why_not(record, before) is not None:
            return
        switched = self._catalog.last_switch(record)
        since = None if switched is None else before.epoch - switched
        decision = drift(self._cost(current), self._cost(best), since)
        if decision.is_switched:
            self._replace(record, current, best, decision.reason)

    def _replace(self, record: QueryRecord, current: PhysicalPlan, best: PhysicalPlan, reason: str) -> None:
        self._registered.replace_plan(record, best, self._chosen(reason, best, current))

    def _chosen(self, reason: str, plan: PhysicalPlan, current: PhysicalPlan | None = None) -> ChosenPlan:
        before = None if current is None else self._cost(current)
        return ChosenPlan(self._clock.now_us(), reason, shape_of(plan), before, self._cost(plan))


def _difference(current: PhysicalPlan, best: PhysicalPlan) -> str:
    """What makes the changes of one plan no continuation of the answer of the other; empty when nothing does."""
    if current.plan.schema != best.plan.schema:
        return f"the other one has the columns {best.plan.schema}, and not {current.plan.schema}"
    if is_known_at_every_instant(current.plan) != is_known_at_every_instant(best.plan):
        return "the other one tells its answer at other instants"
    return ""
