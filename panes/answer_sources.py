"""Where the answer of each registered query is to be read."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from panes.answers.answer_from_matches import AnswerFromMatches
from panes.answers.answer_from_refreshes import AnswerFromRefreshes
from panes.answers.answer_from_segments import AnswerFromSegments
from panes.answers.answer_from_synopsis import AnswerFromSynopsis
from panes.answers.answer_from_timed import AnswerFromTimed
from panes.answers.answer_index import AnswerIndex
from panes.answers.answer_source import AnswerSource
from panes.answers.instants import whole_from
from panes.answers.readers import Readers
from panes.catalog import Catalog, QueryRecord
from panes.delta.delta import BEGINNING
from panes.errors import CatalogError
from panes.plan.nodes import Node, Synopsis
from panes.plan.order_of_answer import relation_of
from panes.registered import Registered
from panes.sharing.begin_end_aggregate import begin_end_aggregate_of
from panes.sharing.joined_aggregate import JoinedAggregate, joined_aggregate_of
from panes.sharing.pair_reading import pair_reading_of
from panes.sharing.selection import selection_of
from panes.sharing.windowed_aggregate import WindowedAggregate, windowed_aggregate_of
from panes.state.storage.epoch_log import EpochRecord


class AnswerSources:
    """Found once per query, and again when it begins anew."""

    def __init__(self, catalog: Catalog, registered: Registered, readers: Readers) -> None:
        self._catalog = catalog
        self._registered = registered
        self._readers = readers
        self._known: dict[int, tuple[int, AnswerSource]] = {}
        """By query, with the number of the plan that it is read from: bits of signatures go by plans."""

    def of(self, record: QueryRecord) -> AnswerSource:
        """Where the answer of a query is."""
        number, known = self._known.get(record.origin, (record.plan_number, None))
        is_same = known is not None and (known.id, known.first_epoch) == (record.id, record.first_epoch)
        if known is None or not is_same or number != record.plan_number:
            known = self._find(record)
            streams = {stream.number: stream.name for stream in self._catalog.base_streams()}
            complete = partial(self._readers.complete_from, record.id, known.plan, streams)
            boxed = self._registered.physical_plan(record).plan
            kept = partial(self._readers.kept, record.running, boxed, streams)
            known = replace(known, origin=record.origin, complete_from=complete, kept=kept)
            self._known[record.origin] = record.plan_number, known
        return known

    def is_behind(self, source: AnswerSource, latest: EpochRecord) -> bool:
        """Whether a query has no answer of its own yet, but the history has."""
        ran = source.ran_by(latest)
        return ran is None or ran.clock < source.whole_from

    def forget(self) -> None:
        """Finds all of them anew: to be called when queries are dropped."""
        self._known.clear()

    def _find(self, record: QueryRecord) -> AnswerSource:
        plan = self._registered.plan_of(record)
        if record.answers.is_asked_anew:
            raise CatalogError(
                f"query {record.name!r} is asked of the history when it is invoked ({record.answers.reason}): "
                "there are no changes to follow in between"
            )
        source = partial(AnswerSource, record.id, record.name, plan)
        running, first = record.running, record.first_epoch
        reading = None if record.group is None else selection_of(plan) or pair_reading_of(plan)
        every_instant = record.settings.changes == "instant"
        aggregate = self._synopsis_reading(record, plan)
        is_refreshed = self._registered.refreshed_panes(record) is not None
        if is_refreshed and aggregate is not None:
            stored = AnswerFromRefreshes(self._readers.segments, record.id, aggregate)
            return source(stored, running, first, is_refreshed=True)
        if aggregate is not None:
            return source(AnswerFromSynopsis(self._readers.segments, aggregate), running, first)
        if reading is not None:
            chosen = AnswerFromMatches(self._readers.stores, record.id, reading)
            return source(chosen, running, first, every_instant=every_instant)
        timed = None if record.group is None else begin_end_aggregate_of(plan)
        if timed is not None:
            return source(AnswerFromTimed(self._readers.stores, timed), running, first)
        # What is kept may have columns that are not shown.
        kept = plan if record.group is not None else self._registered.physical_plan(record).plan
        rows = AnswerFromSegments(
            self._readers.segments,
            relation_of(kept).schema.arrow,
            member=None if record.group is None else record.id,
        )
        if record.group is None:
            index = AnswerIndex.of(record.settings)
            by = () if index is None else index.columns
            return source(rows, running, first, every_instant=every_instant, index=by)
        nothing = self._registered.group(record.group, plan).template.of_nothing
        # What a new query of a group has of the past is seen from the next slide on.
        clock = BEGINNING if record.first_clock is None else record.first_clock
        return source(
            rows,
            running,
            first,
            of_nothing=nothing if nothing.num_rows else None,
            whole_from=whole_from(plan, clock) if clock > BEGINNING else BEGINNING,
            every_instant=every_instant,
        )

    def _synopsis_reading(
        self, record: QueryRecord, plan: Node
    ) -> WindowedAggregate | JoinedAggregate | None:
        """What a query reads of the synopsis that its group shares; None when that shares something else."""
        if record.group is None or self._registered.group(record.group, plan).template.source is None:
            return None
        reading = windowed_aggregate_of(plan)
        if reading is None:
            return joined_aggregate_of(plan)
        synopsis = self._registered.physical_plan(record).plan
        assert isinstance(synopsis, Synopsis), "aggregates over one stream share panes"
        return reading.over(synopsis)
