"""The queries of the corpus at work: their answers are those of DuckDB over what the windows hold."""

from __future__ import annotations

import pytest

from tests.language.at_work import AtWork, is_answered
from tests.language.test_meaning import CASES, CATALOG, plan_of, value

PLANS = {str(case): plan for case in CASES if is_answered(plan := plan_of(case))}


@pytest.fixture(scope="module")
def at_work() -> AtWork:
    return AtWork(CATALOG, lambda field, chance: value(field.type, chance))


@pytest.mark.parametrize("title", PLANS)
def test_answers_at_work_are_those_of_duckdb(title: str, at_work: AtWork) -> None:
    at_work.check(PLANS[title])


def test_most_queries_of_the_corpus_run() -> None:
    assert len(PLANS) >= 200
