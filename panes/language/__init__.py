"""Text to bound logical plans: the language of Panes, a dialect of sqlglot."""

from panes.language.bind import bind, bind_stream
from panes.language.bind_changes import bind_delete, bind_insert, bind_update
from panes.language.catalog import Catalog
from panes.language.parse import parse

__all__ = [
    "Catalog",
    "bind",
    "bind_delete",
    "bind_insert",
    "bind_stream",
    "bind_update",
    "parse",
]
