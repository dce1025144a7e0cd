"""The physical plans of registered queries: made once, stored in the catalog, and taken from there ever after."""

from __future__ import annotations

from typing import Literal

from panes.catalog import Catalog, QueryRecord
from panes.plan.nodes import Node
from panes.stages.make_plan import make_plan
from panes.stages.physical_plan import PhysicalPlan
from panes.stages.plan_text import plan_from, plan_text

Kind = Literal["QUERY", "GROUP"]


class StoredPlans:
    """Plans by query, and by group of queries that share one.

    The state of a query is laid out by its plan, so a plan never changes while its query lives. A query that
    begins anew, because it failed or its group was dissolved, gets a new one.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: dict[tuple[Kind, int], PhysicalPlan] = {}

    def under_settings(self, plan: Node) -> PhysicalPlan:
        """The plan that a query would get if it were registered now; SettingError when it could not run."""
        return make_plan(
            plan,
            strategy=str(self._catalog.setting("strategy")),
            calendar_days=int(self._catalog.setting("calendar_days")),
            every_instant=self._catalog.setting("changes") == "instant",
        )

    def of_query(self, record: QueryRecord, plan: Node) -> PhysicalPlan:
        """The plan of a query by itself."""
        return self._stored("QUERY", record.id, record, plan)

    def of_group(self, record: QueryRecord, plan: Node) -> PhysicalPlan:
        """The plan that a query shares with its group; `plan` is that of the group."""
        assert record.group is not None
        return self._stored("GROUP", record.group, record, plan)

    def forget(self, kind: Kind, number: int) -> None:
        """Lets go of a plan that the catalog no longer has."""
        self._known.pop((kind, number), None)

    def _stored(self, kind: Kind, number: int, record: QueryRecord, plan: Node) -> PhysicalPlan:
        if (kind, number) not in self._known:
            text = self._catalog.plan(kind, number)
            self._known[kind, number] = (
                self._made(kind, number, record, plan) if text is None else plan_from(text)
            )
        return self._known[kind, number]

    def _made(self, kind: Kind, number: int, record: QueryRecord, plan: Node) -> PhysicalPlan:
        made = make_plan(
            plan,
            strategy=record.strategy,
            calendar_days=record.calendar_days,
            every_instant=record.changes == "instant",
        )
        if not self._catalog.is_read_only:
            self._catalog.set_plan(kind, number, plan_text(made))
        return made
