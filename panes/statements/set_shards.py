"""ALTER QUERY name SET shards = n: a query goes on over another number of shards."""

from __future__ import annotations

from panes.config import check_setting
from panes.language.statements import SetShards
from panes.statements.context import Context


def set_shards(statement: SetShards, context: Context) -> None:
    """Lets the next epoch that runs the query redistribute its state; 'auto' is as many shards as cores."""
    context.registered.set_shards(statement.name, check_setting("shards", statement.shards))
