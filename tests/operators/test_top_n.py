"""Top-n: what comes among the first rows, and what leaves them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pyarrow as pa
import pytest

from panes.delta.consolidate import contents_at
from panes.delta.delta import BEGINNING
from panes.operators import top_n
from panes.operators.dataflow import Dataflow
from panes.operators.lower import lower
from panes.operators.top_n import TopN
from panes.plan import nodes
from panes.plan.expressions import Aggregate
from panes.plan.schema import Schema
from panes.plan.sort_key import SortKey
from panes.plan.types import BIGINT, DOUBLE, STRING
from panes.plan.windows import RangeWindow, UnboundedWindow, WindowSpec

SCAN = nodes.StreamScan("s", "s", Schema.of([("s.k", STRING), ("s.v", DOUBLE)]))
WINDOW = RangeWindow(5)
BY_VALUE = (SortKey("s.v", descending=True),)
Tuples = tuple[str | None, float | None, int]


def plan_of(limit: int, offset: int = 0, by: tuple[str, ...] = (), spec: WindowSpec = WINDOW) -> nodes.TopN:
    return nodes.TopN(nodes.Window(SCAN, spec), BY_VALUE, limit, offset, by)


@dataclass
class Run:
    """A plan, moved on by hand."""

    plan: nodes.Node
    every_instant: bool = False
    clock: int = BEGINNING
    tables: list[pa.Table] = field(default_factory=list)
    dataflow: Dataflow = field(init=False)

    def __post_init__(self) -> None:
        self.dataflow = lower(self.plan, every_instant=self.every_instant)

    def come(self, clock: int, *tuples: Tuples) -> list[float | None]:
        """Tuples as (key, value, ts); the values in the answer at the clock, the greatest first."""
        arrivals = pa.table(
            {
                "k": pa.array([k for k, _, _ in tuples], pa.string()),
                "v": pa.array([v for _, v, _ in tuples], pa.float64()),
                "_ts": pa.array([ts for _, _, ts in tuples], pa.int64()),
            }
        )
        self.tables.append(self.dataflow.process({"s": arrivals}, self.clock, clock).table)
        self.clock = clock
        return self.held(clock)

    def held(self, now: int) -> list[float | None]:
        values = contents_at(pa.concat_tables(self.tables), now).column("s.v").to_pylist()
        return sorted(values, key=lambda value: (value is None, -(value or 0)))

    @property
    def operator(self) -> TopN:
        (found,) = (o for o in self.dataflow.operators if isinstance(o, TopN))
        return found


def test_a_row_comes_up_when_one_before_it_leaves() -> None:
    #  1   2   3   4   5   6   7   8
    #  9-------------------)
    #      7-------------------)
    #          8-------------------)
    run = Run(plan_of(2))
    assert run.come(3, ("a", 9, 1), ("a", 7, 2), ("a", 8, 3)) == [9, 8]
    assert run.come(6) == [8, 7]
    assert run.come(7) == [8]
    assert run.come(8) == []


def test_every_instant_of_a_span_is_told_where_it_is_asked_for() -> None:
    run = Run(plan_of(2), every_instant=True)
    run.come(8, ("a", 9, 1), ("a", 7, 2), ("a", 8, 3))
    assert [run.held(now) for now in range(1, 9)] == [[9], [9, 7], [9, 8], [9, 8], [9, 8], [8, 7], [8], []]


def test_what_comes_and_goes_behind_the_top_is_not_told() -> None:
    run = Run(plan_of(1), every_instant=True)
    run.come(2, ("a", 100, 2))
    run.come(6, *(("a", float(n), 3 + n % 3) for n in range(50)))
    assert run.tables[-1].num_rows == 0


def test_equal_rows_count_as_often_as_they_are_there() -> None:
    run = Run(plan_of(3))
    assert run.come(1, ("a", 5, 1), ("a", 5, 1), ("a", 5, 1), ("a", 5, 1)) == [5, 5, 5]
    assert Run(plan_of(3, offset=2)).come(1, ("a", 5, 1), ("a", 5, 1), ("a", 5, 1)) == [5]


def test_offset_leaves_out_the_first() -> None:
    run = Run(plan_of(2, offset=1))
    assert run.come(1, ("a", 1, 1), ("a", 2, 1), ("a", 3, 1), ("a", 4, 1)) == [3, 2]


def test_each_partition_has_an_order_of_its_own_and_null_is_one() -> None:
    run = Run(plan_of(1, by=("s.k",)))
    assert run.come(1, ("a", 1, 1), ("a", 2, 1), ("b", 0, 1), (None, 7, 1), (None, 8, 1)) == [8, 2, 0]


def test_nan_is_the_greatest_and_null_the_last() -> None:
    nan = float("nan")
    run = Run(plan_of(2))
    run.come(1, ("a", None, 1), ("a", float("inf"), 1), ("a", nan, 1), ("a", 1, 1))
    assert str(run.held(1)) in ("[nan, inf]", "[inf, nan]")
    assert Run(plan_of(2)).come(1, ("a", None, 1), ("a", 1, 1)) == [1, None]


def test_ties_go_by_all_other_columns() -> None:
    run = Run(plan_of(1))
    run.come(1, ("b", 5, 1), ("a", 5, 1), ("c", 5, 1))
    assert contents_at(run.tables[0], 1).column("s.k").to_pylist() == ["a"]


def test_a_limit_of_nothing_gives_nothing() -> None:
    run = Run(plan_of(0))
    assert run.come(1, ("a", 5, 1)) == []
    assert run.come(9) == []


def test_of_rows_that_stay_only_the_first_are_kept() -> None:
    run = Run(plan_of(2, spec=UnboundedWindow()))
    for clock in range(1, 60):
        run.come(clock, *(("a", float(clock * n % 17), clock) for n in range(20)))
    assert run.held(59) == [16, 16]
    assert run.operator.ordered.rows < 40


@pytest.mark.parametrize("every_instant", [False, True])
def test_a_change_reads_what_is_near_the_top_and_not_the_window(every_instant: bool) -> None:
    run = Run(plan_of(3, spec=RangeWindow(10_000)), every_instant=every_instant)
    run.come(1, *(("a", float(n), 1) for n in range(20_000)))
    before = run.operator.touched
    for clock in range(2, 52):
        run.come(clock, ("a", -1.0, clock), ("a", 30_000.0 + clock, clock))
    # A small chunk is read whole, and merged; of the large one a few rows at its end.
    assert run.operator.touched - before < 10_000


def test_when_more_leave_than_were_read_more_are_read() -> None:
    run = Run(plan_of(2))
    run.come(1, *(("a", float(n), 1) for n in range(500)))
    assert run.come(3, *(("a", -float(n), 3) for n in range(1, 300))) == [499, 498]
    assert run.come(6) == [-1, -2]


def test_the_cut_of_a_span_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    tuples = [(("a", "b")[n % 2], float(n * 7 % 23), 1 + n // 4) for n in range(80)]
    whole = Run(plan_of(3, 1, ("s.k",)), every_instant=True)
    whole.come(40, *tuples)
    monkeypatch.setattr(top_n, "_CELLS_AT_ONCE", 1)
    monkeypatch.setattr(top_n, "_READ_AT_FIRST", 1)
    halved = Run(plan_of(3, 1, ("s.k",)), every_instant=True)
    halved.come(40, *tuples)
    assert [whole.held(now) for now in range(41)] == [halved.held(now) for now in range(41)]


def test_partitions_that_share_a_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    original = top_n.hash_pair

    def colliding(columns: list[pa.ChunkedArray], rows: int):  # type: ignore[no-untyped-def]
        first, second = original(columns, rows)
        return first * 0, second

    monkeypatch.setattr(top_n, "hash_pair", colliding)
    run = Run(plan_of(2, by=("s.k",)))
    run.come(1, *(("abc"[n % 3], float(n), 1) for n in range(300)))
    run.come(2, *(("abc"[n % 3], float(-n), 2) for n in range(30)))
    rows = contents_at(pa.concat_tables(run.tables), 2).to_pylist()
    assert Counter(row["s.k"] for row in rows) == {"a": 2, "b": 2, "c": 2}
    assert sorted(row["s.v"] for row in rows) == [294, 295, 296, 297, 298, 299]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"limit": -1}, "LIMIT -1 is below zero"),
        ({"offset": -1}, "OFFSET -1 is below zero"),
        ({"order": (SortKey("x"),)}, "there is no such column"),
        ({"order": (SortKey("s.k"), SortKey("s.k"))}, "names a column twice"),
        ({"partition_by": ("x",)}, "there is no such column"),
    ],
)
def test_a_top_n_that_makes_no_sense_is_refused(change: dict[str, object], problem: str) -> None:
    with pytest.raises(nodes.PlanError, match=problem):
        nodes.TopN(**{"child": SCAN, "order": (), "limit": 1, **change})  # type: ignore[arg-type]


def test_a_group_with_the_most_rows() -> None:
    counted = nodes.GroupBy(nodes.Window(SCAN, WINDOW), ("s.k",), (Aggregate("n", "count", None, BIGINT),))
    run = Run(nodes.TopN(counted, (SortKey("n", descending=True),), 1))
    arrivals = pa.table({"k": ["a", "b", "b"], "v": [1.0, 2.0, 3.0], "_ts": [1, 1, 2]})
    delta = run.dataflow.process({"s": arrivals}, BEGINNING, 2).table
    assert contents_at(delta, 2).to_pylist() == [{"s.k": "b", "n": 2}]
