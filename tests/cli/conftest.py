"""A database that needs no Spark, for tests of what the commands do around it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from rich.console import Console

import panes
from panes.answers.answer import Answer
from panes.errors import PanesWarning, SqlError
from panes.run_report import RunReport
from panes.state.storage.epoch_log import StreamProgress
from panes.status import Epoch

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class FakeStatus:
    epoch: int = 7
    epoch_seconds: float = 0.5
    clock: datetime | None = NOON
    rows: int = 35_000
    rows_per_second: float = 5000.0
    lag_seconds: float | None = 0.4
    state_bytes: int = 1_500_000
    kept: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    streams: Mapping[str, StreamProgress] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)


@dataclass
class FakeQuery:
    name: str
    sql: str
    table: pa.Table

    levels: list[str | None] = field(default_factory=list)

    def invoke(self, isolation: str | None = None) -> Answer:
        self.levels.append(isolation)
        return Answer(NOON, self.table)


@dataclass
class FakeDatabase:
    """Notes what is asked of it; every query has the same answer, and 'wrong' is not understood."""

    table: pa.Table
    calls: list[str] = field(default_factory=list)
    registered: dict[str, FakeQuery] = field(default_factory=dict)
    results: dict[str, object] = field(default_factory=dict)
    on_status: Callable[[], None] = lambda: None
    streams: dict[str, StreamProgress] = field(default_factory=dict)
    """What the streams have brought, after a run."""

    def _base_streams(self) -> dict[str, object]:
        return {}

    def queries(self) -> list[FakeQuery]:
        return list(self.registered.values())

    levels: dict[str, str] = field(default_factory=dict)
    """The isolation levels that statements were given."""

    def sql(self, text: str, *, isolation: str | None = None) -> object:
        self.calls.append(text.strip())
        if isolation is not None:
            self.levels[text.strip()] = isolation
        words = text.split()
        if "wrong" in words:
            raise SqlError("this is wrong", sql=text, line=1, column=text.index("wrong") + 1)
        if words[:2] == ["CREATE", "QUERY"]:
            return self.register(text, name=words[2])
        if words[0] == "INVOKE":
            return self.registered[words[1]].invoke()
        return self.results.get(text.strip())

    def register(self, sql: str, name: str) -> FakeQuery:
        self.registered[name] = FakeQuery(name, sql, self.table)
        return self.registered[name]

    def query(self, name: str) -> FakeQuery:
        return self.registered[name]

    def status(self) -> FakeStatus:
        self.on_status()
        return FakeStatus(streams=self.streams if {"run()", "stop()"} & set(self.calls) else {})

    def run(
        self, on_epoch: Callable[[Epoch], None] | None = None, *, progress: Console | bool | None = None
    ) -> RunReport:
        assert progress is False, "tests have no terminal"
        self.calls.append("run()")
        if on_epoch:
            on_epoch(Epoch(number=0, clock=NOON, rows=12, seconds=0.5))
        late = {name: progress.late for name, progress in self.streams.items() if progress.late}
        report = RunReport(rows=12, epochs=1, late=late)
        if not report.is_complete:
            warnings.warn(report.problem, PanesWarning, stacklevel=2)
        return report

    def start(self) -> None:
        self.calls.append("start()")

    def stop(self) -> None:
        self.calls.append("stop()")

    def close(self) -> None:
        self.calls.append("close()")


@pytest.fixture
def db(monkeypatch: pytest.MonkeyPatch) -> FakeDatabase:
    """The database that every command of the test connects to."""
    columns = {"src": [7, 4], "dst": [1, 2], "proto": ["tcp", "udp"], "link": [0, 1], "packets": [30, 50]}
    sizes = {name: [900, 1400] for name in ("bytes", "bytes0", "bytes1", "total", "bill")}
    fake = FakeDatabase(pa.table({**columns, **sizes}))
    monkeypatch.setattr(panes, "connect", lambda _path: fake, raising=False)
    return fake
