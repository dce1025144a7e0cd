"""An answer of one epoch and the changes since give the answer of a later one."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from panes.answers.add_changes import add_changes, can_add_changes
from panes.answers.answer import Answer
from panes.answers.changes import Change
from panes.plan import nodes
from panes.plan.expressions import Column
from panes.plan.schema import Field, Schema
from panes.plan.sort_key import SortKey
from panes.plan.types import BIGINT
from panes.plan.windows import RangeWindow
from panes.testing import same_rows
from tests.answers.kept import Kept
from tests.properties.drawn import Case, Cases, explained
from tests.properties.plans import Drawing
from tests.properties.streams import COLUMNS

CASES = int(os.environ.get("PANES_ADD_CHANGES_CASES", "10"))


def check(case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        kept = Kept(Path(folder), case.plan, shards=1)
        read: list[Answer] = []
        for came, _, clock in case.arrivals.spans():
            kept.epoch(
                {name: rows for name, rows in came.items() if name not in case.arrivals.relations}, clock
            )
            read.append(kept.readers.invoke(kept.standing))
        last = read[-1]
        for earlier in read:
            assert last.epoch is not None
            brought = kept.readers.caught_up(kept.standing, earlier, last.epoch)
            difference = same_rows(brought.table, last.table)
            assert difference is None, f"from epoch {earlier.epoch}: {difference}"
            assert (brought.epoch, brought.as_of) == (last.epoch, last.as_of)
        kept.readers.close()


def of_streams(drawing: Drawing) -> nodes.Node:
    while True:
        plan = drawing.relation(drawing.random.randint(0, 2))
        if not any(isinstance(node, nodes.TableScan) for node in _walk(plan)):
            return plan


def _walk(node: nodes.Node) -> list[nodes.Node]:
    return [node, *(below for child in node.children for below in _walk(child))]


@pytest.mark.parametrize("out_of_order", [False, True], ids=["in order", "early and late"])
def test_an_answer_that_was_overtaken_is_brought_forward(out_of_order: bool) -> None:
    for number in range(CASES):
        explained(check, Cases(plan=of_streams, out_of_order=out_of_order).draw(bytes([7, number])))


SCAN = nodes.StreamScan("s", "s", Schema(tuple(Field(f"s.{f.name}", f.type) for f in COLUMNS)))
ROWS = nodes.Window(SCAN, RangeWindow(10))
AS_OF = datetime(2026, 1, 5, tzinfo=UTC)


def change(*rows: tuple[int, str, int]) -> Change:
    """A change of the rows (k, w), each with its weight."""
    k, w, weight = zip(*rows, strict=True)
    columns = {"s.k": pa.array(k, pa.int64()), "s.w": w, "_at": pa.nulls(len(k), pa.int64())}
    return Change(1, AS_OF, pa.table(columns | {"_weight": weight}))


def pairs(answer: Answer) -> list[tuple[int, str]]:
    return [(row["s.k"], row["s.w"]) for row in answer.to_pylist()]


BEFORE = Answer(None, pa.table({"s.k": pa.array([1, 1, 2, None], pa.int64()), "s.w": ["a", "a", "b", "c"]}))


def test_each_copy_of_a_row_goes_by_itself() -> None:
    after = add_changes(
        ROWS, BEFORE, [change((1, "a", -1), (None, "c", -1)), change((1, "b", 2), (2, "b", -1))]
    )
    assert sorted(pairs(after)) == [(1, "a"), (1, "b"), (1, "b")]
    assert after.as_of == AS_OF


def test_what_comes_and_goes_in_between_changes_nothing() -> None:
    after = add_changes(ROWS, BEFORE, [change((3, "x", 1)), change((3, "x", -1), (4, "y", 1))])
    assert pairs(after) == [*pairs(BEFORE), (4, "y")]


def test_rows_are_in_their_order_again() -> None:
    plan = nodes.OrderBy(ROWS, (SortKey("s.k", descending=True),))
    after = add_changes(plan, BEFORE, [change((5, "x", 1), (0, "y", 1))])
    assert [k for k, _ in pairs(after)] == [5, 2, 1, 1, 0, None]


def test_rows_that_are_sorted_by_what_is_not_shown_are_read_anew() -> None:
    columns = (("k", Column(BIGINT, "s.k")), (f"{nodes.HIDDEN}1", Column(BIGINT, "s.k")))
    plan = nodes.OrderBy(nodes.Project(ROWS, columns), (SortKey(f"{nodes.HIDDEN}1"),))
    answer = replace(BEFORE, as_of=AS_OF)
    assert not can_add_changes(plan, answer)
    assert can_add_changes(nodes.OrderBy(ROWS, (SortKey("s.k"),)), answer)
    assert not can_add_changes(ROWS, replace(answer, kept={"s": 1.0}))
