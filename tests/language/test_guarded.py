"""Only errors that the language raises on purpose are shown as errors of the statement."""

from __future__ import annotations

from typing import NoReturn

import pytest

from panes.errors import InternalError, SqlError
from panes.language import bind, parse
from panes.language import statements as st
from panes.language.binder.bind_query import QueryBinder
from panes.language.parser.dialect import Panes
from panes.plan.nodes import PlanError
from tests.language.corpus import read_catalog

SQL = "SELECT src FROM packets [NOW]"


def planted(error: Exception) -> object:
    def fails(*_: object) -> NoReturn:
        raise error

    return fails


def bound() -> None:
    (query,) = parse(SQL)
    assert isinstance(query, st.SelectQuery)
    bind(query, read_catalog())


@pytest.mark.parametrize(
    "error", [ValueError("3 is odd"), PlanError("3 is odd"), KeyError("3"), TypeError("3")]
)
def test_a_bug_in_the_binder_is_an_internal_error_with_its_traceback(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QueryBinder, "in_order", planted(error))
    with pytest.raises(InternalError, match=f"internal error: {type(error).__name__}: .*3") as caught:
        bound()
    assert caught.value.__cause__ is error
    assert "in fails" in caught.value.details
    assert "line 1, column 1" not in str(caught.value)


def test_a_bug_in_the_parser_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Panes, "tokenize", planted(ValueError("3 is odd")))
    with pytest.raises(InternalError, match="a bug in Panes"):
        parse(SQL)


def test_what_is_refused_on_purpose_stays_an_error_of_the_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QueryBinder, "in_order", planted(SqlError("3 is odd", sql=SQL, column=8)))
    with pytest.raises(SqlError, match="line 1, column 8: 3 is odd"):
        bound()
