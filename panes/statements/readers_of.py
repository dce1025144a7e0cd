"""Who reads a stream, a table or a query: the derived streams and queries that name it in FROM."""

from __future__ import annotations

from panes.catalog import Catalog
from panes.errors import CatalogError
from panes.language.binder.names_read import names_read
from panes.language.statements import CreateDerivedStream, CreateQuery


def readers_of(name: str, catalog: Catalog) -> list[CreateDerivedStream | CreateQuery]:
    """The derived streams and queries whose own texts name it, streams first."""
    readers: list[CreateDerivedStream | CreateQuery] = [
        stream for stream in catalog.streams() if isinstance(stream, CreateDerivedStream)
    ]
    readers += catalog.all_registered()
    return [reader for reader in readers if name.casefold() in names_read(reader.query)]


def all_readers_of(name: str, catalog: Catalog) -> list[CreateDerivedStream | CreateQuery]:
    """The same with those that read it through others; none comes before what it reads."""
    found: dict[str, CreateDerivedStream | CreateQuery] = {}
    waiting = readers_of(name, catalog)
    while waiting:
        reader = waiting.pop(0)
        # One that is found again, further away, comes after what it was found through.
        found.pop(reader.name, None)
        found[reader.name] = reader
        waiting += readers_of(reader.name, catalog)
    return list(found.values())


def check_unread(name: str, catalog: Catalog) -> None:
    """Raises CatalogError when a derived stream or a query reads it."""
    readers = [said(reader) for reader in readers_of(name, catalog)]
    if len(readers) == 1:
        raise CatalogError(f"{name!r} is read by {readers[0]}; drop that first")
    if readers:
        listed = f"{', '.join(readers[:-1])} and {readers[-1]}"
        raise CatalogError(f"{name!r} is read by {listed}; drop those first")


def said(reader: CreateDerivedStream | CreateQuery) -> str:
    """A reader as messages name it."""
    kind = "query" if isinstance(reader, CreateQuery) else "stream"
    return f"{kind} {reader.name!r}"
