"""CREATE FUNCTION and CREATE AGGREGATE: functions of users, kept by import path."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any

from panes.delta.imported import imported
from panes.errors import CatalogError, EvaluationError, SqlError
from panes.language import parse
from panes.language.binder.mark_own_functions import is_built_in
from panes.language.names import quoted
from panes.language.statements import CreateFunction
from panes.plan.types import INTERVAL, NULL
from panes.statements.context import Context

_BY_ANNOTATION = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", str: "STRING", bytes: "BINARY", date: "DATE",
                  datetime: "TIMESTAMP"}  # fmt: skip
_METHODS = ("zero", "add", "result")
_HINT = "put it at the top level of a module that tasks can import"


def create_function(statement: CreateFunction, context: Context) -> None:
    """Adds a function to the catalog. Raises CatalogError when it cannot be imported, or its name is taken."""
    if is_built_in(statement.name):
        raise CatalogError(f"{statement.name!r} is a function of the language; choose another name")
    for type_ in (statement.returns, *statement.takes.types):
        if type_ in (INTERVAL, NULL):
            raise CatalogError(f"functions take and give no {type_}")
    _check(statement)
    context.catalog.created_functions.create(statement)


def function_statement(
    name: str,
    function: Callable[..., Any] | str,
    returns: str | None,
    takes: Sequence[str] | None,
    *,
    vectorized: bool | None,
    null_in: bool,
) -> CreateFunction:
    """The statement for a Python function. What is not said is taken from its annotations."""
    path = import_path(function)
    found = _annotations(imported_or_refused(path))
    arguments = [kind for argument, kind in found.items() if argument != "return"]
    if vectorized is None:
        vectorized = any("Array" in str(kind) for kind in arguments)
    given = [_type_name(kind, name, "takes") for kind in arguments] if takes is None else list(takes)
    result = _type_name(found.get("return"), name, "returns") if returns is None else returns
    words = " VECTORIZED" * vectorized + " CALLED ON NULL INPUT" * null_in
    return _parsed("FUNCTION", name, given, result, path, words)


def aggregate_statement(
    name: str, aggregate: type | str, returns: str, takes: Sequence[str]
) -> CreateFunction:
    """The statement for a Python class with the methods of an aggregate."""
    return _parsed("AGGREGATE", name, list(takes), returns, import_path(aggregate), "")


def import_path(thing: Callable[..., Any] | type | str) -> str:
    """Where a function or a class is imported from. Raises CatalogError when it cannot be."""
    if isinstance(thing, str):
        return thing
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    if not module or not name:
        raise CatalogError(f"{thing!r} has no name to import it by; {_HINT}")
    path = f"{module}:{name}"
    if module == "__main__":
        raise CatalogError(f"{name} is defined in the script that runs, which tasks cannot import; {_HINT}")
    if "<" in name:
        raise CatalogError(f"{path} is a lambda or inside another function; {_HINT}")
    if imported_or_refused(path) is not thing:
        raise CatalogError(f"{path} is another object when it is imported; {_HINT}")
    return path


def imported_or_refused(path: str) -> Any:
    """The object of an import path. Raises CatalogError when it is not there."""
    if ":" not in path:
        raise CatalogError(f"{path!r} is no import path; write it as 'module:function'")
    try:
        return imported(path)
    except EvaluationError as error:
        raise CatalogError(f"{path} cannot be imported: {error.__cause__}") from error


def _check(statement: CreateFunction) -> None:
    found = imported_or_refused(statement.path)
    if not callable(found):
        raise CatalogError(f"{statement.path} cannot be called")
    if not statement.is_aggregate:
        return
    missing = [method for method in _METHODS if not callable(getattr(found, method, None))]
    if missing or not isinstance(found, type):
        raise CatalogError(
            f"{statement.path} is no aggregate: a class with the methods zero(), add(state, value) and "
            f"result(state) is, and it has no {', '.join(missing) or 'class'}"
        )
    if len(statement.takes) != 1:
        raise CatalogError("an aggregate takes one column; put several into one, by an expression")


def _annotations(function: Any) -> dict[str, Any]:
    try:
        return inspect.get_annotations(function, eval_str=True)
    except Exception:
        return {}  # what is written there need not be there to be imported


def _type_name(kind: Any, name: str, what: str) -> str:
    if kind not in _BY_ANNOTATION:
        raise CatalogError(f"{what}= is needed: what {name} {what} is not told by its annotations")
    return _BY_ANNOTATION[kind]


def _parsed(kind: str, name: str, takes: list[str], returns: str, path: str, words: str) -> CreateFunction:
    columns = ", ".join(f"x{place} {type_}" for place, type_ in enumerate(takes, start=1))
    text = f"CREATE {kind} {quoted(name)} ({columns}) RETURNS {returns} AS '{path}'{words}"
    (statement,) = parse(text)
    if not isinstance(statement, CreateFunction):
        raise SqlError("this is no name of a function", sql=text)
    return statement
