"""ALTER STREAM name ADD COLUMN column type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from panes.catalog import Catalog
from panes.errors import CatalogError, SqlError
from panes.ingest.check_source import check_column_can_be_added
from panes.language import bind
from panes.language.names import same
from panes.language.statements import (
    AddColumn,
    CreateDerivedStream,
    CreateFunction,
    CreateQuery,
    CreateStream,
    CreateTable,
)
from panes.optimizer.optimizer import optimize
from panes.plan.nodes import Node, PlanError, StreamScan, with_children
from panes.plan.schema import Field, Schema
from panes.plan.stream import Stream
from panes.statements.alter_stream import base_stream
from panes.statements.context import Context
from panes.statements.readers_of import all_readers_of, said


def add_column(statement: AddColumn, context: Context) -> None:
    """Adds the column from the next epoch on; rows that came before have NULL in it, and queries go on.

    Raises CatalogError when a query or a derived stream would be another one with the column, and SourceError when
    the source cannot bring it.
    """
    old, column = base_stream(statement.name, context), statement.column
    if any(same(column.name, name) for name in old.columns.names):
        raise CatalogError(f"stream {old.name!r} has a column named {column.name!r} already")
    new = replace(
        old,
        columns=Schema((*old.columns.fields, column)),
        created_with=len(old.columns.fields) if old.created_with is None else old.created_with,
    )
    check_column_can_be_added(new)

    def change() -> None:
        with context.catalog.transaction():
            _check_readers(new, column, context.catalog)
            context.catalog.definitions.alter(CreateStream(new))

    _check_readers(new, column, context.catalog)  # before a background run is stopped for it
    context.runs.change_streams(change)


def _check_readers(new: Stream, column: Field, catalog: Catalog) -> None:
    """Texts are bound again after a restart, and must mean what they meant: `*` would have one column more."""
    altered = _Altered(catalog, CreateStream(new))
    for reader in all_readers_of(new.name, catalog):
        try:
            before, after = bind(reader.query, catalog), bind(reader.query, altered)
        except SqlError as error:
            raise CatalogError(
                f"with {column.name}, {said(reader)} could not be read: {error.problem}"
            ) from error
        if not _is_same(before, after, new, column):
            raise CatalogError(
                f"{said(reader)} would be another one with {column.name}: it reads {new.name} with *, or a column "
                "of that name from elsewhere; name its columns, or drop it first"
            )


def _is_same(before: Node, after: Node, stream: Stream, column: Field) -> bool:
    """Whether two plans differ only in the column of the scans, or do so once what nobody reads is left out."""
    pairs = ((before, after), (optimize(before), optimize(after)))
    return any(_with(old, stream, column) == new for old, new in pairs)


def _with(plan: Node, stream: Stream, column: Field) -> Node | None:
    """The plan over the stream with the column; None when there is none."""
    try:
        return _scanning(plan, stream, column)
    except PlanError:
        return None


def _scanning(plan: Node, stream: Stream, column: Field) -> Node:
    if isinstance(plan, StreamScan) and plan.stream == stream.name:
        fields = list(plan.columns)
        # The time of a tuple that looks a table up stands behind the columns of the stream.
        place = len(stream.columns.fields) - 1
        return replace(
            plan,
            columns=Schema(
                (*fields[:place], Field(f"{plan.alias}.{column.name}", column.type), *fields[place:])
            ),
        )
    return with_children(plan, *(_scanning(child, stream, column) for child in plan.children))


@dataclass(frozen=True)
class _Altered:
    """The catalog as it will be."""

    catalog: Catalog
    altered: CreateStream

    def stream(self, name: str) -> CreateStream | CreateDerivedStream | None:
        return self.altered if same(name, self.altered.name) else self.catalog.stream(name)

    def table(self, name: str) -> CreateTable | None:
        return self.catalog.table(name)

    def functions(self) -> Mapping[str, CreateFunction]:
        return self.catalog.functions()

    def registered(self, name: str) -> CreateQuery | None:
        return self.catalog.registered(name)

    def names(self) -> Sequence[str]:
        return self.catalog.names()
