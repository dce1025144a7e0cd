"""Answers of one-time aggregates from the synopses that registered queries share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from panes.answers.answer import Answer
from panes.answers.answer_from_synopsis import AnswerFromSynopsis
from panes.answers.answer_source import AnswerSource
from panes.answers.invoke import invoke
from panes.answers.readers import Readers
from panes.catalog import Catalog, GroupRecord
from panes.clock import to_datetime
from panes.delta.delta import BEGINNING
from panes.onetime.one_time import OneTime
from panes.plan.nodes import Node, Synopsis
from panes.plan.own_calls import own_calls
from panes.registered import Registered
from panes.sharing.joined_aggregate import JoinedAggregate, joined_aggregate_of
from panes.sharing.windowed_aggregate import WindowedAggregate, windowed_aggregate_of
from panes.state.storage.epoch_log import EpochLog, QueryProgress
from panes.synopses.synopsis_of import has_what_is_asked

Reading = WindowedAggregate | JoinedAggregate


class _Found(NamedTuple):
    group: GroupRecord
    reading: Reading
    ran: QueryProgress


class SynopsisAnswers:
    """Finds the synopsis that has the panes of a one-time aggregate, and reads it as one of its queries does.

    A synopsis is of the same instant as the answer would be, or it is not used. It has seen all rows that the
    history has: those that came before it began were in the history then, and the history only lets go of rows.
    """

    def __init__(
        self, catalog: Catalog, registered: Registered, readers: Readers, one_time: OneTime, log: EpochLog
    ) -> None:
        self._catalog = catalog
        self._registered = registered
        self._readers = readers
        self._one_time = one_time
        self._log = log

    def number(self, plan: Node, epoch: int) -> int | None:
        """The number of the synopsis that has the answer of a plan as of an epoch; None when there is none."""
        found = self._find(plan, epoch)
        return None if found is None else found.group.plan_number

    def answer(self, plan: Node, epoch: int) -> Answer | None:
        """The answer of a plan as of an epoch; None when no synopsis has it, or the epoch is not kept any more."""
        with self._log.held(lambda: epoch if epoch in self._log.epochs else None) as hold:
            found = None if hold is None else self._find(plan, epoch)
            if found is None:
                return None
            group, reading, ran = found
            rows = AnswerFromSynopsis(self._readers.segments, reading)
            name = f"synopsis {group.plan_number}"
            answer = invoke(AnswerSource(group.id, name, plan, rows, group.id, group.first_epoch), ran)
            return replace(answer, epoch=epoch, committed=to_datetime(self._log.record(epoch).finished_us))

    def _find(self, plan: Node, epoch: int) -> _Found | None:
        if epoch not in self._log.epochs:
            return None
        for group, reading in self._that_have(plan):
            ran = self._log.record(epoch).queries.get(group.id)
            # In an epoch before the synopsis began anew, another one had the panes.
            if ran is None or ran.answer.running != group.plan_number or ran.clock == BEGINNING:
                continue
            if ran.clock == self._one_time.clock_at(plan, epoch) and self._one_time.has_all(plan, epoch):
                return _Found(group, reading, ran)
        return None

    def _that_have(self, plan: Node) -> Iterator[tuple[GroupRecord, Reading]]:
        """The groups whose synopses have what a plan needs, and how it reads each."""
        reading = windowed_aggregate_of(plan) or joined_aggregate_of(plan)
        if reading is None or own_calls(plan):
            return
        for group in self._catalog.groups():
            node = self._registered.synopsis(group)
            if node is None or not has_what_is_asked(node, reading.reader):
                continue
            if isinstance(node, Synopsis) and isinstance(reading, WindowedAggregate):
                yield group, reading.over(node)
            else:
                yield group, reading
