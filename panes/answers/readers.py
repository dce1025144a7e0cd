"""All reading of answers goes through here: the current answer, one of an instant, and changes by reader."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from datetime import datetime

from panes.answers.add_changes import add_changes, can_add_changes
from panes.answers.answer import Answer
from panes.answers.answer_source import AnswerSource
from panes.answers.changes import Change, change_in, whole_answer
from panes.answers.cursors import Cursors
from panes.answers.instants import instant_of
from panes.answers.invoke import invoke, invoke_at
from panes.answers.key_lookup import KeyLookup
from panes.answers.memory_cursors import MemoryCursors
from panes.answers.open_segments import OpenSegments
from panes.answers.open_stores import OpenStores
from panes.clock import to_datetime
from panes.delta.delta import BEGINNING
from panes.errors import (
    CatalogError,
    ChangesGone,
    DatabaseClosed,
    EpochGone,
    PanesError,
    QueryBegunAnew,
    QueryFailed,
    StateError,
)
from panes.history.completeness import complete_from, oldest_needed
from panes.plan.box_schedule import BoxSchedule
from panes.plan.nodes import Drop, Node
from panes.plan.walk import walk
from panes.state.storage.bell import Bell
from panes.state.storage.epoch_log import BEFORE_ALL, EpochLog, QueryProgress
from panes.state.storage.leases import Lease
from panes.state.storage.locations import Location


class Readers:
    """Answers and changes as of committed epochs, for any number of threads, while epochs run.

    Whatever is read is held, so that it stays until it has been read, however far the epochs go on meanwhile.
    """

    def __init__(
        self,
        log: EpochLog,
        states: Location,
        cursors: Cursors | MemoryCursors,
        is_registered: Callable[[int, int], bool],
        is_there: Callable[[int], bool] = lambda _: False,
    ) -> None:
        """`states` is the folder of all states. `is_registered` says whether a query has an id now and
        had another at first, `is_there` whether one is registered that had it at first."""
        self._log = log
        self._cursors = cursors
        self._is_registered = is_registered
        self._is_closed = False
        self._is_there = is_there
        self._counting = threading.Lock()
        self._following: Counter[int] = Counter()
        """How many are reading the changes of each query at this moment, by the id that readers know it by."""
        self._gone: set[tuple[int, int]] = set()
        """The queries that were dropped or altered since the database was opened."""
        self.segments = OpenSegments(log, states)
        self.stores = OpenStores(self.segments)

    @property
    def bell(self) -> Bell:
        """Rings when an epoch is committed, a query is dropped, or the database is closed."""
        return self._log.bell

    def close(self) -> None:
        self._is_closed = True
        self._cursors.close()
        self.bell.ring()

    def invoke(
        self,
        standing: AnswerSource,
        as_of: datetime | str | None = None,
        lookup: KeyLookup | None = None,
        *,
        epoch: int | None = None,
    ) -> Answer:
        """The answer as of the last committed epoch, or of another one that is kept, or at an instant that is;
        with a lookup, what it finds of it."""
        with self._unless_dropped(standing):
            if as_of is not None:
                return self._invoke_at(standing, instant_of(as_of), lookup)
            with self._held(standing, lambda kept: epoch if epoch in kept else kept[-1]) as hold:
                if hold is None:
                    return invoke(standing, None, lookup)
                return self._dated(invoke(standing, self._ran(standing, hold.epoch), lookup), hold.epoch)

    def caught_up(self, standing: AnswerSource, answer: Answer, epoch: int) -> Answer:
        """An answer as of an epoch, from one of an earlier epoch and what the epochs since then have changed. It
        takes as long as there are changes, however large the answer is."""
        before = BEFORE_ALL if answer.epoch is None else answer.epoch

        def oldest_needed(kept: list[int]) -> int:
            return before if before in kept else kept[-1]

        with self._unless_dropped(standing), self._held(standing, oldest_needed) as hold:
            if hold is None or hold.epoch != before or not can_add_changes(standing.plan, answer):
                return self.invoke(standing, epoch=epoch)
            runs = [(later, self._ran(standing, later)) for later in range(before + 1, epoch + 1)]
            changes = [
                change_in(standing, ran) for later, ran in runs if ran is not None and ran.epoch == later
            ]
            last = self._ran(standing, epoch)
            if last is None or any(change.is_whole for change in changes):
                return self.invoke(standing, epoch=epoch)
            since = standing.complete_from(last.clock, last.epoch)
            added = add_changes(standing.plan, answer, changes)
            added = replace(added, complete_from=None if since is None else to_datetime(since))
            return self._dated(added, epoch)

    def _dated(self, answer: Answer, epoch: int) -> Answer:
        return replace(answer, epoch=epoch, committed=to_datetime(self._log.record(epoch).finished_us))

    def complete_from(
        self, query: int, plan: Node, streams: Mapping[int, str], instant: int, epoch: int
    ) -> int | None:
        """The instant from which on a query has seen all tuples; None when its windows reach no further back at an
        instant of the span that an epoch took it through. `streams` are the names of all streams, by number."""
        # Epochs that came since then did not run the query, so its streams have brought nothing more.
        record = self._log.record(max(epoch, self._log.epochs[0]))
        if query not in record.missing:
            return None
        missing = {streams[number]: gap for number, gap in record.missing[query].items()}
        brought = {streams[number]: rows for number, rows in record.brought.items() if number in streams}
        return complete_from(plan, missing, instant, brought)

    def kept(
        self, running: int, plan: Node, streams: Mapping[int, str], instant: int, epoch: int
    ) -> dict[str, float]:
        """By stream with a drop box, the least share of its rows that a query has kept of what its windows may
        hold at an instant of the span that an epoch took it through."""
        boxes = self._log.record(max(epoch, self._log.epochs[0])).boxes.get(running, {})
        numbers = {name: number for number, name in streams.items()}
        found = sorted({node.stream for node in walk(plan) if isinstance(node, Drop)})
        return {
            name: boxes.get(numbers[name], BoxSchedule()).least(oldest_needed(plan, name, instant), instant)
            for name in found
        }

    def _invoke_at(self, standing: AnswerSource, instant: int, lookup: KeyLookup | None) -> Answer:
        with self._held(standing, lambda kept: kept[0]) as hold:
            if hold is None:
                raise EpochGone(f"{standing.name!r} has no answers yet; they begin with the next epoch")
            kept = [self._ran(standing, epoch) for epoch in self._log.epochs if epoch >= hold.epoch]
            return invoke_at(standing, instant, _runs(kept), lookup)

    def _ran(self, standing: AnswerSource, epoch: int) -> QueryProgress | None:
        record = self._log.record(epoch)
        if standing.is_in(epoch) and standing.running not in record.queries:
            # An epoch that came while somebody reads, and no longer has the query.
            self._check_registered(standing)
            raise QueryFailed(f"query {standing.name!r} failed in epoch {epoch} and is suspended")
        return standing.ran_by(record)

    def changes(self, standing: AnswerSource, reader: str, *, restart: bool = False) -> Iterator[Change]:
        """The changes of the epochs that a reader has not read yet, up to the last epoch."""
        with closing(self.follow(standing, reader, restart=restart)) as found:
            for change in found:
                if change is None:
                    return
                yield change

    def follow(
        self, standing: AnswerSource, reader: str, *, restart: bool = False
    ) -> Generator[Change | None, None, None]:
        """The changes of the epochs that a reader has not read yet, and None when the next epoch is to come.

        A reader that comes for the first time, or that restarts, begins with a change that is the whole answer.
        Ends at once when no epoch has the query yet. After None the iterator goes on with the next epoch; until
        then it holds the last one, so that it misses nothing however long it is left alone.
        """
        self._check_open()
        self._count_followers(standing, 1)
        try:
            yield from self._followed(standing, reader, restart=restart)
        finally:
            self._count_followers(standing, -1)

    def _count_followers(self, standing: AnswerSource, more: int) -> None:
        with self._counting:
            self._following[standing.readers_id] += more

    def is_followed(self, origin: int) -> bool:
        """Whether somebody follows the changes of a query, or has done so and may go on where it left off."""
        return self._following[origin] > 0 or bool(self._cursors.of_query(origin))

    def _followed(
        self, standing: AnswerSource, reader: str, *, restart: bool
    ) -> Generator[Change | None, None, None]:
        passed = None if restart else self._cursors.get(standing.readers_id, reader)

        def oldest_needed(kept: list[int]) -> int:
            if passed is None:
                return kept[-1] if restart else kept[0]
            if passed < kept[0]:
                raise ChangesGone(_what_was_missed(standing, reader, passed, kept[0]))
            return passed

        if restart and standing.first_epoch is None:
            self._cursors.forget(standing.readers_id, reader)
        elif passed is not None and not standing.is_in(passed):
            # What the reader has read is of the query as it was before: also while no epoch has run it since.
            raise QueryBegunAnew(_begun_anew(standing, reader))
        with self._unless_dropped(standing), self._held(standing, oldest_needed) as hold:
            if hold is None:
                return
            epoch = hold.epoch if passed is None else hold.epoch + 1
            while (yield from self._committed(epoch)):
                ran = self._ran(standing, epoch)
                # Before the clock has begun to move there is no instant at which anything could change.
                change = None
                if ran is not None and ran.clock > BEGINNING:
                    is_run = ran.epoch == epoch
                    if passed is None and not (is_run and standing.is_whole_first_in(ran)):
                        change = whole_answer(standing, ran)
                    elif is_run:
                        change = change_in(standing, ran)
                # A plan that others share goes on without the query.
                self._check_registered(standing)
                if change is not None:
                    yield change
                self._move(standing, reader, epoch)
                hold.move_to(epoch)
                passed, epoch = epoch, epoch + 1

    def _committed(self, epoch: int) -> Generator[None, None, bool]:
        """Returns True when an epoch is committed, and gives None until then."""
        while epoch not in (kept := self._log.epochs):
            if kept and epoch < kept[0]:
                # What a reader in another process needs cannot be held.
                raise EpochGone(
                    f"epoch {epoch} was removed before it was read; epoch {kept[0]} is the oldest kept"
                )
            yield None
        return True

    def is_over(self, standing: AnswerSource) -> bool:
        """Whether no further change can come, because the database was closed.

        Raises CatalogError when the query was dropped, and QueryBegunAnew when it was altered.
        """
        if (standing.id, standing.readers_id) in self._gone:
            self._check_registered(standing)
        return self._is_closed

    def _check_registered(self, standing: AnswerSource) -> None:
        """Raises unless the query is registered as it was when its answer was found."""
        known_by = (standing.id, standing.readers_id)
        if known_by not in self._gone and self._is_registered(*known_by):
            return
        if self._is_there(standing.readers_id):
            raise QueryBegunAnew(_begun_anew(standing))
        raise CatalogError(_dropped_while_read(standing))

    def _move(self, standing: AnswerSource, reader: str, epoch: int) -> None:
        self._check_open()
        self._cursors.move(standing.readers_id, reader, epoch)

    def _check_open(self) -> None:
        if self._is_closed:
            raise DatabaseClosed("the database is closed; connect to it again")

    def readers(self, standing: AnswerSource) -> Mapping[str, int]:
        """The readers of a query, and the last epoch that each has read."""
        return self._cursors.of_query(standing.readers_id)

    def forget(self, standing: AnswerSource, reader: str) -> None:
        """The reader was never here."""
        self._cursors.forget(standing.readers_id, reader)

    def forget_query(self, query: int, origin: int | None = None) -> None:
        """A query was dropped, and all that is known of its readers goes with it. `origin` is the id that they
        know it by, where that is another."""
        origin = query if origin is None else origin
        self._cursors.forget_query(origin)
        self.tell_gone(query, origin)

    def tell_gone(self, query: int, origin: int) -> None:
        """Tells those who wait for changes that there are none to come under an id: its query was dropped, or it
        was altered and goes on under another one."""
        self._gone.add((query, origin))
        self.bell.ring()

    def _held(
        self, standing: AnswerSource, choose: Callable[[list[int]], int]
    ) -> AbstractContextManager[Lease | None]:
        """Holds one of the epochs that are kept and in which the query has an answer; None if there are none."""

        def chosen() -> int | None:
            kept = self._kept(standing)
            return choose(kept) if kept else None

        return self._log.held(chosen)

    def _kept(self, standing: AnswerSource) -> list[int]:
        """The epochs that are kept and in which the answer of the query is whole."""
        kept = [epoch for epoch in self._log.epochs if standing.is_in(epoch)]
        if standing.whole_from == BEGINNING or not kept:
            return kept

        def clock_at(epoch: int) -> int:
            ran = self._ran(standing, epoch)
            return BEGINNING if ran is None else ran.clock

        return kept[bisect_left(kept, standing.whole_from, key=clock_at) :]

    @contextmanager
    def _unless_dropped(self, standing: AnswerSource) -> Iterator[None]:
        """Missing files are no damage when the query has been dropped while it was being read."""
        try:
            yield
        except StateError as error:
            self._check_open()
            try:
                self._check_registered(standing)
            except PanesError as gone:
                raise gone from error
            raise


def _runs(kept: Iterable[QueryProgress | None]) -> list[QueryProgress]:
    """What was done to a query up to each clock that it came to, from what the records of the epochs that are kept
    say, in their order.

    In the first epoch of a plan that replaced another the older one gave the answers, though what ran last may be
    the new one.
    """
    runs: dict[tuple[int, int], QueryProgress] = {}
    gave: dict[int, int] = {}
    for ran in kept:
        if ran is not None and gave.setdefault(ran.epoch, ran.answer.running) == ran.answer.running:
            runs.setdefault((ran.epoch, ran.clock), ran)
    return list(runs.values())


def _dropped_while_read(standing: AnswerSource) -> str:
    return f"query {standing.name!r} was dropped while it was being read"


def _begun_anew(standing: AnswerSource, reader: str | None = None) -> str:
    begun = "" if standing.first_epoch is None or reader is None else f" in epoch {standing.first_epoch}"
    who = "" if reader is None else f"reader={reader!r}, "
    return (
        f"query {standing.name!r} was altered or resumed, and its answer began anew{begun}: what was read of it "
        f"before holds no longer. changes({who}restart=True) begins anew with the whole answer"
    )


def _what_was_missed(standing: AnswerSource, reader: str, passed: int, oldest: int) -> str:
    return (
        f"reader {reader!r} of query {standing.name!r} has read up to epoch {passed}, and of what came then only "
        f"epoch {oldest} and later ones are kept, so changes are missing in between. "
        f"changes(reader={reader!r}, restart=True) begins anew with the whole answer; "
        "SET retain_epochs to a larger number to keep more from now on"
    )
