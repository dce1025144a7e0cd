"""A query that is asked once gets what SQL gives over the windows, from whatever files the history has."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from random import Random

import pytest

from panes.onetime.answer_once import answer_once
from panes.onetime.replay_history import replay
from panes.optimizer.optimizer import optimize
from panes.plan import nodes
from panes.plan.windows import BeginEndWindow
from panes.testing import Oracle, same_rows
from tests.onetime.kept import DECLARED, DrawnTables, Keeper, arrived, clocks_of
from tests.properties.drawn import Case, Cases, explained
from tests.properties.plans import Drawing
from tests.properties.running import connection

ROUNDS = int(os.environ.get("PANES_ONETIME_ROUNDS", "2"))
PER_ROUND = 10


def check(case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        keeper = Keeper(Path(folder), Random(case.arrivals.clocks[-1]))
        oracle = Oracle(arrived(case.arrivals), connection())
        records = keeper.keep_all(case.arrivals)
        # Earlier epochs too: a reader of one is not disturbed by what came and was merged since.
        for record in records:
            answer = answer_once(
                optimize(case.plan),
                DECLARED,
                keeper.history,
                record.epoch,
                record.clock,
                clocks_of(records),
                DrawnTables(case.arrivals),
            )
            difference = same_rows(answer.table, oracle.answer_at(case.plan, record.clock))
            assert difference is None, f"at {record.clock}: {difference}"
            assert answer.table.schema == case.plan.schema.arrow


def check_replay(case: Case) -> None:
    """What is done for windows over output streams is right for all others, too."""
    with tempfile.TemporaryDirectory() as folder:
        keeper = Keeper(Path(folder), Random(case.arrivals.clocks[-1]))
        oracle = Oracle(arrived(case.arrivals), connection())
        records = keeper.keep_all(case.arrivals)
        last = records[-1]
        clocks, tables = clocks_of(records), DrawnTables(case.arrivals)
        table = replay(case.plan, DECLARED, keeper.history, last.epoch, last.clock, clocks, tables)
        difference = same_rows(table, oracle.answer_at(case.plan, last.clock))
        assert difference is None, f"at {last.clock}: {difference}"


def begin_end(drawing: Drawing) -> nodes.Node:
    """A plan whose windows are one snapshot, landmark or sliding window."""
    ends = drawing.choose(
        [
            BeginEndWindow(-drawing.random.randint(0, 20), True, 0, True),
            BeginEndWindow(-15, True, -drawing.random.randint(0, 15), True),
            BeginEndWindow(drawing.random.randint(0, 30), False, 0, True),
            BeginEndWindow(5, False, drawing.random.randint(5, 40), False),
        ]
    )
    return _with_window(drawing.relation(drawing.random.randint(0, 3)), ends)


def _with_window(node: nodes.Node, spec: BeginEndWindow) -> nodes.Node:
    if isinstance(node, nodes.Window):
        return nodes.Window(node.child, spec)
    return nodes.with_children(node, *(_with_window(child, spec) for child in node.children))


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize(
    "cases",
    [Cases(), Cases(out_of_order=True), Cases(plan=begin_end, out_of_order=True)],
    ids=["in order", "early and late", "begin and end"],
)
def test_answer_is_that_of_the_oracle_at_every_epoch(cases: Cases, seed: int) -> None:
    for number in range(PER_ROUND):
        explained(check, cases.draw(bytes([seed, number])))


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_replaying_the_history_gives_the_same(seed: int) -> None:
    for number in range(PER_ROUND):
        explained(check_replay, Cases(out_of_order=True).draw(bytes([seed, number, 1])))
