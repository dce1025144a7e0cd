"""Having the answers of registered queries in another way while they run, when rates have changed."""

from __future__ import annotations

from collections.abc import Callable

from panes.answer_ways import fact_of_query
from panes.catalog import Catalog, QueryRecord
from panes.config import AUTO, EAGER, LAZY, NONE
from panes.current_statistics import CurrentStatistics
from panes.optimizer.choose_answers import cheapest
from panes.query_settings import ChosenAnswers
from panes.registered import Registered
from panes.replanning import LOOK_EVERY, Replanning
from panes.state.storage.epoch_log import NOTHING, EpochRecord

_WAITING = 0.25
"""The number of readers that wait, on average, from which on the measured rates do not tell how often answers are
wanted."""
_WORK_OF_READERS = (EAGER, LAZY, NONE)
"""The ways by what a read costs, the cheapest first."""


class AnswerSwitching:
    """Compares the way that a query has with the others, of one query before an epoch, all in turn.

    A query that is switched begins anew with that epoch, over the history of its streams, as an altered one does;
    until the epoch is committed, and as of earlier instants, the history is asked. So it is switched only where
    the history gives the answer that it has, and where nobody follows its changes: these would begin anew, too.
    """

    def __init__(
        self, catalog: Catalog, registered: Registered, replanning: Replanning, statistics: CurrentStatistics
    ) -> None:
        self._catalog = catalog
        self._registered = registered
        self._replanning = replanning
        self._statistics = statistics
        self._looked: dict[int, int] = {}
        """The epoch after which the ways of a query were last compared, by the id that it had at first."""
        self.waited_seconds: Callable[[], float] = lambda: 0.0
        """How long readers have waited since this was last asked, added up."""
        self._seen = NOTHING
        self._held_back: int | None = None
        """The last epoch in which readers were made to wait."""

    def look(self, before: EpochRecord) -> None:
        """Compares the ways of a query, and gives it another one if that pays. The epoch after `before` is about
        to begin."""
        self._note_waits(before)
        facts = self._statistics().facts
        if not any(name.kind == "invocations" for name in facts):
            return
        if str(self._catalog.setting("replan")) == "never":
            return
        measured = {name.name: fact for name, fact in facts.items() if name.kind == "invocations"}
        known = {
            record.origin: record
            for record in self._catalog.queries()
            if record.settings.answers == AUTO and fact_of_query(record.origin) in measured
        }
        self._looked = {origin: self._looked.get(origin, before.epoch) for origin in known}
        origin = min(self._looked, key=lambda one: self._looked[one], default=None)
        if origin is None or before.epoch - self._looked[origin] < LOOK_EVERY:
            return
        self._looked[origin] = before.epoch
        record = known[origin]
        if self.why_not(record, before) is None:
            self._compare(record, before)

    def why_not(self, record: QueryRecord, before: EpochRecord) -> str | None:
        """The reason why a query keeps its way in the epoch after one; None when it could get another."""
        if record.error is not None:
            return "it is suspended"
        if self._registered.is_followed(record):
            return "somebody follows its changes"
        if self._catalog.equal_queries(record):
            return "equal queries share its state"
        if record.group is not None and record.answers.mode != LAZY:
            return "it shares the plan with other queries"
        if record.first_epoch is None or record.first_epoch > before.epoch:
            return "it begins with the next epoch"
        if record.group is None and self._catalog.has_successor(record):
            return "it gets another plan"
        return self._replanning.why_not_rebuilt(record, before)

    def _compare(self, record: QueryRecord, before: EpochRecord) -> None:
        costs = self._registered.answer_costs(record)
        if costs is None or record.first_epoch is None:
            return
        since = before.epoch - record.first_epoch
        best = cheapest(record.answers, costs, has_followers=False, epochs_since_switch=since)
        if best.mode != record.answers.mode and not self._is_held_back(record, best, before):
            self._registered.switch_answers(record, best.switched(before.epoch + 1))

    def _note_waits(self, before: EpochRecord) -> None:
        """Notes whether readers waited for long while the last epoch ran: those that wait ask less often."""
        waited, since_us = self.waited_seconds(), before.finished_us - self._seen.finished_us
        self._seen = before
        if waited * 1e6 >= _WAITING * since_us > 0:
            self._held_back = before.epoch

    def _is_held_back(self, record: QueryRecord, best: ChosenAnswers, before: EpochRecord) -> bool:
        """Whether readers would have asked more often than they could, and another way would make each read
        dearer: that would make them wait for longer."""
        is_dearer = _WORK_OF_READERS.index(best.mode) > _WORK_OF_READERS.index(record.answers.mode)
        return is_dearer and self._held_back is not None and before.epoch - self._held_back <= LOOK_EVERY

    def keep_for_followers(self, record: QueryRecord) -> QueryRecord:
        """A query whose changes somebody wants to follow: where nothing is kept of it because that was cheaper, it
        is kept up to date from the next epoch on."""
        is_open = record.answers.mode == NONE and record.settings.answers == AUTO
        if not is_open or self._registered.cannot_be_kept(record):
            return record
        kept = ChosenAnswers(EAGER, "somebody follows its changes")
        return self._registered.switch_answers(record, kept.switched(self._catalog.marks.last_begun + 1))
