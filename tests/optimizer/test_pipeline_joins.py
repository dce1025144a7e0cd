"""When a join of many windows becomes one operator, and when it is chosen."""

from __future__ import annotations

import pytest

from panes.language import bind, parse
from panes.optimizer.alternatives.pipeline_joins import pipeline_joins
from panes.optimizer.choose_plan import choose_plan
from panes.optimizer.estimates import Estimates
from panes.optimizer.optimizer import optimize
from panes.optimizer.planning import Planning
from panes.optimizer.statistics import Fact, FactName, Statistics
from panes.plan.nodes import Join, MultiJoin, Node
from panes.plan.shape import shape
from panes.plan.walk import walk
from panes.stages.explain import Explained, explain
from tests.language.corpus import read_catalog

STREAMS = "".join(f"CREATE STREAM {name} (k BIGINT, j BIGINT, x BIGINT);" for name in "abcd")
CATALOG = read_catalog(STREAMS)
ONE_KEY = (
    "SELECT a.x, b.x AS y, c.x AS z FROM a [RANGE 60 SECONDS], b [RANGE 60 SECONDS], c [RANGE 60 SECONDS] "
    "WHERE a.k = b.k AND b.k = c.k"
)


def plan_of(sql: str) -> Node:
    (query,) = parse(sql)
    return optimize(bind(query, CATALOG))


def statistics(rates: dict[str, float], values: float) -> Statistics:
    facts = {FactName("rate", name): Fact(rate, 1) for name, rate in rates.items()}
    return Statistics(facts | {FactName("distinct", f"{name}.k"): Fact(values, 1) for name in rates})


def pipelines(plan: Node) -> list[MultiJoin]:
    return [node for node in walk(plan) if isinstance(node, MultiJoin)]


def test_inputs_with_one_key_become_one_operator_slow_ones_first() -> None:
    plan = plan_of(ONE_KEY)
    known = statistics({"a": 1000.0, "b": 10.0, "c": 100.0}, 50)
    (found,) = pipeline_joins(plan, Estimates(known))
    (join,) = pipelines(found.plan)
    assert found.name == "pipelined b, c, a"
    assert [shape(node) for node in join.inputs] == ["b", "c", "a"]
    assert join.residual is None
    assert found.plan.schema == plan.schema


@pytest.mark.parametrize(
    "where",
    ["a.k = b.k AND b.j = c.j", "a.k = b.k", "a.k < b.k AND b.k < c.k"],
    ids=["chain", "product", "less"],
)
def test_without_a_key_that_all_have_there_is_no_pipeline(where: str) -> None:
    sql = ONE_KEY.partition("WHERE")[0] + f"WHERE {where}"
    assert pipeline_joins(plan_of(sql), Estimates(Statistics())) == ()


def test_what_is_equal_in_some_inputs_only_is_tested_on_combinations() -> None:
    plan = plan_of(f"{ONE_KEY} AND a.j = b.j AND b.x < c.x")
    (found,) = pipeline_joins(plan, Estimates(Statistics()))
    (join,) = pipelines(found.plan)
    assert join.keys == (("a.k",), ("b.k",), ("c.k",))
    assert str(join.residual) == "(a.j = b.j) AND (b.x < c.x)"


def test_the_setting_decides_whatever_it_costs() -> None:
    plan, known = plan_of(ONE_KEY), statistics(dict.fromkeys("abc", 1000.0), 50)
    for setting, count in (("pipelined", 1), ("tree", 0)):
        chosen = choose_plan(plan, known, Planning(join=setting)).plan
        assert len(pipelines(chosen)) == count


def test_a_pipeline_is_chosen_where_joins_give_many_rows() -> None:
    plan = plan_of(ONE_KEY)
    many, few = (statistics(dict.fromkeys("abc", 100.0), values) for values in (500, 1e7))
    assert pipelines(choose_plan(plan, many, Planning()).plan)
    assert any(isinstance(node, Join) for node in walk(choose_plan(plan, few, Planning()).plan))


def test_explain_shows_the_order_for_each_origin_and_its_combinations() -> None:
    known = statistics({"a": 100.0, "b": 10.0, "c": 1.0}, 50)
    plan = choose_plan(plan_of(ONE_KEY), known, Planning(join="pipelined"))
    text = explain(Explained(plan, 2))
    assert "Join of 3 on c.k = b.k = a.k" in text
    for line in ("new rows of c meet b, a", "new rows of b meet c, a", "new rows of a meet c, b"):
        assert line in text


def test_explain_says_what_is_lost_between_slides() -> None:
    plan = plan_of(ONE_KEY.replace("RANGE 60 SECONDS", "RANGE 60 SECONDS SLIDE 10 SECONDS"))
    text = explain(Explained(choose_plan(plan, Statistics(), Planning(join="pipelined")), 2))
    assert "without RESTORE about 17 % of the results come and go between slides" in text
