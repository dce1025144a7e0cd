"""EXPLAIN as text and as data."""

from __future__ import annotations

import json

from panes.config import SETTINGS
from panes.language import bind, parse
from panes.language.statements import SelectQuery
from panes.plan.explain import BUFFER_FOR, Statistics, explain, explain_json
from panes.plan.nodes import Node
from panes.plan.patterns import Pattern
from panes.plan.walk import walk
from panes.state.buffers.choose import kind_of_buffer
from tests.language.corpus import read_catalog

CATALOG = read_catalog()
JOIN = (
    "SELECT x.src FROM link0 [RANGE 1 MINUTE] x, link1 [RANGE 1 MINUTE] y "
    "WHERE x.src = y.src AND x.proto = 'ftp'"
)


def plan_of(sql: str) -> Node:
    (query,) = parse(sql)
    assert isinstance(query, SelectQuery)
    return bind(query, CATALOG)


def test_one_line_per_node_under_a_header_and_the_answer_last() -> None:
    plan = plan_of(JOIN)
    lines = explain(plan).splitlines()
    assert lines[0].split() == ["plan", "pattern", "state"]
    assert len(lines) == 2 + len(list(walk(plan)))
    assert lines[-1].startswith("answer: WEAK (")


def test_a_line_says_what_the_node_does_its_pattern_and_its_buffer_with_the_reason() -> None:
    (line,) = (line for line in explain(plan_of(JOIN)).splitlines() if "Join" in line)
    what, pattern, state = (part.strip() for part in line.split("  ") if part.strip())
    assert (what, pattern, state) == ("└─ Join on x.src = y.src", "WEAK", "2 × list: first in, first out")


def test_the_buffer_follows_the_pattern_of_the_input() -> None:
    weakest = explain(plan_of("SELECT s1.a FROM s1 [NOW], s2 [NOW] WHERE s1.a = s2.a"))
    strict = explain(plan_of("SELECT s1.a FROM s1 [ROWS 3], s2 [ROWS 3] WHERE s1.a = s2.a"))
    deep = explain(plan_of("SELECT s1.a FROM s1 [NOW], s2 [NOW], s3 [NOW] WHERE s1.a = s2.a AND s1.a = s3.a"))
    assert "2 × list" in weakest
    assert "2 × keyed" in strict
    assert "calendar + list" in deep


def test_another_strategy_chooses_other_buffers() -> None:
    text = explain(plan_of(JOIN), choose=lambda pattern: f"scan of {pattern.name}")
    assert "2 × scan of WEAKEST" in text
    assert text.splitlines()[-1].endswith("kept as scan of WEAK")


def test_duplicate_elimination_keeps_twice_its_output_or_counts() -> None:
    assert "δ*" in explain(plan_of("SELECT DISTINCT a FROM s1 [NOW]"))
    assert "counts" in explain(plan_of("SELECT DISTINCT a FROM s1 [ROWS 3]"))


def test_rates_and_costs_stand_at_the_right_edge_when_there_are_statistics() -> None:
    plan = plan_of(JOIN)
    statistics = {node: Statistics(rate=1000.0 + i, cost=2_500_000.0) for i, node in enumerate(walk(plan))}
    lines = explain(plan, statistics=statistics).splitlines()
    assert lines[0].split() == ["plan", "pattern", "state", "rows/s", "cost/s"]
    assert lines[1].split()[-2:] == ["1,000", "2.5e+06"]
    assert all(len(line) == 100 for line in lines[:-1])


def test_a_node_without_statistics_leaves_its_numbers_out() -> None:
    plan = plan_of(JOIN)
    lines = explain(plan, statistics={plan: Statistics(5.0, 6.0)}).splitlines()
    assert lines[1].split()[-2:] == ["5", "6"]
    assert lines[2].split()[-1] == "out"


def test_data_for_programs_has_the_same_nodes_and_is_json() -> None:
    plan = plan_of(JOIN)
    data = explain_json(plan, statistics={plan: Statistics(1.0, 2.0)})
    assert json.loads(json.dumps(data)) == data
    assert data["answer"]["pattern"] == "WEAK"
    top = data["plan"]
    assert top["node"] == "Project"
    assert top["columns"] == {"src": "BIGINT"}
    assert top["statistics"] == {"rate": 1.0, "cost": 2.0}

    def count(node: dict[str, object]) -> int:
        inputs = node["inputs"]
        assert isinstance(inputs, list)
        return 1 + sum(map(count, inputs))

    assert count(top) == len(list(walk(plan)))
    join = top["inputs"][0]
    assert (join["pattern"], join["state"]) == ("WEAK", "2 × list: first in, first out")
    assert join["reason"] == "a pair leaves with the first of its two rows to leave"


def test_long_plans_are_wrapped_at_the_edge_and_nothing_is_left_out() -> None:
    columns = ", ".join(f"a + {i} AS x{i}" for i in range(50))
    text = explain(plan_of(f"SELECT {columns} FROM s1 [ROWS 3] WHERE a + b * 2 > 7"))
    assert max(map(len, text.splitlines())) <= 100
    assert "…" not in text
    assert [f"AS x{i}" for i in range(50) if f"AS x{i}" not in text] == []
    first, second, *_ = text.splitlines()[1:]
    assert first.split()[:1] == ["Project"]
    assert second.startswith("│    ")


def test_a_deep_plan_is_shown_whole() -> None:
    sql = "SELECT a FROM s1 [ROWS 3]"
    for depth in range(30):
        sql = f"SELECT a FROM ({sql}) AS t{depth} WHERE a <> {depth}"
    text = explain(plan_of(sql))
    assert [depth for depth in range(30) if f"<> {depth}" not in " ".join(text.split())] == []


def test_answers_over_internal_windows_are_explained_as_streams() -> None:
    plan = plan_of("SELECT x.a FROM s1 [NOW INTERNAL] x, s2 [NOW INTERNAL] y WHERE x.a = y.a")
    assert explain(plan).splitlines()[-1].startswith(f"answer: {Pattern.MONOTONIC} ")


def test_explain_without_a_strategy_names_the_buffers_of_the_default_one() -> None:
    default = str(SETTINGS["strategy"].default)
    assert {pattern: kind_of_buffer(pattern, default) for pattern in Pattern} == BUFFER_FOR
