"""DROP FUNCTION name: removes a function or an aggregate of a user."""

from __future__ import annotations

from panes.errors import CatalogError
from panes.language.binder.functions_called import functions_called
from panes.language.statements import CreateDerivedStream, CreateQuery, DropFunction
from panes.statements.context import Context
from panes.statements.readers_of import said


def drop_function(statement: DropFunction, context: Context) -> None:
    """Removes a function. Raises CatalogError while a query or a derived stream calls it."""
    catalog = context.catalog
    if statement.if_exists and statement.name not in catalog.functions():
        return
    with catalog.transaction():
        callers: list[CreateDerivedStream | CreateQuery] = [
            stream for stream in catalog.streams() if isinstance(stream, CreateDerivedStream)
        ]
        for reader in [*callers, *catalog.all_registered()]:
            if statement.name in functions_called(reader.query):
                raise CatalogError(
                    f"the function {statement.name!r} is called by {said(reader)}; drop that first"
                )
        catalog.created_functions.drop(statement.name)
