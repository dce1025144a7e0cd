"""A newcomer can follow a tuple: the walk that docs/architecture.md draws is the one that a tuple takes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from panes.answers.answer_from_segments import AnswerFromSegments
from panes.answers.open_segments import OpenSegments
from panes.delta.delta import BEGINNING, Delta
from panes.history.history_file import HistoryFile
from panes.history.query_clocks import QueryClocks
from panes.ingest.arrived_file import ArrivedFile
from panes.language import bind, parse
from panes.language.statements import SelectQuery
from panes.optimizer.optimizer import optimize
from panes.runtime.attempt import Attempt
from panes.runtime.ingest_task import Feed, FilesTask, IngestContext
from panes.runtime.job_plan import JobPlan
from panes.runtime.operator_task import OperatorTask, StatesBefore
from panes.stages.clock_rule import ClockRule, Position
from panes.stages.exchange import STATES, decoded
from panes.stages.make_plan import make_plan
from panes.stages.running_query import RunningQuery
from panes.state.buffers.chunk import Chunk
from panes.state.storage.epoch_log import EpochLog, EpochRecord, QueryProgress
from tests.base_stream import base_stream
from tests.kept_states import answer_place
from tests.language.corpus import Shelf

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "architecture.md"
STREAM = (
    "CREATE STREAM packets (ts BIGINT, src BIGINT, bytes BIGINT) TIMESTAMP BY ts SECONDS "
    "FROM FILES '/nowhere'"
)
QUERY = (
    "SELECT src, count(*) AS n FROM packets [RANGE 9 SECONDS SLIDE 1 SECOND] WHERE bytes > 100 GROUP BY src"
)
MOST_FILES, MOST_CHANGES = 30, 15
ROWS = (pa.Table, pa.RecordBatch, pa.Array, pa.ChunkedArray, np.ndarray, Delta, Chunk)
"""What rows travel in."""


def drawn_walk() -> list[str]:
    """The files of the walk, in the order of the page."""
    section = PAGE.read_text(encoding="utf-8").partition("## The walk of a tuple")[2].partition("\n## ")[0]
    return re.findall(r"^ +(\w+(?:/\w+)+\.py)", section, flags=re.MULTILINE)


@contextmanager
def traced(files: list[str]) -> Iterator[None]:
    """Notes the modules of Panes whose functions take or give rows, each when it first does."""
    root = f"{ROOT / 'panes'}/"

    def note(frame: FrameType, event: str, given: Any) -> None:
        name = frame.f_code.co_filename
        if event not in ("call", "return") or not name.startswith(root):
            return
        file = name.removeprefix(root)
        values = frame.f_locals.values() if event == "call" else [given]
        if file not in files and any(map(has_rows, list(values))):
            files.append(file)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(before)


def has_rows(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(has_rows, value))
    if isinstance(value, dict):
        return any(map(has_rows, value.values()))
    return isinstance(value, ROWS)


def test_a_walk_is_short() -> None:
    files = drawn_walk()
    packages = [file.rpartition("/")[0] for file in files]
    changes = sum(one != other for one, other in pairwise(packages))
    assert 15 <= len(files) <= MOST_FILES
    assert changes <= MOST_CHANGES


def test_a_tuple_takes_the_walk_that_is_drawn(tmp_path: Path) -> None:
    stream = base_stream(STREAM, 1)
    shelf = Shelf()
    (shelf.things["packets"],) = parse(STREAM)
    (query,) = parse(QUERY)
    assert isinstance(query, SelectQuery)
    plan = make_plan(optimize(bind(query, shelf)))
    running = RunningQuery(1, plan, 1, 0)
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"ts": [1, 2, 3], "src": [7, 8, 7], "bytes": [500, 20, 700]}), path)
    stored = {name: name for name in ("ts", "src", "bytes")}
    file = ArrivedFile(HistoryFile(path, "raw", 3, 1_000_000, 3_000_000, 0, stored=stored))
    position = Position(frozenset({1}), BEGINNING, -1, begins=True)
    rule = ClockRule(0, [stream], {}, {1: position}, 2 * 10**15, 0, 10**7, occasion="end")
    job = JobPlan([running], rule, lambda _: QueryClocks({}))
    sent = SimpleNamespace(value=job.plans)
    context = IngestContext(
        0,
        1,
        sent,
        job.values,
        tmp_path / "exchange",
        tmp_path / "rejected",
        tmp_path / "history",
        tmp_path / "tables",
        "writer",
        rule.now_us,
    )
    ingest = FilesTask(context, (Feed(stream, job.inputs_of("packets")),), (((0, file),),))
    states = StatesBefore(tmp_path / "states")
    operate = OperatorTask(
        0, sent, job.values, rule, tmp_path / "exchange", states, "a", frozenset(), is_last=True
    )
    passed: list[str] = []
    with traced(passed):
        messages = list(ingest.run(Attempt(0, 0), [pa.record_batch({"id": [0]})]))
        reports = list(operate.run(Attempt(0, 0), messages))
        assert reports[0].num_rows
        log = EpochLog(tmp_path / "epochs")
        ran = QueryProgress(
            1, 0, 0, 0, epoch=0, before=-1, since=BEGINNING, clock=3_000_000, answer=answer_place(running)
        )
        pins = {m.content["task"]: m.content["pin"] for m in decoded(reports) if m.kind == STATES}
        log.commit(EpochRecord(0, 0, 3, 0.0, 0, {}, {}, {1: ran}, states=pins))
        segments = OpenSegments(log, tmp_path / "states")
        rows = AnswerFromSegments(segments, plan.plan.schema.arrow)
        answer = rows.at(ran, 3_000_000, is_first=False)
    assert answer.to_pylist() == [{"src": 7, "n": 2}]
    assert set(drawn_walk()) - set(passed) == set(), "no row passes these files"
