"""`now()` and `current_timestamp`: bounds on lifetimes, or the instant of the answer."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from panes.errors import SqlError
from panes.language import bind, bind_query, parse
from panes.language.statements import CreateQuery, SelectQuery
from panes.plan.describe import describe
from panes.plan.nodes import Node, TemporalFilter
from panes.plan.now import at_instant, reads_now
from panes.plan.to_sql import to_sql
from panes.plan.walk import walk
from tests.language.corpus import read_catalog

CATALOG = read_catalog()
MINUTE = 60_000_000


def bound(text: str) -> Node:
    (query,) = parse(text)
    assert isinstance(query, SelectQuery)
    return bind(query, CATALOG)


def registered(text: str) -> Node:
    (statement,) = parse(f"CREATE QUERY q AS {text}")
    assert isinstance(statement, CreateQuery)
    return bind_query(statement, CATALOG)


def filters(plan: Node) -> list[str]:
    return [describe(node) for node in walk(plan) if isinstance(node, TemporalFilter)]


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        ("at > now() - INTERVAL 5 MINUTES", ["readings.at > now() - INTERVAL 5 MINUTES"]),
        ("now() - INTERVAL 5 MINUTES < at", ["readings.at > now() - INTERVAL 5 MINUTES"]),
        ("at <= current_timestamp", ["readings.at <= now()"]),
        ("current_timestamp >= at", ["readings.at <= now()"]),
        ("at = NOW() + INTERVAL 1 SECOND", ["readings.at = now() + INTERVAL 1 SECOND"]),
        (
            "at + INTERVAL 1 MINUTE < now()",
            ["readings.at + INTERVAL 1 MINUTE < now()"],
        ),
        (
            "value > 3 AND at BETWEEN now() - INTERVAL 2 MINUTES AND now()",
            ["readings.at <= now()", "readings.at >= now() - INTERVAL 2 MINUTES"],
        ),
    ],
)
def test_a_comparison_with_now_bounds_lifetimes(condition: str, shown: list[str]):
    plan = registered(f"SELECT sensor FROM readings [RANGE 1 HOUR] WHERE {condition}")
    assert filters(plan) == [f"Select while {text}" for text in shown]


def test_having_bounds_what_groups_have():
    plan = registered(
        "SELECT sensor FROM readings [RANGE 1 HOUR SLIDE 1 MINUTE] GROUP BY sensor "
        "HAVING count(*) > 1 AND max(at) < now() - INTERVAL 5 MINUTES"
    )
    assert filters(plan) == ["Select while max(readings.at) < now() - INTERVAL 5 MINUTES"]
    (found,) = (node for node in walk(plan) if isinstance(node, TemporalFilter))
    assert found.slides == (MINUTE,)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT now() AS t FROM readings [RANGE 1 HOUR]",
        "SELECT current_timestamp AS t FROM readings [RANGE 1 HOUR]",
        "SELECT sensor FROM readings [RANGE 1 HOUR] WHERE at > now() OR value > 1",
        "SELECT sensor FROM readings [RANGE 1 HOUR] WHERE extract(hour FROM now()) = 3",
        "SELECT count(*) FROM readings [RANGE 1 HOUR] GROUP BY at < now()",
    ],
)
def test_elsewhere_now_is_refused_in_a_standing_query(query: str):
    with pytest.raises(SqlError, match="it only bounds a time of the rows") as refused:
        registered(query)
    assert "as_of" in str(refused.value)
    assert reads_now(bound(query)), "asked once it is fine"


def test_results_that_stay_take_no_bound():
    with pytest.raises(SqlError, match="INTERNAL"):
        registered("SELECT sensor FROM readings [RANGE 1 HOUR INTERNAL] WHERE at > now() - INTERVAL 1 MINUTE")


def test_at_an_instant_a_plan_has_that_instant_for_now():
    plan = at_instant(bound("SELECT now() AS t FROM readings [RANGE 1 HOUR] WHERE at <= now()"), 5 * MINUTE)
    assert not reads_now(plan)
    assert filters(plan) == []
    (window,) = (node for node in walk(plan) if type(node).__name__ == "Window")
    sql = to_sql(plan, {window: "SELECT * FROM x"})
    assert sql.count(f"{datetime(1970, 1, 1, 0, 5, tzinfo=UTC):%Y-%m-%d %H:%M:%S}") == 2


def test_a_column_of_that_name_is_the_column():
    assert not reads_now(
        bound("SELECT current_timestamp FROM (SELECT at AS current_timestamp FROM readings [NOW]) d")
    )
