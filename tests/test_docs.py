"""What the pages say is true: links lead somewhere, commands exist, and programs print what is shown."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import panes
from panes.cli.main import app

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MODULES = ["panes", *(module.name for module in pkgutil.walk_packages(panes.__path__, "panes."))]


def blocks(page: Path, language: str) -> list[str]:
    return [body for name, body in BLOCK.findall(page.read_text()) if name == language]


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path):
    broken = []
    for link in LINK.findall(BLOCK.sub("", page.read_text())):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_make_targets_that_are_mentioned_exist(page: Path):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)", page.read_text())) - targets == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_that_are_mentioned_exist(page: Path):
    text = CliRunner().invoke(app, ["--help"]).output
    for command in set(re.findall(r"`panes ([a-z]+)", page.read_text())):
        assert re.search(rf"\b{command}\b", text), f"there is no command 'panes {command}'"


def test_examples_in_docstrings_give_what_they_show():
    results = {name: doctest.testmod(importlib.import_module(name)) for name in MODULES}
    assert {name: result for name, result in results.items() if result.failed} == {}
    assert any(result.attempted for result in results.values())


@pytest.mark.usefixtures("commands_on_spark")
@pytest.mark.parametrize("page", ["README.md", "docs/coming-back.md", "docs/tables.md"])
def test_the_first_program_of_a_page_prints_what_the_page_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], page: str
):
    program, shown = blocks(ROOT / page, "python")[0], blocks(ROOT / page, "text")[0]
    monkeypatch.chdir(ROOT)
    exec(compile(program, page, "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_variables_of_make_that_are_mentioned_exist(page: Path):
    used = set(re.findall(r"\$\(([A-Z]+)\)", (ROOT / "Makefile").read_text()))
    assert set(re.findall(r"`make [a-z ]*([A-Z]+)=", page.read_text())) - used == set()


def test_contributing_names_the_versions_of_python_that_are_supported():
    required = re.search(r'requires-python = ">=3\.(\d+),<3\.(\d+)"', (ROOT / "pyproject.toml").read_text())
    assert required is not None
    page = (ROOT / "CONTRIBUTING.md").read_text()
    assert f"Python 3.{required[1]} to 3.{int(required[2]) - 1}," in page


def test_contributing_says_what_is_in_every_folder():
    listed = set(re.findall(r"^\| `panes/(\w+)/` \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE))
    assert listed == {path.parent.name for path in (ROOT / "panes").glob("*/__init__.py")}


@pytest.mark.parametrize("program", blocks(ROOT / "docs" / "testing-queries.md", "python"))
def test_programs_of_the_page_on_testing_run(program: str):
    exec(compile(program, "docs/testing-queries.md", "exec"), {})
