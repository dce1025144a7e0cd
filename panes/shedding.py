"""Setting and lifting the drop boxes of queries while a background run goes on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass

from panes.catalog import Catalog, QueryRecord
from panes.config import AUTO
from panes.optimizer.shedding.controller import Controller, EpochLoad, Sheddable
from panes.optimizer.shedding.posynomial import Box, Posynomial
from panes.optimizer.shedding.shares_of_plan import SharesOfPlan, shares_of_plan
from panes.optimizer.statistics import Statistics
from panes.plan.box_schedule import BoxSchedule
from panes.plan.nodes import Node, Window
from panes.plan.walk import walk
from panes.plan.windows import BEGINNING, RangeWindow
from panes.registered import Registered
from panes.running_queries import RunningQueries
from panes.stages.physical_plan import PhysicalPlan
from panes.state.storage.epoch_log import EpochRecord

_FITTED_FOR = 30
"""The number of epochs for which the functions of a plan are used again: they take up to some hundred
milliseconds, and what is measured scales them anyway."""
_WINDOWS_S = 60.0
"""The most seconds for which lifting waits until windows have filled."""


@dataclass(frozen=True)
class _Shedder:
    """A query that may shed, with its plan."""

    record: QueryRecord
    plan: PhysicalPlan
    streams: tuple[str, ...]
    """Those that it has boxes on."""

    def boxes(self) -> Iterator[tuple[Box, str]]:
        return (((self.record.id, stream), stream) for stream in self.streams)


class Shedding:
    """Looks at each epoch of a background run, once it is committed, and sets what drop boxes keep in the next.

    What it knows is in memory: boxes themselves are in the records of epochs. After a crash they stay as they were
    until enough epochs were seen again. A run over what sources hold now drops nothing: it may take its time.
    """

    def __init__(
        self,
        catalog: Catalog,
        registered: Registered,
        running: RunningQueries,
        statistics: Callable[[], Statistics],
    ) -> None:
        self._catalog = catalog
        self._registered = registered
        self._running = running
        self._statistics = statistics
        self._controller = Controller()
        self._before: EpochRecord | None = None
        """The record of the epoch before, in this run."""
        self._fitted: dict[int, tuple[int, SharesOfPlan]] = {}
        """By the number of the plan: when its functions were made, and these."""
        self._failure = ""

    @property
    def problem(self) -> str:
        """Why answers fall behind in spite of drop boxes; empty when they do not."""
        return self._failure or self._controller.problem

    def begin(self, latest: EpochRecord | None, *, is_live: bool) -> None:
        """Begins a run after an epoch; one that is not live keeps everything."""
        self._controller = Controller()
        self._before = None
        if latest is not None and not is_live:
            lifted = {query: dict.fromkeys(boxes, 1.0) for query, boxes in latest.boxes.items()}
            self._running.set_shares(latest, lifted)

    def after(self, record: EpochRecord) -> None:
        """Decides, after an epoch is committed, what drop boxes keep in the next one."""
        before, self._before = self._before, record
        if before is None or before.epoch >= record.epoch:
            return
        shedders = list(self._shedders())
        self._failure = ""
        if not shedders:
            self._controller.problem = ""
            return
        try:
            shares = self._decided(before, record, shedders)
        except Exception as error:  # a decision that fails must not end the run: boxes stay as they are
            self._failure = f"no drop box could be set: {error}"
            return
        if shares is not None:
            self._running.set_shares(record, shares)

    def _decided(
        self, before: EpochRecord, record: EpochRecord, shedders: list[_Shedder]
    ) -> dict[int, dict[int, float]] | None:
        numbers = {stream.name: stream.number for stream in self._catalog.base_streams()}
        kept = {
            box: record.boxes.get(shedder.record.id, {}).get(numbers[stream], BoxSchedule()).share
            for shedder in shedders
            for box, stream in shedder.boxes()
        }
        decided = self._controller.after(
            _load(before, record, self._catalog.marks.cores or 1),
            kept,
            self._allowed(),
            min(_WINDOWS_S, max(_longest_window(shedder.plan.plan) for shedder in shedders)),
            lambda: self._sheddable(record.epoch, shedders),
        )
        if decided is None:
            return None
        return {
            shedder.record.id: {numbers[stream]: decided[box] for box, stream in shedder.boxes()}
            for shedder in shedders
        }

    def _shedders(self) -> Iterator[_Shedder]:
        for record in self._running.alone:
            if record.settings.shed != AUTO:
                continue
            plan = self._registered.physical_plan(record)
            inputs = (source for stage in plan.stages for source in stage.inputs if source.has_drop_box)
            streams = {source.stream for source in inputs if source.stream is not None}
            if streams:
                yield _Shedder(record, plan, tuple(sorted(streams)))

    def _allowed(self) -> float:
        """The share of the machine that queries may keep busy."""
        capacity = self._catalog.setting("capacity")
        return (1.0 if capacity == AUTO else float(capacity)) * float(self._catalog.setting("headroom"))

    def _sheddable(self, epoch: int, shedders: list[_Shedder]) -> Sheddable:
        fitted = {shedder.record.id: self._functions(epoch, shedder) for shedder in shedders}
        # Streams are read once, before all boxes; queries that do not shed keep everything.
        others = self._registered.cost_of_rows(without={s.record.plan_number for s in shedders})
        outputs: dict[Hashable, Posynomial] = {query: found.output for query, found in fitted.items()}
        priorities: Mapping[Hashable, float] = {s.record.id: s.record.settings.priority for s in shedders}
        return Sheddable(
            Posynomial.sum(found.cost for found in fitted.values()) + others, outputs, priorities
        )

    def _functions(self, epoch: int, shedder: _Shedder) -> SharesOfPlan:
        number = shedder.record.plan_number
        made, found = self._fitted.get(number, (-_FITTED_FOR, None))
        if found is None or epoch - made >= _FITTED_FOR:
            shards = shedder.record.shards or self._catalog.marks.cores or 1
            found = shares_of_plan(shedder.record.id, shedder.plan, self._statistics(), shards)
            running = {record.plan_number for record in self._running.alone}
            self._fitted = {plan: known for plan, known in self._fitted.items() if plan in running}
            self._fitted[number] = epoch, found
        return found


def _load(before: EpochRecord, record: EpochRecord, cores: int) -> EpochLoad:
    """What an epoch tells of the load."""
    newest, newest_before = _newest(record), _newest(before)
    is_known = newest_before > BEGINNING
    return EpochLoad(
        record.seconds,
        (newest - newest_before) / 1e6 if is_known else 0.0,
        _began(record) - _began(before),
        record.finished_us / 1e6 - newest / 1e6 if is_known else 0.0,
        rows=record.rows,
        busy=record.cpu_seconds / cores,
    )


def _newest(record: EpochRecord) -> int:
    return max((stream.max_ts for stream in record.streams.values()), default=BEGINNING)


def _began(record: EpochRecord) -> float:
    """Seconds of wall time."""
    return record.finished_us / 1e6 - record.seconds


def _longest_window(plan: Node) -> float:
    """Seconds of the longest window in RANGE."""
    windows = (node.spec for node in walk(plan) if isinstance(node, Window))
    return max((spec.range_us / 1e6 for spec in windows if isinstance(spec, RangeWindow)), default=0.0)
