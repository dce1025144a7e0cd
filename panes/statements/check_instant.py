"""Whether AT TIMESTAMP names an instant that is still to come for all who read the table."""

from __future__ import annotations

from panes.catalog import Catalog
from panes.clock import to_datetime
from panes.delta.delta import BEGINNING
from panes.language.binder.known_relations import find
from panes.language.binder.names_read import names_read
from panes.language.positions import offset_of, refuse
from panes.language.statements import CreateDerivedStream, CreateQuery, CreateTable, TableStatement
from panes.statements.context import Context


def check_instant(statement: TableStatement, table: CreateTable, context: Context) -> None:
    """Raises SqlError for an instant that a stream has passed which a registered query reads beside the table: its
    tuples have met the table as it was, and answers have been given."""
    if statement.at is None:
        return
    latest = context.connection.log.latest()
    streams = {} if latest is None else latest.streams
    for stream in context.catalog.base_streams():
        clock = streams[stream.number].clock if stream.number in streams else BEGINNING
        if statement.at > clock:
            continue
        for query in context.catalog.all_registered():
            names = _names_below(query, context.catalog)
            if stream.name.casefold() in names and table.name.casefold() in names:
                refuse(
                    f"stream {stream.name!r}, which query {query.name!r} reads with {table.name}, has come to "
                    f"{to_datetime(clock):%Y-%m-%d %H:%M:%S.%f} already",
                    statement.text,
                    offset_of(statement.tree.args["at"]),
                    "name a later instant, or leave AT TIMESTAMP out",
                )


def _names_below(query: CreateQuery, catalog: Catalog) -> set[str]:
    """The streams and tables that a query reads, also through derived streams and queries, case folded."""
    found: set[str] = set()
    waiting = set(names_read(query.query))
    while waiting:
        name = waiting.pop()
        found.add(name)
        read = find(catalog, name)
        if isinstance(read, (CreateDerivedStream, CreateQuery)):
            waiting |= names_read(read.query) - found
    return found
