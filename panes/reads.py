"""Reads under an isolation level: answers of registered queries, and of queries that are asked once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from panes.answered_from import AnsweredFrom, is_exact
from panes.answers.answer import Answer
from panes.answers.invocations import Invocations
from panes.answers.measured_reads import MeasuredReads
from panes.catalog import Catalog
from panes.config import LATEST, WINDOW, check_setting
from panes.errors import CatalogError, QueryFailed
from panes.onetime.one_time import OneTime
from panes.plan.expressions import Expression
from panes.plan.nodes import Node
from panes.plan.now import has_now
from panes.plan.walk import is_table_only
from panes.standing_answers import StandingAnswers
from panes.state.storage.epoch_log import BEFORE_ALL
from panes.synopsis_answers import SynopsisAnswers


class Reads:
    """All that faces of a database read goes through here, and is measured.

    A read is of one epoch. Under `window` that is any up to its end, under `snapshot` the last one at its start,
    under `latest` the last one at its end. Where an `epoch` is given, which the caller holds, it is that one.
    """

    def __init__(
        self,
        catalog: Catalog,
        answers: StandingAnswers,
        one_time: OneTime,
        answered_from: AnsweredFrom,
        synopses: SynopsisAnswers,
        measured: MeasuredReads,
        invocations: Invocations,
    ) -> None:
        self._catalog = catalog
        self._answers = answers
        self._one_time = one_time
        self._answered_from = answered_from
        self._synopses = synopses
        self.measured = measured
        self._invocations = invocations
        self._default: str | None = None
        """What `SET isolation` says, where no other process can have said otherwise since."""

    def level(self, isolation: str | None) -> str:
        """An isolation level, or that of the database. Raises SettingError for one that there is not."""
        if isolation is not None:
            return str(check_setting("isolation", isolation))
        if self._default is not None:
            return self._default
        self._answers.check()
        found = str(self._catalog.setting("isolation"))
        if not self._answers.is_read_only:
            self._default = found
        return found

    def forget_level(self) -> None:
        """Looks up anew what `SET isolation` says."""
        self._default = None

    def invoke(
        self,
        name: str,
        as_of: datetime | str | None = None,
        where: Expression | None = None,
        *,
        isolation: str | None = None,
        epoch: int | None = None,
    ) -> Answer:
        """The answer of a registered query, or its rows for which a condition is true."""
        level = self.level(isolation)
        # Counted when it is asked: how long a reader then waits says nothing of how often answers are wanted.
        self._invocations.count(name)
        return self.measured.measured(
            level, lambda: self._answers.invoke(name, as_of, where, isolation=level, epoch=epoch)
        )

    def select(
        self,
        plan: Node,
        as_of: datetime | str | None = None,
        *,
        isolation: str | None = None,
        epoch: int | None = None,
    ) -> Answer:
        """The answer of a query that is asked once: that of a registered query where one has it, or from a
        synopsis that has its panes."""
        level = self.level(isolation)
        return self.measured.measured(level, lambda: self._select(plan, as_of, level, epoch))

    def answered_from(self, plan: Node) -> str:
        """Where `select` finds its answer now, in words."""
        last = self._answers.last_epoch
        record = self._answered_from.query(plan)
        if record is not None and self._answered_from.is_same(record, plan, last):
            return record.name
        number = self._synopses.number(plan, last) if is_exact(plan) else None
        if number is not None:
            return f"synopsis {number}"
        files = self._one_time.files_read(plan)
        return f"history, {files} {'file' if files == 1 else 'files'}"

    def _select(self, plan: Node, as_of: datetime | str | None, level: str, epoch: int | None) -> Answer:
        if as_of is None and not is_table_only(plan):
            found = self._registered_answer(plan, level, epoch) or self._synopsis_answer(plan, level, epoch)
            if found is not None:
                return found
        current, ask = self._answers.current, self._one_time.answer
        last = self._answers.last_epoch
        if is_table_only(plan):
            # It reads no history, and so it does not queue behind those that do.
            return current.computed(lambda: ask(plan, as_of, isolation=level, epoch=epoch))
        if as_of is not None or epoch not in (None, last) or self._answers.is_read_only:
            return current.once(
                None, lambda _: ask(plan, as_of, isolation=level, epoch=epoch, step=current.step)
            )
        answer = current.once(
            plan,
            lambda as_of_epoch: ask(plan, epoch=as_of_epoch, step=current.step),
            may_wait=level != WINDOW or epoch is not None,
        )
        read_epoch = BEFORE_ALL if answer.epoch is None else answer.epoch
        if epoch is not None and read_epoch != epoch:
            return self._select(plan, None, level, epoch)  # another epoch was committed just now
        if level == LATEST and epoch is None and read_epoch != self._answers.last_epoch:
            return self._answers.latest_once(plan)
        return answer

    def _registered_answer(self, plan: Node, level: str, epoch: int | None) -> Answer | None:
        """The answer of a registered query that computes the same, if it is of the same instant."""
        record = self._answered_from.query(plan)
        expected = self._answers.last_epoch if epoch is None else epoch
        if record is None or not self._answered_from.is_same(record, plan, expected):
            return None
        try:
            found = self._answers.invoke(record.name, isolation=level, epoch=epoch)
        except (CatalogError, QueryFailed):
            return None  # it was dropped just now, or has failed
        self._invocations.count(record.name)
        return found if self._answered_from.is_same(record, plan, found.epoch) else None

    def _synopsis_answer(self, plan: Node, level: str, epoch: int | None) -> Answer | None:
        """The answer of an aggregate that a synopsis has the panes of. Should they be gone when its turn comes,
        the history has it."""
        current, last = self._answers.current, self._answers.last_epoch
        asked = last if epoch is None else epoch
        if not is_exact(plan) or has_now(plan) or self._synopses.number(plan, asked) is None:
            return None

        def computed(as_of: int) -> Answer:
            return self._synopses.answer(plan, as_of) or self._one_time.answer(plan, epoch=as_of)

        if epoch is not None:
            return current.computed(lambda: computed(epoch))
        if self._answers.is_read_only:
            # Streams may be dropped and made anew by another process.
            return self._until_last(
                lambda: current.computed(lambda: computed(self._answers.last_epoch)), level
            )
        key = "synopsis", plan
        return self._until_last(lambda: current.get(key, computed, may_wait=level != WINDOW), level)

    def _until_last(self, read: Callable[[], Answer], level: str) -> Answer:
        """What a read gives; under `latest`, when no epoch has overtaken it."""
        while True:
            answer = read()
            if level != LATEST or answer.epoch == self._answers.last_epoch:
                return answer
