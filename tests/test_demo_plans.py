"""The page with the plans of the demo shows what runs."""

from __future__ import annotations

from tests.demo_plans import PAGE, masked, renewed


def test_the_page_shows_what_runs() -> None:
    assert masked(PAGE.read_text(encoding="utf-8")) == masked(renewed()), "python -m tests.demo_plans"
