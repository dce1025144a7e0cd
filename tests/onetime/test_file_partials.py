"""An aggregate that is summed file by file, while epochs bring more, is what SQL gives over the window."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from random import Random

import pytest

from panes.history.history_file import HistoryFile
from panes.language import bind, parse
from panes.language.statements import SelectQuery
from panes.onetime import file_partials as module
from panes.onetime.file_partials import FilePartials, file_partials
from panes.optimizer.optimizer import optimize
from panes.plan import nodes
from panes.testing import Oracle, same_rows
from tests.history.test_retention import Streams
from tests.onetime.kept import DECLARED, Keeper, arrived, numbered
from tests.properties.drawn import Case, Cases, explained
from tests.properties.plans import Drawing
from tests.properties.running import connection

CASES = int(os.environ.get("PANES_FILE_PARTIALS_CASES", "8"))
DEFINED = "CREATE STREAM s (ts BIGINT, k BIGINT, v DOUBLE) TIMESTAMP BY ts MICROSECONDS"


def aggregate(drawing: Drawing) -> nodes.Node:
    """A plan that is summed file by file."""
    while True:
        child: nodes.Node = nodes.Window(drawing.stream(), drawing.spec())
        for wrap in drawing.some([drawing.select, drawing.project], 0, 2):
            child = wrap(child)
        plan = drawing.grouped(child)
        plan = drawing.select(plan) if drawing.one_in(3) else plan
        plan = drawing.first_rows(plan) if drawing.one_in(4) else plan
        if file_partials(optimize(plan), DECLARED) is not None:
            return plan


def check(case: Case) -> None:
    random = Random(case.arrivals.clocks[-1])
    with tempfile.TemporaryDirectory() as folder:
        keeper = Keeper(Path(folder), random)
        oracle = Oracle(arrived(case.arrivals), connection())
        records = keeper.keep_all(case.arrivals)
        partials = file_partials(optimize(case.plan), DECLARED)
        assert partials is not None
        number, epoch = partials.stream.number, records[0].epoch
        files = list(keeper.history.at(number, epoch).files)
        for record in records:
            files += keeper.history.brought(number, epoch, record.epoch)
            epoch = record.epoch
            # Some of what is to be read when the next epoch comes is not read yet.
            left = random.randint(0, 2) if record is not records[-1] else 0
            while len(unread := partials.unread(files, record.clock)) > left:
                partials.read(unread[0], record.clock)
            if not unread:
                difference = same_rows(partials.answer(), oracle.answer_at(case.plan, record.clock))
                assert difference is None, f"at {record.clock}: {difference}"


@pytest.mark.parametrize("out_of_order", [False, True], ids=["in order", "early and late"])
def test_answer_is_that_of_the_oracle_however_epochs_come_between(out_of_order: bool) -> None:
    cases = Cases(plan=aggregate, out_of_order=out_of_order)
    for number in range(CASES):
        explained(check, cases.draw(bytes([out_of_order, number, number // 256])))


def plan_of(sql: str) -> nodes.Node:
    (query,) = parse(sql)
    assert isinstance(query, SelectQuery)
    return optimize(bind(query, Streams(DEFINED)))


def partials_of(sql: str) -> FilePartials:
    found = file_partials(plan_of(sql), numbered(parse(DEFINED)))
    assert found is not None
    return found


def file(number: int, first: int, last: int) -> HistoryFile:
    return HistoryFile(Path(f"{number}"), "written", 1, first, last, number)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> FilePartials:
    """Partials that note which files they read, and read none."""

    def read(self: FilePartials, file: HistoryFile, now: int) -> None:
        bounds = self.bounds(now)
        self._read[file.path] = module._Read(None, bounds, bounds.holds_all(file))
        self.files_read += 1

    monkeypatch.setattr(FilePartials, "read", read)
    return partials_of("SELECT k, count(*) AS n FROM s [RANGE 10 MICROSECONDS] GROUP BY k")


def read_all(partials: FilePartials, files: list[HistoryFile], now: int) -> list[str]:
    order = []
    while unread := partials.unread(files, now):
        partials.read(unread[0], now)
        order.append(unread[0].path.name)
    return order


def test_the_file_that_leaves_last_is_read_first(counted: FilePartials) -> None:
    #  1  2  3  4  5  6  7  8  9 10 11 12
    #  1-----)  2-----)  3-----)  4-----)     now 12: file 1 is half out
    files = [file(1, 1, 3), file(2, 4, 6), file(3, 7, 9), file(4, 10, 12)]
    assert read_all(counted, files, 12) == ["4", "3", "2", "1"]


def test_when_the_window_moves_only_new_files_and_those_at_its_ends_are_read(counted: FilePartials) -> None:
    files = [file(1, 1, 3), file(2, 4, 6), file(3, 7, 9), file(4, 10, 12)]
    read_all(counted, files, 12)
    files.append(file(5, 13, 15))
    # File 1 has left, and file 2 is in the window as a whole as before: [6, 15] has but its last instant.
    assert read_all(counted, files, 13) == ["5"]
    assert read_all(counted, files, 15) == ["5", "2"]


def test_what_is_not_one_aggregate_over_one_time_window_is_not_summed_by_file() -> None:
    for sql in (
        "SELECT k FROM s [RANGE 10 MICROSECONDS]",
        "SELECT count(*) AS n FROM s [ROWS 10]",
        "SELECT count(*) AS n FROM s [RANGE 9 MICROSECONDS] AS a, s [RANGE 9 MICROSECONDS] AS b WHERE a.k = b.k",
        "SELECT count(*) AS n FROM (SELECT DISTINCT k FROM s [RANGE 9 MICROSECONDS])",
        "SELECT approx_count_distinct(k) AS n FROM s [RANGE 9 MICROSECONDS]",
        "SELECT count(*) AS n FROM s BEGIN (NOW - INTERVAL 10 SECONDS) END (NOW)",
    ):
        assert file_partials(plan_of(sql), numbered(parse(DEFINED))) is None, sql
