"""Tables in memory, and statements run against them: what `db.sql` does, without a database."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from panes.delta.consolidate import AT
from panes.language import bind_delete, bind_insert, bind_update, parse
from panes.language import statements as st
from panes.language.binder.bind_insert import BoundValues
from panes.language.statements import CreateFunction
from panes.tables.delete_rows import delete_rows
from panes.tables.insert_rows import insert_rows
from panes.tables.inserted_rows import inserted_rows
from panes.tables.net_change import no_change
from panes.tables.row_counts import RowCounts
from panes.tables.table_contents import Contents
from panes.tables.table_transaction import TableTransaction
from panes.tables.update_rows import update_rows


class MemoryTables:
    """Tables whose scheduled changes never come."""

    def __init__(self, *definitions: str) -> None:
        created = [statement for text in definitions for statement in parse(text)]
        self.definitions = {table.name: table for table in created if isinstance(table, st.CreateTable)}
        self.accepted: list[tuple[Mapping[str, pa.Table], int | None]] = []

    # A catalog.

    def table(self, name: str) -> st.CreateTable | None:
        return self.definitions.get(name)

    def stream(self, _name: str) -> None:
        return None

    def names(self) -> list[str]:
        return list(self.definitions)

    def functions(self) -> dict[str, CreateFunction]:
        return {}

    def registered(self, name: str) -> None:  # noqa: ARG002
        return None

    # Tables.

    def contents(self, name: str, *, scheduled: bool = False) -> Contents:
        contents = Contents(self.definitions[name])
        for changes, at in self.accepted:
            if name in changes and (at is None or scheduled):
                contents = contents.applied(changes[name])
        return contents

    def scheduled(self, name: str) -> pa.Table:
        found = [no_change(self.definitions[name]).append_column(AT, pa.array([], pa.int64()))]
        for changes, at in self.accepted:
            if name in changes and at is not None:
                rows = changes[name]
                found.append(rows.append_column(AT, pa.array([at] * rows.num_rows, pa.int64())))
        return pa.concat_tables(found).combine_chunks()

    def accept(self, changes: Mapping[str, pa.Table], at: int | None) -> int:
        self.accepted.append((changes, at))
        return len(self.accepted)

    # Statements.

    def sql(self, text: str) -> list[RowCounts]:
        """Runs statements as one transaction, at the instant of the first."""
        statements = parse(text)
        transaction = TableTransaction(self, getattr(statements[0], "at", None))
        counts = [self._run(statement, transaction) for statement in statements]
        transaction.accept()
        return counts

    def _run(self, statement: st.Statement, transaction: TableTransaction) -> RowCounts:
        match statement:
            case st.InsertInto():
                insert = bind_insert(statement, self)
                assert isinstance(insert, BoundValues)
                assert isinstance(insert.into, st.CreateTable)
                return transaction.change(
                    insert.into,
                    lambda contents: insert_rows(contents, inserted_rows(insert), insert.conflict),
                )
            case st.UpdateTable():
                update = bind_update(statement, self)
                return transaction.change(update.table, lambda contents: update_rows(contents, update))
            case st.DeleteFrom():
                delete = bind_delete(statement, self)
                return transaction.change(delete.table, lambda contents: delete_rows(contents, delete))
        raise TypeError(type(statement).__name__)

    def rows(self, name: str) -> list[tuple[object, ...]]:
        """The rows of a table, in order."""
        found = (tuple(row.values()) for row in self.contents(name).rows().to_pylist())
        return sorted(found, key=repr)
