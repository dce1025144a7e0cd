"""CREATE STREAM name (columns) … FROM …: a base stream, with a source."""

from __future__ import annotations

from panes.ingest.check_source import check_source
from panes.language.statements import CreateStream
from panes.statements.context import Context


def create_stream(statement: CreateStream, context: Context) -> None:
    """Adds the stream once its source can be read as declared; a background run takes it in at once."""
    check_source(statement.stream)
    context.runs.change_streams(lambda: context.catalog.create(statement))
