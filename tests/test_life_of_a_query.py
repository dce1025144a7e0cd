"""The page that follows a query shows what the code gives."""

from __future__ import annotations

from tests.life_of_a_query import PAGE, renewed


def test_the_page_shows_what_the_code_gives() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == renewed(text), "python -m tests.life_of_a_query renews the page"
