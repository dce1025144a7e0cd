"""Whatever is fed to the parser and the binder, only SqlError comes out."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as draw

from panes.errors import SqlError
from panes.language import (
    bind,
    bind_copy,
    bind_delete,
    bind_insert,
    bind_invoke,
    bind_stream,
    bind_update,
    parse,
)
from panes.language import statements as st
from panes.stages.explain import Explained, explain, explain_json
from tests.language.corpus import read_cases, read_catalog

CATALOG = read_catalog()
TEXTS = [case.sql for case in read_cases()]
WORDS = sorted({word for text in TEXTS for word in text.replace("(", " ( ").replace(")", " ) ").split()})

# A minute would be a hang; everything else is only a slow machine.
FUZZ = settings(max_examples=300, deadline=timedelta(minutes=1))


def swallow(text: str) -> None:
    """Parses, prints and binds a text: SqlError is the only way to fail."""
    try:
        statements = parse(text)
    except SqlError:
        return
    for statement in statements:
        (again,) = parse(statement.sql)
        assert again == statement
        with suppress(SqlError):
            bind_any(statement)


def bind_any(statement: st.Statement) -> None:
    match statement.statement if isinstance(statement, st.CreateAgain) else statement:
        case st.SelectQuery():
            plan = bind(statement, CATALOG)
            assert explain(Explained(plan))
            assert explain_json(Explained(plan))
        case (
            st.CreateQuery(query=query)
            | st.AlterQueryAs(query=query)
            | st.Explain(target=st.SelectQuery() as query)
        ):
            bind(query, CATALOG)
        case st.CreateDerivedStream() as stream:
            bind_stream(stream, CATALOG)
        case st.InsertInto():
            bind_insert(statement, CATALOG)
        case st.UpdateTable():
            bind_update(statement, CATALOG)
        case st.DeleteFrom():
            bind_delete(statement, CATALOG)
        case st.CopyFrom():
            bind_copy(statement, CATALOG)
        case st.Invoke():
            bind_invoke(statement, ("src", "n"))


@FUZZ
@given(draw.text(max_size=200))
def test_any_text(text: str) -> None:
    swallow(text)


@FUZZ
@given(draw.lists(draw.sampled_from(WORDS), max_size=30))
def test_words_of_the_language_in_any_order(words: list[str]) -> None:
    swallow(" ".join(words))


@draw.composite
def mutated(drawing: draw.DrawFn) -> str:
    """A statement of the corpus with a few characters or words cut, doubled, swapped or replaced."""
    text = drawing(draw.sampled_from(TEXTS))
    for _ in range(drawing(draw.integers(1, 4))):
        start = drawing(draw.integers(0, len(text)))
        end = min(len(text), start + drawing(draw.integers(0, 12)))
        other = drawing(
            draw.one_of(
                draw.just(""),
                draw.sampled_from(WORDS).map(lambda word: f" {word} "),
                draw.sampled_from(TEXTS).map(lambda t: t[:40]),
                draw.just(text[start:end] * 2),
                draw.sampled_from(list("()[],.;'\"*-+/%=<>0159 \n\t\0\u2028é")),
            )
        )
        text = text[:start] + other + text[end:]
    return text


@FUZZ
@given(mutated())
def test_mutated_statements(text: str) -> None:
    swallow(text)


@draw.composite
def spliced(drawing: draw.DrawFn) -> str:
    """The words of one statement with a stretch of another's in their midst."""
    one = drawing(draw.sampled_from(TEXTS)).split()
    other = drawing(draw.sampled_from(TEXTS)).split()
    cut = drawing(draw.integers(0, len(one)))
    back = drawing(draw.integers(cut, len(one)))
    start = drawing(draw.integers(0, len(other)))
    end = drawing(draw.integers(start, len(other)))
    return " ".join([*one[:cut], *other[start:end], *one[back:]])


@FUZZ
@given(spliced())
def test_spliced_statements(text: str) -> None:
    swallow(text)


DEEP = 5000


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "(" * DEEP + "a" + ")" * DEEP + " FROM s1",
        "SELECT " + "-" + " -" * DEEP + "a FROM s1",
        "SELECT a FROM s1 WHERE " + "NOT " * DEEP + "a = 1",
        "SELECT a FROM s1 WHERE " + " AND ".join(["a = 1"] * DEEP),
        "SELECT a FROM s1 WHERE " + " OR ".join(["a = 1"] * DEEP),
        "SELECT " + " + ".join(["a"] * DEEP) + " FROM s1",
        "SELECT " + "upper(" * DEEP + "'a'" + ")" * DEEP + " FROM s1",
        "SELECT " + "CASE WHEN a = 1 THEN " * DEEP + "1" + " END" * DEEP + " FROM s1",
        "SELECT a FROM " + "(SELECT a FROM " * DEEP + "s1" + ")" * DEEP,
        "(" * DEEP + "SELECT a FROM s1" + ")" * DEEP,
        "Istream(" * DEEP + "SELECT a FROM s1" + ")" * DEEP,
        "SELECT a FROM s1 " + "UNION ALL SELECT a FROM s1 " * DEEP,
        "SELECT a FROM s1 [NOW] WHERE "
        + "EXISTS (SELECT * FROM s2 [NOW] WHERE " * DEEP
        + "a = 1"
        + ")" * DEEP,
        "SELECT a FROM s1 WHERE a IN (" + ", ".join(["1"] * DEEP) + ")",
        "SELECT " + ", ".join(["a"] * DEEP) + " FROM s1",
        "SELECT " + "9" * DEEP + " FROM s1",
        "SELECT 1." + "9" * DEEP + ", 1e" + "9" * DEEP + " FROM s1",
        "SELECT a FROM s1 [RANGE " + "9" * DEEP + " SECONDS]",
        "SELECT a FROM s1 [ROWS " + "9" * DEEP + "]",
        "SET x = " + "9" * DEEP,
        "SET x = 1e999",
        "SELECT '" + "a" * DEEP + "' FROM s1",
        "SELECT a FROM s1 ORDER BY " + ", ".join(["a"] * DEEP),
        "SELECT a FROM s1 LIMIT " + "9" * DEEP,
        ";" * DEEP,
        "x" * 1_000_001,
    ],
    ids=lambda text: text[:30],
)
def test_deep_long_and_large(text: str) -> None:
    swallow(text)


@pytest.mark.parametrize(
    "text", ["SELECT ² FROM s1", "SELECT 1² FROM s1", "[ROWS ²]", "\0", "\ud800", "SELECT a FROM s1 [ROWS ٣]"]
)
def test_odd_characters(text: str) -> None:
    swallow(text)
