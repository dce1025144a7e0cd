"""The physical plans of registered queries: made once, stored in the catalog, and taken from there ever after."""

from __future__ import annotations

from collections.abc import Callable, Set

from panes.catalog import Catalog, QueryRecord
from panes.catalog.plan_history import ChosenPlan
from panes.clock import Clock
from panes.config import AUTO
from panes.optimizer.choose_plan import choose_plan
from panes.optimizer.optimizer import Rewritten
from panes.optimizer.planning import Planning, rules_in
from panes.optimizer.statistics import Statistics
from panes.plan.nodes import Node
from panes.plan.shape import shape
from panes.plan.sheddable import why_not_sheddable
from panes.plan.walk import tables_of
from panes.query_settings import QuerySettings
from panes.stages.physical_plan import PhysicalPlan
from panes.stages.plan_text import plan_from, plan_text

_LARGE = 100_000
"""A table of more rows when a query is registered is routed to shards by the keys of the query."""


class StoredPlans:
    """Plans by the number under which epochs run them: that of a query, or of a group of queries that share one.

    The state of a query is laid out by its plan, so a plan never changes: another one has another number. A query
    that begins anew, because it failed or its group was dissolved, gets a new one.
    """

    def __init__(
        self,
        catalog: Catalog,
        row_count: Callable[[str], int],
        statistics: Callable[[], Statistics],
        clock: Clock,
    ) -> None:
        """`row_count` gives how many rows a table has, by name; `statistics` what is known when it is asked."""
        self._catalog = catalog
        self._row_count = row_count
        self._statistics = statistics
        self._clock = clock
        self._known: dict[int, PhysicalPlan] = {}

    def under(self, settings: QuerySettings, planned: Rewritten) -> PhysicalPlan:
        """The plan that a query would get if it were registered with some settings; SettingError when it could not
        run."""
        shards = self._catalog.setting("shards")
        return self._chosen(planned, settings, None if shards == AUTO else int(shards))

    def numbered(self, number: int) -> PhysicalPlan | None:
        """The plan of that number; None when there is none."""
        if number not in self._known:
            text = self._catalog.plan(number)
            if text is None:
                return None
            self._known[number] = plan_from(text)
        return self._known[number]

    def made(self, record: QueryRecord, planned: Rewritten) -> PhysicalPlan:
        """The plan of a query, or of its group, that has none yet; `planned` is the logical one."""
        made = self._known[record.plan_number] = self._chosen(planned, record.settings, record.shards)
        if not self._catalog.is_read_only:
            chosen = ChosenPlan(self._clock.now_us(), "registered", shape_of(made))
            self._catalog.set_plan(record, plan_text(made), chosen)
        return made

    def chosen_now(self, record: QueryRecord, planned: Rewritten) -> PhysicalPlan:
        """The plan that a query would get now, under its settings; `planned` is its logical plan."""
        return self._chosen(planned, record.settings, record.shards)

    def replace(self, record: QueryRecord, plan: PhysicalPlan, chosen: ChosenPlan) -> None:
        """Lets a query go on with another plan."""
        if record.first_epoch is None:
            self.forget(record.plan_number)
        self._catalog.replace_plan(record, plan_text(plan), chosen)

    def begin_group_anew(
        self, group: int, member: QueryRecord, planned: Rewritten, epoch: int, reason: str
    ) -> None:
        """Gives a group another plan from an epoch on; `planned` is its logical plan."""
        made = self._chosen(planned, member.settings, member.shards)
        chosen = ChosenPlan(self._clock.now_us(), reason, shape_of(made))
        self._catalog.begin_group_anew(group, plan_text(made), chosen, epoch)

    def keep(self, numbers: Set[int]) -> None:
        """Lets go of all other plans."""
        for number in self._known.keys() - numbers:
            self.forget(number)

    def _large_tables(self, plan: Node) -> frozenset[str]:
        """The tables of a plan of which shards are not to have all rows each."""
        return frozenset(name for name in tables_of(plan) if self._row_count(name) > _LARGE)

    def forget(self, number: int) -> None:
        """Lets go of a plan that the catalog no longer has."""
        self._known.pop(number, None)

    def _chosen(self, planned: Rewritten, settings: QuerySettings, shards: int | None) -> PhysicalPlan:
        planning = Planning(
            settings.strategy_of_plan,
            settings.calendar_days,
            settings.changes == "instant",
            self._large_tables(planned.plan),
            settings.negation,
            rules_in(settings.rules_off),
            self._catalog.marks.cores,
            settings.join,
            settings.lazy_expiration,
            sheds(planned.plan, settings),
            1 if settings.is_alone else shards,
        )
        rules = tuple(rule.name for rule in planned.applied)
        return choose_plan(planned.plan, self._statistics(), planning, rules)


def sheds(plan: Node, settings: QuerySettings) -> bool:
    """Whether rows may be dropped for a query, by its logical plan and its settings."""
    return settings.shed == AUTO and why_not_sheddable(plan) is None


def shape_of(plan: PhysicalPlan) -> str:
    """The joins, negations and DISTINCTs of a plan in one line."""
    return plan.choice.candidates[0].shape if plan.choice.candidates else shape(plan.plan)
