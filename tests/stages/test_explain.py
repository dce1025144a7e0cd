"""EXPLAIN as text and as data."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from panes.language import bind, parse
from panes.language.statements import SelectQuery
from panes.operators.measures import STORE, Measures
from panes.optimizer.optimizer import optimize
from panes.plan.nodes import Node
from panes.plan.patterns import Pattern
from panes.sharing.template import template_of
from panes.stages.explain import Explained, explain, explain_json
from panes.stages.explain_tree import StepKey, steps_of
from panes.stages.make_plan import make_plan
from panes.stages.measure_log import StepMeasures
from panes.stages.physical_plan import Choice, PhysicalPlan
from panes.stages.step_cost import StepCost
from tests.language.corpus import read_catalog

CATALOG = read_catalog()
JOIN = (
    "SELECT x.src FROM link0 [RANGE 1 MINUTE] x, link1 [RANGE 1 MINUTE] y "
    "WHERE x.src = y.src AND x.proto = 'ftp'"
)
GROUPS = "SELECT src, count(*) AS n FROM packets [RANGE 10 SECONDS SLIDE 1 SECOND] GROUP BY src"


def plan_of(sql: str) -> Node:
    (query,) = parse(sql)
    assert isinstance(query, SelectQuery)
    return optimize(bind(query, CATALOG))


def explained(sql: str, strategy: str = "upa", shards: int = 2) -> Explained:
    return Explained(make_plan(plan_of(sql), strategy=strategy), shards)


def line_of(text: str, what: str) -> tuple[str, str, str]:
    """The first line that says this: what is done, the pattern, and the state that stands below it."""
    lines = text.splitlines()
    place = next(n for n, line in enumerate(lines) if what in line)
    does, pattern = (part.strip() for part in lines[place].rsplit("  ", 1))
    below = lines[place + 1].strip("│ ") if place + 1 < len(lines) else ""
    return does.lstrip("└├─│ "), pattern, below if below.startswith("keeps") else ""


def test_one_line_per_step_and_shuffle_under_a_header_and_the_answer_last() -> None:
    shown = explained(JOIN)
    lines = explain(shown).splitlines()
    assert lines[0].split() == ["plan", "pattern"]
    steps = sum("─ " in line for line in lines) + 1
    assert steps == len(list(steps_of(shown.tree)))
    assert any(line.startswith("answer: WEAK (") for line in lines)


def test_a_step_says_what_it_does_its_pattern_and_its_buffers_with_the_reason() -> None:
    assert line_of(explain(explained(JOIN)), "Join on") == (
        "Join on x.src = y.src",
        "WEAK",
        "keeps left, right: list, rows leave first in, first out",
    )


def test_under_nt_every_edge_above_a_window_is_strict_and_all_state_keyed() -> None:
    text = explain(explained(JOIN, "nt"))
    assert line_of(text, "Join on")[1] == "STRICT"
    assert line_of(text, "Join on")[2].startswith("keeps left, right: keyed, ")
    assert line_of(text, "Expire by negative tuples")[1] == "STRICT"


def test_under_direct_state_is_read_whole() -> None:
    assert line_of(explain(explained(JOIN, "direct")), "Join on")[2].startswith("keeps left, right: scan, ")


def test_an_anti_join_shows_all_buffers_that_it_keeps() -> None:
    sql = (
        "SELECT src FROM link0 [RANGE 1 MINUTE] x "
        "WHERE NOT EXISTS (SELECT * FROM link1 [RANGE 1 MINUTE] y WHERE y.src = x.src)"
    )
    data = explain_json(explained(sql))
    (step,) = (s for s in all_steps(data["plan"]) if s["operator"] == "AntiJoin")
    kinds = {buffer["name"]: buffer["kind"] for buffer in step["buffers"]}
    assert kinds == {
        "matched_shown": "calendar",
        "join_left": "list",
        "join_right": "lent",
        "waiting": "timer queue",
    }


def all_steps(data):
    yield data
    for below in data["inputs"]:
        yield from all_steps(below)


def test_partial_sums_stand_below_the_shuffle() -> None:
    assert [step.does for step in steps_of(explained(GROUPS).tree)] == [
        "Project packets.src, count(*) AS n",
        "Group by packets.src: count(*)",
        "Release on time",
        "Shuffle to 2 shards by packets.src",
        "Sum per lifetime and group",
        "Window [RANGE 10 SECONDS SLIDE 1 SECOND]",
        "Project packets.src",
        "Stream packets",
    ]


def test_a_plan_that_is_cut_shows_both_stages() -> None:
    sql = (
        "SELECT n, count(*) AS m FROM (SELECT src, count(*) AS n FROM packets [RANGE 9 SECONDS] GROUP BY src) "
        "GROUP BY n"
    )
    data = explain_json(explained(sql))
    assert len(data["stages"]) == 2
    assert {step["stage"] for step in all_steps(data["plan"]) if "stage" in step} == {0, 1}


def test_a_window_applied_when_invoked_is_shown_without_steps() -> None:
    (query,) = parse("SELECT a FROM s1 BEGIN (NOW - INTERVAL 1 MINUTE) END (NOW)")
    assert isinstance(query, SelectQuery)
    text = explain(Explained(bind(query, CATALOG)))
    assert "BEGIN (NOW - INTERVAL 1 MINUTE) END (NOW)" in text
    assert "computed by SQL over the history whenever it is invoked" in " ".join(text.split())


def test_a_shared_input_says_with_how_many() -> None:
    shown = explained(GROUPS)
    digest = next(step.digest for step in steps_of(shown.tree) if step.does == "Stream packets")
    other = Explained(shown.plan, 2, shared={digest: 3})
    assert "Stream packets (shared with 3 other queries)" in explain(other)


def test_what_was_measured_stands_below_the_plan() -> None:
    shown = explained(GROUPS)
    measured = {
        step.key: StepMeasures(4, 1.0, Measures(rows_in=9), Measures(rows_in=7, positive=5, cpu_us=1500))
        for step in steps_of(shown.tree)
        if step.key is not None
    }
    measured[StepKey(0, "", STORE)] = StepMeasures(4, 1.0, Measures(), Measures(written_bytes=2_000))
    analyzed = Explained(shown.plan, 2, measured=measured)
    text = explain(analyzed)
    assert "measured per epoch, up to epoch 4" in text
    line = [line for line in text.splitlines() if "Group by" in line][1]
    assert line.split()[-9:] == ["7", "5", "0", "0", "0", "1.50", "0", "0.0", "0.0"]
    assert text.splitlines()[-1].split()[-1] == "2.0"
    data = explain_json(analyzed)
    assert data["plan"]["measured"]["last"]["rows_in"] == 9
    assert json.loads(json.dumps(data)) == data


def test_a_query_that_no_epoch_ran_has_nothing_measured() -> None:
    text = explain(Explained(explained(GROUPS).plan, 2, measured={}))
    assert "measured: nothing yet" in text


@pytest.mark.parametrize("way", ["time_message", "input_triggered"])
def test_it_is_said_where_time_reaches_operators_in_a_way_of_their_own(way: str) -> None:
    shown = replace(explained(JOIN, shards=1), expiration=way)
    assert f"\nexpiration '{way}': " in explain(shown)
    assert explain_json(shown)[way] is True
    assert "expiration" not in explain(explained(JOIN))


def test_long_lines_go_on_below_and_nothing_is_cut() -> None:
    columns = ", ".join(f"a + {n} AS a_rather_long_name_{n}" for n in range(12))
    text = explain(explained(f"SELECT {columns} FROM s1 [ROWS 3] WHERE a + b * 2 > 7"))
    assert all(len(line) <= 100 for line in text.splitlines())
    for n in range(12):
        assert f"a_rather_long_name_{n}" in text


@pytest.mark.parametrize("strategy", ["upa", "nt"])
def test_internal_results_stay_in_the_answer(strategy: str) -> None:
    window = "[RANGE 1 MINUTE INTERNAL]"
    sql = f"SELECT x.src FROM link0 {window} x, link1 {window} y WHERE x.src = y.src"
    assert f"answer: {Pattern.MONOTONIC} " in explain(explained(sql, strategy))


def test_a_strategy_that_makes_no_difference_is_said_to() -> None:
    note = "strategy 'nt' makes no difference to this plan"
    assert note in explain(explained(GROUPS, "nt"))
    assert note not in explain(explained(JOIN, "nt"))
    assert "makes no difference" not in explain(explained(GROUPS))


def test_a_query_of_a_group_shows_the_plan_of_the_group_and_its_own_part() -> None:
    plan = plan_of(GROUPS.replace("GROUP BY", "WHERE bytes > 7 GROUP BY"))
    found = template_of(plan)
    assert found is not None
    text = explain(Explained(make_plan(found[0].plan), 2, members=5, query=plan))
    assert "Match with the selections of all queries of the group, sum per pane and group" in text
    assert "for 5 queries" in " ".join(text.split())
    assert text.splitlines()[-1] == "this query: rows with packets.bytes > 7"


def test_a_selection_shows_what_is_kept_for_all_and_what_it_does_when_invoked() -> None:
    plan = plan_of("SELECT src FROM packets [RANGE 1 MINUTE] WHERE bytes > 7")
    found = template_of(plan)
    assert found is not None
    text = explain(Explained(make_plan(found[0].plan), 2, members=9, query=plan))
    assert line_of(text, "Window [RANGE 1 MINUTE] (when invoked)")[1] == "WEAKEST"
    assert "Keep tuples, and which of them each query has" in text
    assert "answer: WEAKEST (" in text
    assert "read from the tuples and matches of 9 queries" in " ".join(text.split())


def test_a_lookup_keeps_versions_alone_and_the_pattern_of_its_rows() -> None:
    text = explain(
        explained("SELECT src, rate FROM packets [RANGE 1 MINUTE] p, tariffs t WHERE p.proto = t.proto")
    )
    assert line_of(text, "Lookup on") == (
        "Lookup on p.proto = t.proto, at the time of p",
        "WEAKEST",
        "keeps versions: versions, rows meet the version of their time",
    )
    assert line_of(text, "Copy")[0] == "Copy to every shard"


def test_a_table_that_is_too_large_for_every_shard_is_shuffled_by_its_key() -> None:
    plan = plan_of("SELECT owner FROM packets [RANGE 1 MINUTE] p, hosts h WHERE p.src = h.src")
    text = explain(Explained(make_plan(plan, large_tables=frozenset(["hosts"])), 2))
    assert "Shuffle to 2 shards by h.src" in text
    assert "Copy" not in text


def with_costs(sql: str, *, assumed: bool, measured: float | None = None) -> Explained:
    """A plan whose steps are all expected to do the same."""
    shown = explained(sql)
    cost = StepCost(20.0, 12_345.0, 678.0, 0.0012, assumed, cpu_assumed=assumed)
    keys = [step.cost_key for step in steps_of(shown.tree) if step.cost_key is not None]
    found = None
    if measured is not None:
        done = Measures(positive=2 * measured, state_rows=70, cpu_us=3000)
        found = {key: StepMeasures(4, 2.0, done, done) for key in keys}
    return replace(shown, expected=dict.fromkeys(keys, cost), measured=found, utilization=("busy",))


def test_what_is_expected_stands_beside_the_plan() -> None:
    lines = explain(with_costs(JOIN, assumed=False)).splitlines()
    assert lines[0].split() == ["plan", "pattern", "rows/s", "state", "CPU", "ms/s"]
    assert lines[1].split()[-4:] == ["WEAK", "12,345", "678", "1.2"]
    (shuffle,) = (line for line in lines if "by x.src" in line)
    assert shuffle.split()[-3:] == ["12,345", "678", "1.2"]
    assert lines[-1] == "busy"
    assert max(map(len, lines)) <= 100


def test_assumed_figures_stand_in_brackets() -> None:
    text = explain(with_costs(JOIN, assumed=True))
    assert "(12,345)  (678)" in text
    assert "(figures) are assumed" in text
    assert "assumed" not in explain(with_costs(JOIN, assumed=False))


def test_what_was_measured_stands_beside_what_was_expected() -> None:
    shown = with_costs(JOIN, assumed=False, measured=11.0)
    lines = explain(shown).splitlines()
    place = next(n for n, line in enumerate(lines) if line.startswith("expected and measured per second"))
    assert lines[place].split()[-7:] == ["rows/s", "measured", "state", "measured", "CPU", "ms/s", "measured"]
    assert lines[place + 1].split()[-6:] == ["12,345", "11", "678", "70", "1.20", "1.50"]
    assert max(map(len, lines[place:])) <= 100
    assert explain_json(shown)["plan"]["expected"]["rows_out"] == 12_345


def test_what_was_measured_is_per_epoch_where_event_time_stood_still() -> None:
    shown = with_costs(JOIN, assumed=False, measured=11.0)
    assert shown.measured is not None
    still = {key: replace(found, seconds=0.000001) for key, found in shown.measured.items()}
    lines = explain(replace(shown, measured=still)).splitlines()
    place = next(n for n, line in enumerate(lines) if line.startswith("expected and measured per second"))
    assert lines[place + 1].split()[-6:] == ["12,345", "22/epoch", "678", "70", "1.20", "3.00/epoch"]
    assert max(map(len, lines[place:])) <= 100


def test_the_rules_that_changed_the_plan_are_named() -> None:
    shown = explained(JOIN)
    assert isinstance(shown.plan, PhysicalPlan)
    plan = replace(shown.plan, choice=Choice(rules=("push_below_window", "keep_needed_columns")))
    assert explain(Explained(plan, 2)).splitlines()[-1] == "rules: push_below_window, keep_needed_columns"
    assert explain_json(Explained(plan, 2))["rules"] == ["push_below_window", "keep_needed_columns"]
