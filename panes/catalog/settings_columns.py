"""The settings of queries as columns of the tables of queries and of groups."""

from __future__ import annotations

from collections.abc import Sequence

from panes.query_settings import QuerySettings

SETTINGS_COLUMNS = ", ".join(f'"{name}"' for name in QuerySettings._fields)
"""Their names, as a statement lists them."""

SETTINGS_DEFINED = ", ".join(f'"{name}" NOT NULL' for name in QuerySettings._fields)
"""Their definitions, as CREATE TABLE has them."""


def marks_for(values: Sequence[object]) -> str:
    """A parameter of a statement for each value."""
    return ", ".join("?" * len(values))
