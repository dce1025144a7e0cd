"""One word finds everything: a file has the name of the thing in it, and no two files have the same name."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command

from panes.cli.main import app

ROOT = Path(__file__).parent.parent / "panes"
MODULES = sorted(path for path in ROOT.rglob("*.py") if path.name != "__init__.py")
COMMANDS = set(getattr(get_command(app), "commands", {}))
NAMED_BY_THEIR_PLACE = {"base.py"}
"""The contracts of a package, whatever they are called."""

GROUPS = {
    "aggregates/choose_state.py": "one function per state that aggregates need",
    "aggregates/holistic.py": "the family of aggregates that need all values",
    "config.py": "the settings, under the name that everybody looks for",
    "delta/arrow_functions.py": "the functions of SQL over Arrow columns, with their table",
    "delta/calendar_functions.py": "the functions of SQL on days and instants",
    "delta/calendar_texts.py": "days and instants as text, and back",
    "delta/comparison.py": "the comparisons of SQL over Arrow columns",
    "delta/decimals.py": "the functions and casts of DECIMAL over Arrow columns",
    "delta/json_texts.py": "the functions of SQL on JSON in text",
    "delta/lists.py": "the functions of lists and STRUCTs over Arrow columns",
    "delta/keys.py": "equality and grouping of rows by key",
    "delta/real_functions.py": "the functions of SQL on real numbers",
    "delta/regular_expressions.py": "the functions of SQL with regular expressions",
    "delta/rows.py": "the operations on tables of rows",
    "delta/strings.py": "the functions of SQL on text",
    "history/completeness.py": "from when on the windows of a query have all of their tuples",
    "history/file_checksums.py": "computes the checksums of files and verifies them",
    "history/retention.py": "what RETAIN and the queries make a stream keep",
    "history/stored_types.py": "the types that Parquet stores, and how each is read",
    "ingest/file_sources.py": "which files a source reads, in which format and order, and by whom",
    "language/definition_text.py": "the texts of which definitions are made",
    "language/binder/aggregate_of_results.py": "binds an aggregate of the last results",
    "language/binder/bind_joins.py": "the steps of binding FROM and WHERE",
    "language/binder/bind_subqueries.py": "the steps of binding EXISTS and IN",
    "language/binder/bind_table_updates.py": "binds UPDATE, DELETE and ON CONFLICT",
    "language/binder/constants.py": "the constants of SQL as values",
    "language/binder/refusals.py": "one function per thing that is refused",
    "language/parser/dialect.py": "sqlglot finds a dialect by the name of its class",
    "language/parser/foreign_forms.py": "clauses of other systems, and what to write for each",
    "language/parser/syntax.py": "the nodes of the syntax tree",
    "language/positions.py": "errors that point at a position",
    "onetime/can_ask_once.py": "gives the reason when a query cannot be asked once",
    "optimizer/fact_names.py": "one function per kind of fact that has a name",
    "plan/join_keys.py": "equalities as keys: found, split and computed",
    "plan/sketch_sizes.py": "how much each sketch keeps, and its error",
    "plan/sql_functions.py": "the calls and casts of DuckDB",
    "runtime/batch_files.py": "the files of a micro-batch",
    "spark/daemon.py": "a program: Spark starts it by the name of the module",
    "runtime/ingest_task.py": "the tasks before the first shuffle, by kind of source",
    "state/storage/files.py": "the ways to write a file wholly or not at all",
    "state/storage/object_cache.py": "reads and writes through copies that are kept by name",
    "tables/constraints.py": "one function per constraint that rows are checked for",
    "testing.py": "what users import to test their queries",
    "spark/spark_files.py": "the files that Spark reads, as DataFrames",
}
"""Files in which a group of things is the thing."""


def words_of(name: str) -> tuple[str, ...]:
    """The stems of the words of a name: `QueryParser` and `parse_queries` have the same ones."""
    separated = name.lower() if name.isupper() else re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return tuple(stem(word) for word in separated.strip("_").split("_"))


def stem(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    ending = re.search(r"(?<=\w{3})(ing|ion|er|or|ed|es|s|e)$", word)
    return stem(word[: ending.start()]) if ending else word


def is_named_after(file: str, name: str) -> bool:
    """Whether a file and a public name have the same words, or one begins or ends with the other."""
    short, long = sorted((words_of(file), words_of(name)), key=len)
    return sorted(short) == sorted(long) or short in (long[: len(short)], long[-len(short) :])


def public_names(source: str) -> Iterator[str]:
    """The classes, functions and constants that a module defines for others."""
    for node in ast.parse(source).body:
        names: list[str] = []
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            names = [node.name]
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        yield from (name for name in names if not name.startswith("_"))


def is_the_name_of_its_thing(path: Path) -> bool:
    return any(is_named_after(path.stem, name) for name in public_names(path.read_text()))


def is_command(path: Path) -> bool:
    """Commands go by the words that people type, and each is defined under its name."""
    return path.parent == ROOT / "cli" and path.stem.replace("_", "-") in COMMANDS


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("group_by", "GroupBy"),
        ("parse_queries", "QueryParser"),
        ("partitioning", "partition_keys"),
        ("instants", "instant_of"),
        ("handlers", "HANDLERS"),
        ("except_", "Except"),
        ("history_store", "History"),
    ],
)
def test_a_file_may_be_named_after(file: str, name: str):
    assert is_named_after(file, name)


@pytest.mark.parametrize(
    ("file", "name"), [("leases", "Holds"), ("fragment", "Stage"), ("backlog", "files_left"), ("row", "grow")]
)
def test_a_file_is_not_named_after(file: str, name: str):
    assert not is_named_after(file, name)


def test_no_two_files_have_the_same_name():
    places = defaultdict(list)
    for path in MODULES:
        if path.name not in NAMED_BY_THEIR_PLACE and not is_command(path):
            places[path.name].append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_a_file_has_the_name_of_the_thing_in_it():
    checked = [
        path
        for path in MODULES
        if path.parts[len(ROOT.parts)] != "cli" and path.name not in NAMED_BY_THEIR_PLACE
    ]
    others = {str(path.relative_to(ROOT)) for path in checked if not is_the_name_of_its_thing(path)}
    assert others - GROUPS.keys() == set(), "no public name of the module has the file's words"
    assert GROUPS.keys() - others == set(), "it need not be listed as an exception"


def test_the_exceptions_are_files_that_there_are():
    listed = list(GROUPS)
    assert [name for name in listed if not (ROOT / name).exists()] == []
    assert len(listed) == len(set(listed))
