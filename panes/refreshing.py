"""Refreshing the answers of registered queries by deadline."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from math import gcd

from panes.catalog import Catalog, QueryRecord
from panes.config import DEADLINE
from panes.registered import Registered
from panes.schedule.member import cost_of
from panes.schedule.next_refreshes import Asked, NextRefreshes, RefreshedGroup, costs_of
from panes.schedule.scheduled import Scheduled
from panes.sharing.joined_aggregate import joined_aggregate_of
from panes.sharing.refreshes import Refreshes
from panes.sharing.windowed_aggregate import windowed_aggregate_of
from panes.state.storage.epoch_log import EpochRecord
from panes.why_not_refreshed import why_not_refreshed


class Refreshing:
    """Decides which answers the next epoch refreshes, and tells how that has gone."""

    def __init__(self, catalog: Catalog, registered: Registered) -> None:
        self._catalog = catalog
        self._registered = registered
        self._next = NextRefreshes()
        self._asked: dict[int, Asked] = {}
        """What each query asks for that is refreshed by deadline: plans are walked once."""
        self.is_live = False
        """Whether streams are followed as they come: only then there is no time for all answers."""

    def next(
        self, before: EpochRecord, records: Iterable[QueryRecord], begin: Container[int]
    ) -> dict[int, Refreshes]:
        """What each group refreshes in the epoch that follows, of those that have queries to refresh; `begin` are
        the groups whose plans begin with it."""
        groups = [replace(group, begins=group.number in begin) for group in self._groups(records)]
        schedule = str(self._catalog.setting("schedule"))
        return self._next.after(before, groups, schedule, is_live=self.is_live)

    def schedule(self, latest: EpochRecord | None) -> Iterator[Scheduled]:
        """The queries that are refreshed by deadline, as of an epoch."""
        names = {record.id: record.name for record in self._catalog.queries()}
        for group in self._groups(self._catalog.queries()):
            ran = None if latest is None else latest.queries.get(group.number)
            members = group.members(costs_of(ran))
            for query, member in members.items():
                refreshed = None if ran is None else ran.refreshed.get(query)
                if ran is None or refreshed is None:
                    yield Scheduled(
                        names[query], group.number, member.period, None, None, 0, None, cost_of([member])
                    )
                    continue
                updates = ran.clock // group.pane_us - refreshed.slide // group.pane_us
                yield Scheduled(
                    names[query],
                    group.number,
                    member.period,
                    refreshed.given,
                    member.period - updates,
                    refreshed.late,
                    refreshed.latency,
                    cost_of([member]),
                )

    def status(self, latest: EpochRecord | None) -> dict[str, Scheduled]:
        """The same by name."""
        return {one.name: one for one in self.schedule(latest)}

    def not_refreshed(self) -> dict[str, str]:
        """The queries that are computed at every slide though they were registered under a setting that lets
        others be refreshed by deadline, with why."""
        reasons = {
            record.name: why_not_refreshed(self._registered.plan_of(record), record.settings)
            for record in self._catalog.queries()
            if record.settings.refresh == DEADLINE
        }
        return {name: reason for name, reason in reasons.items() if reason is not None}

    def _groups(self, records: Iterable[QueryRecord]) -> Iterator[RefreshedGroup]:
        found: dict[int, dict[int, Asked]] = {}
        panes: dict[int, int] = {}
        for record in records:
            pane_us = self._registered.refreshed_panes(record)
            if pane_us is not None and record.group is not None:
                panes[record.group] = gcd(panes.get(record.group, 0), pane_us)
                found.setdefault(record.group, {})[record.id] = self._asked_by(record)
        self._asked = {query: one for group in found.values() for query, one in group.items()}
        for number, of_group in found.items():
            yield RefreshedGroup(number, panes[number], of_group)

    def _asked_by(self, record: QueryRecord) -> Asked:
        known = self._asked.get(record.id)
        if known is None:
            plan = self._registered.plan_of(record)
            reading = windowed_aggregate_of(plan) or joined_aggregate_of(plan)
            assert reading is not None, "a query that reads a synopsis is an aggregate over windows"
            left, *right = (window.range_us for window in reading.reader.windows)
            known = Asked(left, reading.reader.slide_us, record.settings.priority, *right)
        return known
