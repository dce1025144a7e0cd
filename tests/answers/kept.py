"""Epochs made by hand: plans run over spans, their states, answers and changes kept as the pipeline keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from panes.answers.answer_from_segments import AnswerFromSegments
from panes.answers.answer_index import AnswerIndex
from panes.answers.answer_source import AnswerSource
from panes.answers.answer_store import changes_chunk
from panes.answers.cursors import Cursors
from panes.answers.indexed_answer import answer_store
from panes.answers.readers import Readers
from panes.delta.delta import BEGINNING
from panes.operators.drop_box import DropBox
from panes.operators.lower import lower
from panes.plan.box_schedule import BoxSchedule
from panes.plan.nodes import Node
from panes.state.storage.collect_states import StateCollector
from panes.state.storage.epoch_log import NOTHING, EpochLog, EpochRecord, QueryProgress
from panes.state.storage.manifest import ANSWER, CHANGES
from tests.kept_states import STAGE, KeptStates

QUERY_ID = STAGE.running


class Kept:
    """A database of one query, moved on epoch by epoch."""

    def __init__(
        self,
        folder: Path,
        plan: Node,
        *,
        strategy: str = "upa",
        shards: int = 1,
        first_epoch: int = 0,
        since: int = BEGINNING,
        every_instant: bool = False,
        shown: Node | None = None,
        boxes: Mapping[int, BoxSchedule] | None = None,
        streams: Mapping[int, str] | None = None,
        index: AnswerIndex | None = None,
    ) -> None:
        """`shown` is the plan without its drop boxes, if it has any, `boxes` what these keep, by the number of the
        stream, and `streams` the names of these."""
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.plan = plan
        self.shown = plan if shown is None else shown
        self.boxes = boxes or {}
        self.streams = streams or {}
        self.index = index
        self.strategy = strategy
        self.shards = shards
        self.every_instant = every_instant
        self.first_epoch = first_epoch
        self.dropped = False
        folder.mkdir(parents=True, exist_ok=True)
        self.log = EpochLog(folder / "epochs")
        self.states = KeptStates(folder / "states", shards=shards)
        latest = self.log.latest()
        self.states.pins = {} if latest is None else dict(latest.states)
        self.collector = StateCollector(folder / "states", self.log)
        places = Cursors(folder / "readers.sqlite")
        self.readers = Readers(self.log, folder / "states", places, lambda *_: not self.dropped)
        if first_epoch:
            self.log.commit(self._record(first_epoch - 1, BEGINNING, since))

    @property
    def standing(self) -> AnswerSource:
        rows = AnswerFromSegments(self.readers.segments, self.plan.schema.arrow)
        return AnswerSource(
            QUERY_ID,
            "q",
            self.shown,
            rows,
            QUERY_ID,
            self.first_epoch,
            every_instant=self.every_instant,
            kept=partial(self.readers.kept, QUERY_ID, self.plan, self.streams),
            index=() if self.index is None else self.index.columns,
        )

    def epoch(self, arrivals: Mapping[str, pa.Table], clock: int, *, history: bool = False) -> int:
        """One epoch: the rows of each stream are dealt out to the shards in turn. Gives its number.

        With `history` the query goes through time from the beginning, though the epoch does not.
        """
        last_epoch, since = self.position
        epoch = last_epoch + 1
        saved = []
        for shard in range(self.shards):
            dataflow = lower(self.plan, strategy=self.strategy, every_instant=self.every_instant)
            for operator in dataflow.operators:
                if isinstance(operator, DropBox):
                    numbers = {name: number for number, name in self.streams.items()}
                    operator.schedule = self.boxes[numbers[operator.node.stream]]
            for name, buffer in dataflow.buffers.items():
                buffer.restore(self.states.chunks(name, shard))
            answer = answer_store(self.index, self.states.chunks(ANSWER, shard))
            mine = {
                name: rows.filter(pa.array(np.arange(rows.num_rows) % self.shards == shard))
                for name, rows in arrivals.items()
                if name in dataflow.inputs
            }
            delta = dataflow.process(mine, BEGINNING if history else since, clock)
            answer.apply(delta)
            chunks = {name: buffer.chunks for name, buffer in dataflow.buffers.items()}
            saved.append(chunks | {ANSWER: answer.chunks, CHANGES: changes_chunk(delta)})
        states = self.states.save(epoch, *saved)
        self.log.commit(replace(self._record(epoch, since, clock), **states))
        return epoch

    @property
    def position(self) -> tuple[int, int]:
        """The last epoch and its clock."""
        latest = self.log.latest()
        return (-1, BEGINNING) if latest is None else (latest.epoch, latest.queries[QUERY_ID].clock)

    def _record(self, epoch: int, since: int, clock: int) -> EpochRecord:
        before = -1 if epoch == self.first_epoch else epoch - 1
        spread = {"spread": self.shards, "spread_before": self.shards, "answer": STAGE}
        ran = QueryProgress(
            self.shards, 0, 0, 0, epoch=epoch, before=before, since=since, clock=clock, **spread
        )
        return replace(NOTHING, epoch=epoch, queries={QUERY_ID: ran}, boxes={QUERY_ID: self.boxes})

    def collect(self, retain_epochs: int) -> None:
        latest = self.log.latest()
        assert latest is not None
        oldest = self.log.holds.release_before(latest.epoch - retain_epochs)
        self.collector.collect(oldest, latest.epoch)

    def reopened(self) -> Kept:
        """The same after the process has ended."""
        self.readers.close()
        again = Kept(self.folder, self.plan, strategy=self.strategy, shards=self.shards)
        again.first_epoch = self.first_epoch
        return again
