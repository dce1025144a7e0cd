"""The page of settings lists those that there are."""

from __future__ import annotations

from panes.config import SETTINGS
from tests.settings_table import PAGE, renewed


def test_the_table_of_settings_is_that_of_the_code() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == renewed(text), "python -m tests.settings_table renews the page"
    assert all(f"| `{name}` |" in text for name in SETTINGS)
