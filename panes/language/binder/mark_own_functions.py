"""Functions of users in the text of a query: calls of names that no function of the language has."""

from __future__ import annotations

from sqlglot import exp

from panes.language.binder.known_relations import KnownRelations
from panes.language.binder.short_forms import SHORT_FORMS
from panes.language.statements import CreateFunction
from panes.plan.aggregates import AGGREGATE_ALIASES, AGGREGATES
from panes.plan.functions import ALIASES, FUNCTIONS

_OWN, _NAMES = "own_function", "own_functions"


def is_built_in(name: str) -> bool:
    """Whether the language itself has a function or an aggregate of that name."""
    return name in {*FUNCTIONS, *ALIASES, *SHORT_FORMS, *AGGREGATES, *AGGREGATE_ALIASES}


def mark_own_functions(tree: exp.Expression, catalog: KnownRelations) -> None:
    """Notes at each call which function of a user it calls, and at unknown names which there are."""
    unknown = [call for call in tree.find_all(exp.Anonymous) if not is_built_in(call.name)]
    functions = catalog.functions() if unknown else {}
    for call in unknown:
        call.meta[_OWN] = functions.get(call.name)
        call.meta[_NAMES] = tuple(functions)


def own_function(call: exp.Expr) -> CreateFunction | None:
    """The function of a user that a call calls."""
    found = call.meta.get(_OWN)
    return found if isinstance(found, CreateFunction) else None


def own_names(call: exp.Expr) -> tuple[str, ...]:
    """The functions of users that there are."""
    names: tuple[str, ...] = call.meta.get(_NAMES, ())
    return names
