"""Drawn joins of three to five windows in one pipeline give the answers of SQL, and the changes of the tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from panes.delta.consolidate import contents_at
from panes.delta.delta import EXP, TS, Delta
from panes.operators import multi_join
from panes.operators.multi_join import MultiJoin as Operator
from panes.optimizer.alternatives.pipeline_joins import pipeline_joins
from panes.optimizer.estimates import Estimates
from panes.optimizer.statistics import Fact, FactName, Statistics
from panes.plan.expressions import Aggregate, Call, Column, Expression
from panes.plan.join_tree import joined
from panes.plan.nodes import (
    Distinct,
    GroupBy,
    Istream,
    MultiJoin,
    Node,
    Project,
    Rstream,
    StreamScan,
    Window,
    Wstream,
    with_children,
)
from panes.plan.schema import Field, Schema
from panes.plan.types import BIGINT, BOOLEAN
from panes.plan.walk import walk
from panes.plan.windows import RangeWindow, RowsWindow, WindowSpec
from panes.stages.make_plan import make_plan
from panes.stages.plan_text import plan_from, plan_text
from panes.stages.running_query import RunningQuery
from panes.testing import Oracle, same_rows
from tests.properties.running import DIRECT, NT, UPA, Way, connection, history, outputs, together
from tests.properties.shards import Shards
from tests.properties.streams import COLUMNS, STREAMS, Arrivals

TYPES = {field.name: field.type for field in COLUMNS}


def leaf(random: Random, alias: str, kinds: Sequence[int]) -> Node:
    """A window on a stream, of one of some kinds, at times only its different rows."""
    scan = StreamScan(
        random.choice(STREAMS), alias, Schema(tuple(Field(f"{alias}.{f.name}", f.type) for f in COLUMNS))
    )
    specs: list[WindowSpec] = [
        RangeWindow(random.randint(4, 20)),
        RangeWindow(random.randint(4, 20), random.randint(2, 5)),
        RowsWindow(random.randint(2, 6)),
    ]
    window = Window(scan, specs[random.choice(kinds)])
    return Distinct(window) if random.randrange(6) == 0 else window


def column(alias: str, name: str) -> Column:
    return Column(TYPES[name], f"{alias}.{name}")


def conditions(random: Random, aliases: list[str]) -> list[Expression]:
    """A key that all have, at times two or one that is computed, and conditions among some."""
    found: list[Expression] = []
    if random.randrange(4) == 0:
        found += [_compared("eq", _twice(a), _twice(b)) for a, b in pairwise(aliases)]
    else:
        found += [_compared("eq", column(a, "k"), column(b, "k")) for a, b in pairwise(aliases)]
    if random.randrange(5) == 0:
        found += [_compared("eq", column(aliases[0], "w"), column(b, "w")) for b in aliases[1:]]
    for _ in range(random.choice((0, 0, 0, 1, 2))):
        one, other = random.sample(aliases, 2)
        name = random.choice("vw")
        found.append(_compared(random.choice(["lt", "ne", "eq"]), column(one, name), column(other, name)))
    return found


def _twice(alias: str) -> Expression:
    return Call(BIGINT, "add", (column(alias, "k"), column(alias, "k")))


def _compared(function: str, one: Expression, other: Expression) -> Expression:
    return Call(BOOLEAN, function, (one, other))


def drawn(seed: int, *, counted: bool = True) -> tuple[Node, Node, Arrivals]:
    """A tree of joins, the same in a pipeline in some global order, and arrivals."""
    random = Random(seed)
    count = random.choice((3, 3, 4, 4, 5))
    aliases = list("abcde"[:count])
    # Where all windows have SLIDE, rows are forgotten a slide before they leave.
    kinds = random.choice([(0, 1, 2), (0, 1, 2), (1,)] if counted else [(0, 1), (1,)])
    plan = joined([leaf(random, a, kinds) for a in aliases], conditions(random, aliases))
    names = random.sample(plan.schema.names, min(len(plan.schema.names), 6))
    shown = tuple((f"x{number}", Column(plan.schema[name].type, name)) for number, name in enumerate(names))
    tree = Project(plan, shown)
    arrivals = Arrivals.drawn(random, {3: 60, 4: 44, 5: 32}[count], 8)
    return tree, pipelined(tree, random), arrivals


def pipelined(tree: Node, random: Random) -> Node:
    """The plan in one pipeline, in an order that depends on drawn rates."""
    facts = {FactName("rate", name): Fact(10 ** random.uniform(0, 4), 1) for name in STREAMS}
    (found,) = pipeline_joins(tree, Estimates(Statistics(facts)))
    assert any(isinstance(node, MultiJoin) for node in walk(found.plan))
    assert found.plan.schema == tree.schema
    return found.plan


def check(seed: int, way: Way = UPA, shards: Sequence[int] = ()) -> None:
    """At every clock, the answer is that of SQL."""
    tree, plan, arrivals = drawn(seed, counted=way is not DIRECT)
    oracle = Oracle(arrivals.tables, connection())
    expected = [oracle.answer_at(tree, clock) for clock in arrivals.clocks]
    if not shards:
        tables: list[pa.Table] = []
        for answer, clock, table in zip(
            expected, arrivals.clocks, outputs(way.lower(plan), arrivals), strict=True
        ):
            tables.append(table)
            difference = same_rows(contents_at(together(tables), clock), answer)
            assert difference is None, f"at {clock}: {difference}"
    for number in shards:
        physical = make_plan(plan, strategy=way.strategy)
        assert plan_from(plan_text(physical)) == physical
        run = Shards(RunningQuery(1, physical, number, 0))
        for (came, since, clock), answer in zip(arrivals.spans(), expected, strict=True):
            run.process(came, since, clock)
            assert same_rows(run.answer(clock), answer) is None, f"{number} shards at {clock}"


@pytest.mark.parametrize("way", [UPA, NT, DIRECT], ids=lambda way: way.strategy)
def test_a_pipeline_gives_the_answers_of_sql(way: Way) -> None:
    for seed in range(5):
        check(seed, way)


def test_a_pipeline_gives_the_answers_of_sql_over_shards() -> None:
    for seed in range(100, 104):
        check(seed, NT if seed % 4 == 0 else UPA, (1, 2, 5))


def test_a_pipeline_goes_on_over_another_number_of_shards() -> None:
    for seed in range(200, 203):
        tree, plan, arrivals = drawn(seed)
        oracle = Oracle(arrivals.tables, connection())
        run = Shards(RunningQuery(1, make_plan(plan), 2, 0))
        numbers = [1, 3, 2, 5] * 4
        for (came, since, clock), number in zip(arrivals.spans(), numbers, strict=False):
            run.process(came, since, clock)
            assert same_rows(run.answer(clock), oracle.answer_at(tree, clock)) is None
            run = run.redistributed(number, clock)


ABOVE: dict[str, Callable[[Node], Node]] = {
    "nothing": lambda node: node,
    "Istream": Istream,
    "Istream RESTORE": lambda node: Istream(node, restore=True),
    "Rstream RESTORE": lambda node: Rstream(node, restore=True),
    "the youngest results": lambda node: Wstream(node, RowsWindow(3)),
    "DISTINCT": Distinct,
    "groups": lambda node: GroupBy(node, node.schema.names[:1], (Aggregate("n", "count", None, BIGINT),)),
}


@pytest.mark.parametrize("above", ABOVE.values(), ids=ABOVE)
def test_what_stands_above_cannot_tell_a_pipeline_from_a_tree_at_any_instant(
    above: Callable[[Node], Node],
) -> None:
    for seed in range(300, 304):
        check_changes(seed, above)


def check_changes(seed: int, above: Callable[[Node], Node] = ABOVE["nothing"]) -> None:
    """At every instant, the tree and the pipeline change alike."""
    tree, plan, arrivals = drawn(seed)
    one, other = (
        history(list(outputs(UPA.lower(above(found), changes="instant"), arrivals)), arrivals.clocks[-1])
        for found in (tree, plan)
    )
    assert one == other


def test_results_of_internal_windows_are_those_of_the_tree() -> None:
    for seed in range(500, 506):
        random = Random(seed)
        aliases = list("abc")
        inputs = [_internal(leaf(random, alias, (0, 1, 2))) for alias in aliases]
        tree = joined(inputs, conditions(random, aliases))
        arrivals = Arrivals.drawn(random, 50, 5)
        one, other = (
            history(list(outputs(UPA.lower(plan), arrivals)), arrivals.clocks[-1])
            for plan in (tree, pipelined(tree, random))
        )
        assert one == other


def _internal(node: Node) -> Node:
    if isinstance(node, Window):
        return replace(node, spec=replace(node.spec, internal=True))
    return with_children(node, *map(_internal, node.children))


def test_where_spans_are_cut_changes_nothing() -> None:
    for seed in range(400, 405):
        _, plan, arrivals = drawn(seed)
        last = arrivals.clocks[-1]
        whole = replace(arrivals, clocks=(last,))
        one, other = (history(list(outputs(UPA.lower(plan), some)), last) for some in (arrivals, whole))
        assert one == other


# Planted bugs: each is found by one of the cases.


def test_combinations_of_new_rows_that_are_counted_twice_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Operator._partners

    def always_together(self: Operator, origin: int, other: int, *rest: Any) -> Any:
        *most, _ = rest
        return real(self, origin, other, *most, self.new[other])  # type: ignore[attr-defined]

    def remembering(self: Operator, inputs: Sequence[Delta], clock: int) -> Delta:
        self.new = [self._clustered(n, delta) for n, delta in enumerate(inputs)]  # type: ignore[attr-defined]
        return process(self, inputs, clock)

    process = Operator._process
    monkeypatch.setattr(Operator, "_process", remembering)
    monkeypatch.setattr(Operator, "_partners", always_together)
    assert is_found()


def test_rows_that_are_forgotten_a_slide_too_early_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = multi_join._next_change
    monkeypatch.setattr(multi_join, "_next_change", lambda slides, clock: real(slides, real(slides, clock)))
    assert is_found()


def test_rows_that_meet_after_their_time_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Operator._result_rows

    def longer(self: Operator, chosen: Any, begin: Any, end: Any) -> pa.Table:
        return real(self, chosen, begin, end + 1)

    monkeypatch.setattr(Operator, "_result_rows", longer)
    assert is_found()


def test_rows_of_the_first_input_that_begin_too_early_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Operator._clustered

    def early(self: Operator, number: int, delta: Delta) -> pa.Table:
        table = real(self, number, delta)
        if number or not table.num_rows:
            return table
        earlier = np.minimum(table[EXP].to_numpy(), table[TS].to_numpy().min())
        return table.set_column(table.column_names.index(TS), TS, pa.array(earlier))

    monkeypatch.setattr(Operator, "_clustered", early)
    assert is_found()


def test_a_condition_that_is_not_tested_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Operator, "_tests_of", lambda self, _: [None] * (len(self.inputs) - 1))
    assert is_found()


def is_found() -> bool:
    return any(_fails(seed) for seed in range(4, 30))


def _fails(seed: int) -> bool:
    try:
        check_changes(seed)
    except AssertionError:
        return True
    return False
