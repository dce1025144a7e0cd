from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from panes.delta.delta import EXP, TS, Delta
from panes.errors import SettingError
from panes.operators.anti_join import AntiJoin
from panes.operators.except_ import except_
from panes.operators.tools.edge import Edge
from panes.operators.tools.strategy import Departures, check_strategy
from panes.plan import nodes
from panes.plan.patterns import Pattern
from panes.plan.schema import Schema
from panes.plan.types import BIGINT
from panes.plan.windows import RangeWindow, RowsWindow, WindowSpec

A = Schema.of([("a.k", BIGINT)])
B = Schema.of([("b.k", BIGINT)])


def window(schema: Schema, spec: WindowSpec | None = None) -> nodes.Window:
    return nodes.Window(nodes.StreamScan("s", schema.names[0][0], schema), spec or RangeWindow(10))


def delta(schema: Schema, keys: list[int], ts: int, exp: int) -> Delta:
    table = pa.table({schema.names[0]: pa.array(keys, pa.int64())})
    times = np.full(len(keys), ts)
    return Delta(table.append_column(TS, pa.array(times)).append_column(EXP, pa.array(times - ts + exp)), ts)


def test_direct_runs_joins_of_time_windows():
    check_strategy(nodes.Join(window(A), window(B), ("a.k",), ("b.k",)), "direct")


def test_direct_refuses_a_negation_and_names_it():
    with pytest.raises(SettingError, match="the output of Except is STRICT"):
        check_strategy(nodes.Except(window(A), window(B)), "direct")


def test_direct_refuses_what_lies_below_the_top_too():
    plan = nodes.Distinct(window(A, RowsWindow(3)))
    with pytest.raises(SettingError, match="use 'upa' or 'nt'"):
        check_strategy(plan, "direct")


def test_an_unknown_strategy_is_refused():
    with pytest.raises(SettingError, match="there is no strategy 'quick'"):
        check_strategy(window(A), "quick")


@pytest.mark.parametrize("leaves_early", [True, False], ids=["counting", "lifetimes"])
def test_a_difference_measures_what_leaves_before_its_time(leaves_early: bool):
    #  1   2   3
    #  1-----------…    four values come on the left
    #      1-------…    one of them comes on the right, and takes the left one back
    edges = Edge(A, Pattern.WEAKEST), Edge(B, Pattern.WEAKEST)
    operator = except_(*edges, leaves_early=leaves_early)
    operator.process([delta(A, [1, 2, 3, 4], 1, 50), delta(B, [], 1, 50)], 0, 1)
    operator.process([delta(A, [], 2, 50), delta(B, [1, 9], 2, 50)], 1, 2)
    assert operator.departures == Departures(given=4, early=1)


def test_an_anti_join_measures_what_leaves_before_its_time():
    operator = AntiJoin(Edge(A, Pattern.WEAKEST), Edge(B, Pattern.WEAKEST), ["a.k"], ["b.k"])
    operator.process([delta(A, [1, 2], 1, 50), delta(B, [], 1, 50)], 0, 1)
    operator.process([delta(A, [], 2, 50), delta(B, [1], 2, 50)], 1, 2)
    assert operator.departures == Departures(given=2, early=1)


@pytest.mark.parametrize(("strategy", "noted"), [("upa", {"given": 2, "early": 1}), ("nt", {})])
def test_a_negation_notes_what_leaves_early_where_it_can_tell(strategy: str, noted: dict[str, float]):
    pattern = Pattern.WEAKEST if strategy == "upa" else Pattern.STRICT
    anti_join = AntiJoin(Edge(A, pattern, strategy), Edge(B, pattern, strategy), ["a.k"], ["b.k"])
    anti_join.process([delta(A, [1, 2], 1, 9), delta(B, [], 1, 9)], 0, 1)
    anti_join.process([delta(A, [], 2, 9), delta(B, [2], 2, 9)], 1, 2)
    assert {name: anti_join.noted[name] for name in anti_join.noted} == noted
