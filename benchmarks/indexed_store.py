"""An answer that is kept in segments, epoch by epoch, and read as readers do; no query computes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from panes.answers.answer_from_segments import AnswerFromSegments
from panes.answers.answer_index import AnswerIndex
from panes.answers.answer_source import AnswerSource
from panes.answers.indexed_answer import IndexedAnswer, answer_store
from panes.answers.memory_cursors import MemoryCursors
from panes.answers.readers import Readers
from panes.delta.delta import BEGINNING, Delta
from panes.plan.nodes import StreamScan
from panes.plan.schema import Schema
from panes.state.storage.collect_states import StateCollector
from panes.state.storage.epoch_log import NOTHING, EpochLog, EpochRecord, QueryProgress
from panes.state.storage.manifest import ANSWER
from tests.kept_states import STAGE, KeptStates


class IndexedStore:
    """The answer of one query on one shard, whose rows come as they are given."""

    def __init__(self, folder: Path, schema: Schema, index: AnswerIndex | None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._index = index
        self._schema = schema
        self._log = EpochLog(folder / "epochs")
        self._states = KeptStates(folder / "states")
        self._collector = StateCollector(folder / "states", self._log)
        self._readers = Readers(self._log, folder / "states", MemoryCursors(), lambda _query, _origin: True)
        self._clock, self._epoch = BEGINNING, -1
        self.written_bytes = 0
        """By the last epoch."""
        self.touched_cells = 0

    def apply(self, rows: pa.Table, clock: int) -> None:
        """An epoch that brings rows, with their times of coming and leaving, and ends at a clock."""
        self.commit(self.write(rows, clock), clock)

    def write(self, rows: pa.Table, clock: int) -> dict[str, Any]:
        """What a task does in an epoch; gives what the driver is to commit."""
        answer = answer_store(self._index, self._states.chunks(ANSWER))
        answer.apply(Delta(rows, clock))
        before = self._states.manifest()
        known = set() if before is None else {entry.name for entry in before.entries}
        states = self._states.save(self._epoch + 1, {ANSWER: answer.chunks})
        after = self._states.manifest()
        assert after is not None
        self.written_bytes = sum(entry.bytes for entry in after.entries if entry.name not in known)
        self.touched_cells = answer.touched_cells if isinstance(answer, IndexedAnswer) else 0
        return states

    def commit(self, states: dict[str, Any], clock: int) -> None:
        """What the driver does at the end of an epoch."""
        self._epoch += 1
        self._states.pins = dict(states["states"])  # the record keeps its own
        self._log.commit(replace(self._record(clock), **states))
        self._clock = clock
        oldest = self._log.holds.release_before(self._epoch - 2)
        self._collector.collect(oldest, self._epoch)

    def go_on(self, states: dict[str, str], epoch: int) -> None:
        """Begins with what another process has written up to an epoch, for `write` alone."""
        self._states.pins, self._epoch = dict(states), epoch

    @property
    def place(self) -> tuple[dict[str, str], int]:
        """What `go_on` takes."""
        return self._states.pins, self._epoch

    @property
    def source(self) -> AnswerSource:
        """Where readers find the answer."""
        plan = StreamScan("s", "s", self._schema)
        rows = AnswerFromSegments(self._readers.segments, self._schema.arrow)
        by = () if self._index is None else self._index.columns
        return AnswerSource(STAGE.running, "q", plan, rows, STAGE.running, 0, index=by)

    @property
    def readers(self) -> Readers:
        return self._readers

    @property
    def chunks(self) -> int:
        """The number of segments of the answer."""
        return len(self._states.chunks(ANSWER))

    def close(self) -> None:
        self._readers.close()

    def _record(self, clock: int) -> EpochRecord:
        ran = QueryProgress(
            1, 0, 0, 0, epoch=self._epoch, before=self._epoch - 1, since=self._clock, clock=clock,
            spread=1, spread_before=1, answer=STAGE,
        )  # fmt: skip
        return replace(NOTHING, epoch=self._epoch, queries={STAGE.running: ran})
