"""EXPLAIN (PLANS) as text and as data."""

from __future__ import annotations

from panes.stages.explain_plans import WIDTH, explain_plans, explain_plans_json
from panes.stages.physical_plan import Candidate, Choice

ONE = Candidate(
    "negation down", "(a ▷ c) ⋈ b", 1234.5, 90_000.0, 0.0163, "chosen: 41 % cheaper than as written"
)
OTHER = Candidate(
    "as written", "(a ⋈ b) ▷ c", 98_765.0, 3_602_000.0, 1.68, "103 times the cost: (a ⋈ b) keeps 90,000 rows"
)


def test_candidates_stand_in_a_table_with_shape_and_verdict_below() -> None:
    assert explain_plans(Choice(("push_below_window",), (ONE, OTHER), 2.0)).splitlines() == [
        "plan           rows/s  state rows  CPU ms/s  utilization",
        "negation down   1,234      90,000      16.3       0.81 %",
        "  (a ▷ c) ⋈ b",
        "  chosen: 41 % cheaper than as written",
        "as written     98,765   3,602,000     1,680         84 %",
        "  (a ⋈ b) ▷ c",
        "  103 times the cost: (a ⋈ b) keeps 90,000 rows",
        "utilization is of 2 cores",
        "rules that changed all of them: push_below_window",
    ]


def test_no_line_is_wider_than_the_page() -> None:
    long = Candidate(
        ", ".join(["negation of something down"] * 9),
        " ⋈ ".join(["a_long_name"] * 30),
        1e12,
        1e15,
        1e6,
        "dear " * 40,
    )
    lines = explain_plans(Choice(("a_rule",) * 20, (long, ONE))).splitlines()
    assert max(map(len, lines)) <= WIDTH


def test_programs_get_the_same_facts() -> None:
    data = explain_plans_json(Choice(("a_rule",), (ONE,), 2.0))
    assert data["candidates"] == [
        {
            "name": "negation down",
            "shape": "(a ▷ c) ⋈ b",
            "rate": 1234.5,
            "state": 90_000.0,
            "cost": 0.0163,
            "verdict": "chosen: 41 % cheaper than as written",
            "utilization": 0.00815,
        }
    ]
    assert (data["capacity"], data["rules"]) == (2.0, ["a_rule"])
