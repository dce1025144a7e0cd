"""The glossary of docs/architecture.md: its words are used, and defined once; those that it bans are not used."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "architecture.md"
SECTION = re.compile(r"^## Glossary\n(.*?)(?=^## )", re.DOTALL | re.MULTILINE)
MODULES = sorted((ROOT / "panes").rglob("*.py"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def rows(table: int) -> list[tuple[str, str]]:
    """The rows of a table of the glossary: words, and what they mean or what to write instead."""
    section = SECTION.search(PAGE.read_text())
    assert section is not None
    found = section[1].strip().split("\n\n")
    tables = [block.splitlines()[2:] for block in found if block.startswith("|")]
    return [tuple(cell.strip() for cell in line.strip("|").split("|", 1)) for line in tables[table]]  # type: ignore[misc]


WORDS = [word.strip() for words, _ in rows(0) for word in words.split(",")]
WORDS += [word for _, meaning in rows(0) for word in re.findall(r"\*([^*]+)\*", meaning)]
BANNED = [word.strip() for words, _ in rows(1) for word in words.split(",")]


def prose(path: Path) -> str:
    """The docstrings and comments of a module; of a page all but code and the glossary."""
    text = path.read_text()
    if path.suffix == ".md":
        text = re.sub(r"^```.*?^```$", "", SECTION.sub("", text), flags=re.DOTALL | re.MULTILINE)
        return re.sub(r"\s+", " ", re.sub(r"`[^`]*`", "`…`", text))
    return re.sub(r"\s+", " ", " ".join(re.sub(r"`[^`]*`", "`…`", said) for said in said_in(text)))


def said_in(source: str) -> Iterator[str]:
    """The texts of a module that nothing reads but people."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("# ")


def banned_in(text: str) -> list[str]:
    return [word for word in BANNED if re.search(rf"\b{re.escape(word)}(es|s|ed)?\b", text, re.IGNORECASE)]


def in_words(text: str) -> str:
    """Names and prose alike as words: `TimerQueue`, `timer_queue` and `timer queues` have the same ones."""
    separated = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", SECTION.sub("", text))
    return re.sub(r"[\W_]+", " ", separated).lower()


@cache
def all_words() -> str:
    return " ".join(in_words(path.read_text()) for path in [*MODULES, *PAGES])


@pytest.mark.parametrize("word", WORDS)
def test_a_word_of_the_glossary_is_used(word: str):
    singular = in_words(word)
    forms = {singular, f"{singular}s", f"{singular}es", re.sub("y$", "ies", singular)}
    assert re.search(rf"\b({'|'.join(forms)})\b", all_words())


@pytest.mark.parametrize("word", ["how-manieth", "frobnicated row"])
def test_a_word_that_nobody_uses_is_noticed(word: str):
    assert not re.search(rf"\b{in_words(word)}\b", all_words())


def test_a_word_is_defined_once():
    assert [word for word, count in Counter(word.lower() for word in WORDS).items() if count > 1] == []


def test_every_word_has_a_meaning_and_every_banned_one_a_replacement():
    assert [words for words, meaning in rows(0) + rows(1) if not meaning.strip(" .…")] == []


def test_no_word_of_the_glossary_is_banned_and_no_meaning_uses_a_banned_one():
    assert {word.lower() for word in WORDS} & {word.lower() for word in BANNED} == set()
    assert [meaning for _, meaning in rows(0) if banned_in(meaning)] == []


@pytest.mark.parametrize(
    "text", ["rows are put aside", "Stretches of time", "A row is\ndealt  out", "Timed is `run`"]
)
def test_banned_words_are_found_in_any_form(text: str):
    assert banned_in(re.sub(r"\s+", " ", text))


@pytest.mark.parametrize("text", ["under `aside/`", "the besides", "outstretched"])
def test_code_and_other_words_are_not_taken_for_banned_ones(text: str):
    assert not banned_in(re.sub(r"`[^`]*`", "`…`", text))


def test_words_that_the_glossary_bans_are_not_used():
    used = {str(path.relative_to(ROOT)): banned_in(prose(path)) for path in [*MODULES, *PAGES]}
    told = "the glossary in docs/architecture.md says what to write instead"
    assert {path: words for path, words in used.items() if words} == {}, told
