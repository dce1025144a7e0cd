"""Text to bound logical plans: the language of Panes, a dialect of sqlglot."""

from panes.language.binder.bind import bind, bind_query, bind_stream
from panes.language.binder.bind_insert import bind_insert
from panes.language.binder.bind_invoke import Reading, bind_invoke, bind_invoke_where
from panes.language.binder.bind_table_updates import bind_copy, bind_delete, bind_update
from panes.language.binder.known_relations import KnownRelations
from panes.language.parser.parameters import Parameters
from panes.language.parser.parse import parse

__all__ = [
    "KnownRelations",
    "Parameters",
    "Reading",
    "bind",
    "bind_copy",
    "bind_delete",
    "bind_insert",
    "bind_invoke",
    "bind_invoke_where",
    "bind_query",
    "bind_stream",
    "bind_update",
    "parse",
]
