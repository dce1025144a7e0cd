"""The corpus: what every statement means, and why others are refused. See corpus.py for how to renew it."""

from __future__ import annotations

import pytest

from tests.language.corpus import Case, outcome, read_cases, read_catalog

CATALOG = read_catalog()
ACCEPTED = [case for case in read_cases() if not case.file.startswith("refused")]
REFUSED = read_cases("refused_*.txt")


@pytest.mark.parametrize("case", ACCEPTED, ids=str)
def test_statement_has_this_canonical_text_and_plan(case: Case) -> None:
    assert outcome(case.sql, CATALOG) == case.expected


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_statement_is_refused_with_this_message(case: Case) -> None:
    assert case.expected.startswith("refused\n")
    assert outcome(case.sql, CATALOG) == case.expected


def test_no_accepted_statement_is_in_fact_refused() -> None:
    assert [str(case) for case in ACCEPTED if "refused" in case.expected.splitlines()] == []


def test_corpus_is_as_large_as_promised() -> None:
    assert len(ACCEPTED) >= 150
    assert len(REFUSED) >= 60


def test_titles_are_unique() -> None:
    titles = [str(case) for case in ACCEPTED + REFUSED]
    assert len(titles) == len(set(titles))


def test_plans_fit_into_100_columns() -> None:
    shown = [
        line
        for case in ACCEPTED
        for line in case.expected.splitlines()
        if "─" in line or line.startswith("answer: ")
    ]
    assert len(shown) > len(ACCEPTED)
    assert [line for line in shown if len(line) > 100] == []
