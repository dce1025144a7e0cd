"""The queries of Nexmark and TPC-H: which of them run, with the answers of DuckDB, and which are refused and why.

`python -m tests.language.corpus` writes what comes of them now into their files.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import duckdb
import pytest

from panes.language import bind, parse
from panes.language import statements as st
from panes.plan.schema import Field
from panes.plan.types import DOUBLE
from tests.language.at_work import BEGIN, AtWork, is_answered
from tests.language.corpus import WORKLOADS, Case, outcome, read_cases, read_catalog
from tests.language.test_meaning import answer_of_plan, answer_of_text, small_database, value

CATALOG = read_catalog(folder=WORKLOADS)
CASES = read_cases(folder=WORKLOADS)
RUNNING = [case for case in CASES if not case.expected.startswith("refused\n")]

SEED = 6
"""With which every query finds something."""

WORDS = {
    "state": ("OR", "ID", "CA", "NY"),
    "channel": ("Apple", "Google", "other"),
    "url": ("https://a/b/c/d/e", "https://x/?a=1&channel_id=7", "none"),
    "extra": ("abc", "c", ""),
    "c_mktsegment": ("BUILDING", "BUILDING", "AUTOMOBILE"),
    "c_phone": ("13-1", "31-2", "23-3", "44-4"),
    "l_returnflag": ("R", "A"),
    "l_linestatus": ("O", "F"),
    "l_shipmode": ("MAIL", "SHIP", "AIR"),
    "n_name": ("GERMANY", "FRANCE"),
    "o_comment": ("special packed requests", "quick"),
    "o_orderpriority": ("1-URGENT", "2-HIGH", "5-LOW"),
    "o_orderstatus": ("F", "F", "O"),
    "p_brand": ("Brand#12", "Brand#23", "Brand#45"),
    "p_name": ("green apple", "dark green", "red"),
    "p_type": ("PROMO BRASS", "SMALL BRASS", "MEDIUM TIN"),
    "r_name": ("EUROPE",),
    "s_comment": ("Customer X Complaints", "good"),
}
"""Values of columns that the queries look at: with others, most of them would find nothing."""


def likely(field: Field, chance: random.Random) -> object:
    """A value for which the conditions of the queries are often true."""
    if field.name in WORDS:
        return chance.choice(WORDS[field.name])
    if field.name == "category":
        return chance.choice((10, 11))
    if field.name == "expires":
        return BEGIN.replace(tzinfo=None) + timedelta(minutes=chance.choice((20, 200)))
    if field.name == "date_time":
        return datetime(2026, 1, 31, 8) + timedelta(minutes=chance.randrange(100))
    if field.name in ("n_regionkey", "r_regionkey"):
        return chance.randrange(2)
    if field.name in ("s_nationkey", "c_nationkey", "n_nationkey"):
        return chance.randrange(4)
    if field.name == "o_custkey":
        return chance.randrange(5)  # some customers have no orders
    if field.type == DOUBLE:
        return chance.randrange(8) / 4 + 0.25
    found = value(field.type, chance)
    return 3 if found is None and "key" in field.name else found


@pytest.fixture(scope="module")
def at_work() -> AtWork:
    return AtWork(CATALOG, likely, seed=SEED)


@pytest.fixture(scope="module")
def duck() -> duckdb.DuckDBPyConnection:
    return small_database(30, CATALOG, likely)


def query_of(case: Case) -> st.SelectQuery:
    (query,) = parse(case.sql)
    assert isinstance(query, st.SelectQuery)
    return query


@pytest.mark.parametrize("case", CASES, ids=str)
def test_statement_has_this_plan_or_is_refused_like_this(case: Case) -> None:
    assert outcome(case.sql, CATALOG) == case.expected


@pytest.mark.parametrize("case", RUNNING, ids=str)
def test_duckdb_gives_the_same_answer_to_the_text_and_to_the_plan(
    case: Case, duck: duckdb.DuckDBPyConnection
) -> None:
    query = query_of(case)
    assert answer_of_plan(bind(query, CATALOG), duck) == answer_of_text(query, duck)


@pytest.mark.parametrize("case", RUNNING, ids=str)
def test_answers_at_work_are_those_of_duckdb(case: Case, at_work: AtWork) -> None:
    plan = bind(query_of(case), CATALOG)
    assert is_answered(plan)
    assert at_work.check(plan).num_rows > 0, "nothing is found, so that nothing is tested"
