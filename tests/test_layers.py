"""Imports point one way: a part of Panes may import the parts to its left, never those to its right."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "panes"
PUBLIC_FACE = "panes"
"""The name here of panes/__init__.py: whoever writes `import panes` depends on all of what it imports."""

LAYERS: tuple[frozenset[str], ...] = tuple(
    frozenset(layer.split())
    for layer in (
        "errors clock config metrics java crash_points directory",
        "sqlite_file",
        "delta plan",
        "language",
        "query_settings",
        "catalog",
        "followed_catalog",
        "state aggregates",
        "history",
        "tables",
        "operators",
        "synopses",
        "sharing",
        "schedule",
        "answers",
        "onetime",
        "stages ingest",
        "optimizer",
        "runtime",
        "spark",
        "local",
        "status run_report",
        "check",
        "progress_bar",
        "connection stored_plans incomplete_queries waits",
        "why_not_refreshed",
        "possible_answers",
        "answer_ways",
        "current_statistics registered",
        "replanning refreshing invocation_rates",
        "answer_switching",
        "answer_sources running_queries",
        "standing_answers shedding",
        "answered_from synopsis_answers",
        "reads",
        "runs query",
        "statements",
        "read_block",
        "database",
        PUBLIC_FACE,
        "testing",
        "server cli",
    )
)
RANK = {part: rank for rank, layer in enumerate(LAYERS) for part in layer}
MODULES = sorted(ROOT.rglob("*.py"))


def part_of(path: Path) -> str:
    """The folder or file directly under panes/ that a module belongs to."""
    first = path.relative_to(ROOT).parts[0].removesuffix(".py")
    return PUBLIC_FACE if first == "__init__" else first


def imported_modules(source: str, package: str) -> Iterator[str]:
    """The full names of all modules (or names in modules) that the source imports, at any depth."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*parents, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


@cache
def imported_by(path: Path) -> frozenset[str]:
    """What a module of Panes imports."""
    package = ".".join(path.relative_to(ROOT.parent).parent.parts)
    return frozenset(imported_modules(path.read_text(), package))


def imported_parts(path: Path) -> set[str]:
    parts = set()
    for name in imported_by(path):
        top, _, rest = name.partition(".")
        if top == "panes":
            first = rest.partition(".")[0]
            is_a_part = (ROOT / first).is_dir() or (ROOT / f"{first}.py").exists()
            parts.add(first if first and is_a_part else PUBLIC_FACE)
    return parts


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import panes", ["panes"]),
        ("import panes.plan.nodes as nodes", ["panes.plan.nodes"]),
        ("from panes.plan import nodes, types", ["panes.plan.nodes", "panes.plan.types"]),
        ("from panes import connect", ["panes.connect"]),
        ("from . import chunk", ["panes.state.chunk"]),
        ("from ..delta import delta", ["panes.delta.delta"]),
        ("def f():\n    from panes.spark import session", ["panes.spark.session"]),
    ],
)
def test_every_form_of_import_is_seen(source: str, names: list[str]):
    assert list(imported_modules(source, package="panes.state")) == names


def test_every_part_has_a_place_in_the_layers():
    assert {part_of(path) for path in MODULES} - RANK.keys() == set()


def test_contributing_lists_the_layers_that_there_are():
    page = (ROOT.parent / "CONTRIBUTING.md").read_text()
    listed = [set(line.split()) for line in page.split("```text\n")[1].split("```")[0].splitlines()]
    there = {part_of(path) for path in MODULES}
    assert listed == [layer & there for layer in LAYERS if layer & there], "mend the list in CONTRIBUTING.md"


def test_imports_only_from_the_left():
    to_the_right = {
        str(path.relative_to(ROOT)): wrong
        for path in MODULES
        if (wrong := {part for part in imported_parts(path) if RANK[part] > RANK[part_of(path)]})
    }
    assert to_the_right == {}, "these parts lie to the right of the modules that import them"


def test_parts_do_not_import_each_other_in_a_circle():
    graph: dict[str, set[str]] = {}
    for path in MODULES:
        own = part_of(path)
        graph.setdefault(own, set()).update(imported_parts(path) - {own})
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def importers_of(*packages: str) -> set[str]:
    """The parts with a module that imports one of the packages."""
    return {
        part_of(path)
        for path in MODULES
        if any(name.partition(".")[0] in packages for name in imported_by(path))
    }


def test_only_the_spark_package_imports_pyspark():
    assert importers_of("pyspark") == {"spark"}


def test_nothing_is_unpickled_from_files():
    """To read a pickle is to execute it. What tasks need goes through Spark."""
    assert importers_of("pickle", "cloudpickle", "shelve", "marshal", "dill", "joblib") == set()


def test_every_file_of_the_spark_folder_knows_spark_and_no_other_does() -> None:
    for path in ROOT.rglob("*.py"):
        imported = {name.partition(".")[0] for name in imports_in(path)}
        if path.parent == ROOT / "spark" and path.name != "__init__.py":
            assert imported & {"pyspark", "py4j"}, f"{path.name} belongs elsewhere"
        elif path.parent != ROOT / "spark":
            assert not imported & {"pyspark", "py4j"}, f"{path} belongs in panes/spark"


def imports_in(path: Path) -> Iterator[str]:
    """The modules that a file imports, wherever in it that stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
