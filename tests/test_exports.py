"""What modules say they offer is what they offer."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import panes
from panes import errors

FOUND = list(pkgutil.walk_packages(panes.__path__, "panes."))
MODULES = ["panes", *(module.name for module in FOUND)]
PACKAGES = ["panes", *(module.name for module in FOUND if module.ispkg)]


def test_every_exported_name_exists_once():
    exported = {
        name: (module, list(getattr(module, "__all__", [])))
        for name, module in ((name, importlib.import_module(name)) for name in MODULES)
    }
    missing = [
        (name, n) for name, (module, names) in exported.items() for n in names if not hasattr(module, n)
    ]
    assert missing == []
    assert [name for name, (_, names) in exported.items() if len(names) != len(set(names))] == []


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_exports_all_that_it_gathers_from_panes(name: str):
    package = importlib.import_module(name)
    gathered = {
        n
        for n, value in vars(package).items()
        if not n.startswith("_") and getattr(value, "__module__", "").split(".")[0] == "panes"
    }
    assert gathered - set(getattr(package, "__all__", [])) == set()


def test_the_tree_of_errors_names_every_error():
    drawn = set(re.findall(r"(?:PanesError|PanesWarning|(?<=─ )\w+)", errors.__doc__ or ""))
    defined = {n for n, value in vars(errors).items() if isinstance(value, type)}
    assert drawn == defined


def test_every_error_is_a_panes_error():
    defined = [value for value in vars(errors).values() if isinstance(value, type)]
    assert [e for e in defined if not issubclass(e, errors.PanesError)] == [errors.PanesWarning]


def test_the_version_is_that_of_the_project():
    project = (Path(__file__).parent.parent / "pyproject.toml").read_text()
    assert re.findall(r'^version = "(.+)"$', project, re.MULTILINE) == [panes.__version__]
