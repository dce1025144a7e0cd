"""The recipes of CONTRIBUTING.md name files that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RECIPES = (
    (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Recipes\n")[2].partition("\n## ")[0]
)
FILES = sorted(set(re.findall(r"`((?:panes|tests|docs)/[\w/.-]+)`", RECIPES)))


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_a_recipe_names_is_there(file: str) -> None:
    assert (ROOT / file).is_file()


def test_there_is_a_recipe_for_whatever_is_added_often() -> None:
    titles = re.findall(r"\*\*To add an? (\w+)\.\*\*", RECIPES)
    assert set(titles) >= {"operator", "rule", "aggregate", "window", "source"}
