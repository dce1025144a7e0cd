"""Every statement has a handler, and a connection that only reads runs those that change nothing."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import panes
from panes import errors
from panes.language import parse
from panes.language import statements as st
from panes.statements.handlers import HANDLERS, READING
from panes.statements.run_transaction import CHANGES

ALL = [*HANDLERS.items(), *CHANGES.items()]

STATEMENTS = {
    kind
    for name, kind in vars(st).items()
    if inspect.isclass(kind)
    and issubclass(kind, st.Statement)
    and kind is not st.Statement
    and not name.startswith("_")
}
EXAMPLES = (
    "SELECT src FROM packets [NOW]",
    "CREATE STREAM s (a BIGINT)",
    "CREATE STREAM s AS SELECT src FROM packets",
    "CREATE TABLE hosts (a BIGINT)",
    "INSERT INTO hosts VALUES (1)",
    "UPDATE hosts SET a = 1",
    "DELETE FROM hosts WHERE a = 1",
    "COPY hosts FROM 'hosts.csv'",
    "CREATE QUERY q AS SELECT src FROM packets [NOW]",
    "CREATE TABLE IF NOT EXISTS hosts (a BIGINT)",
    "ALTER QUERY sources AS SELECT ts FROM packets [NOW]",
    "ALTER QUERY sources RENAME TO senders",
    "ALTER QUERY sources RESUME",
    "ALTER STREAM packets SET (slack = INTERVAL 1 SECOND)",
    "ALTER STREAM packets ADD COLUMN dst BIGINT",
    "ALTER QUERY sources SET shards = 5",
    "INVOKE sources",
    "EXPLAIN sources",
    "SHOW STREAMS",
    "SHOW CREATE STREAM packets",
    "SHOW PLANS sources",
    "DESCRIBE packets",
    "COMMENT ON STREAM packets IS 'what was sent'",
    "DROP QUERY sources",
    "CREATE FUNCTION doubled (x DOUBLE) RETURNS DOUBLE AS 'tests.own:doubled'",
    "DROP FUNCTION doubled",
    "SET shards = 3",
)


def test_every_statement_has_a_handler_and_no_handler_is_left_over():
    assert {kind for kind, _ in ALL} == STATEMENTS
    # INSERT has one handler for tables and one for streams.
    assert HANDLERS.keys() & CHANGES.keys() == {st.InsertInto}


@pytest.mark.parametrize(("kind", "handler"), ALL, ids=lambda thing: thing.__name__)
def test_a_handler_takes_the_statement_under_which_it_is_listed(
    kind: type[st.Statement], handler: Callable[..., object]
):
    first = next(iter(get_type_hints(handler).values()))
    assert kind in (get_args(first) or (first,))


@pytest.mark.parametrize("name", sorted({handler.__name__ for _, handler in ALL}))
def test_a_handler_has_a_file_and_a_test_of_its_name(name: str):
    (handler,) = {handler for _, handler in ALL if handler.__name__ == name}
    assert handler.__module__ == f"panes.statements.{name}"
    assert Path(__file__).with_name(f"test_{name}.py").exists()


def test_there_is_an_example_of_every_statement():
    assert {type(statement) for sql in EXAMPLES for statement in parse(sql)} == STATEMENTS


@pytest.mark.parametrize("sql", EXAMPLES)
def test_a_connection_that_only_reads_runs_what_changes_nothing(db: panes.Database, sql: str):
    db.register("SELECT src FROM packets [RANGE 1 MINUTE]", name="sources")
    (statement,) = parse(sql)
    with panes.connect(db.path, read_only=True) as reader:
        if type(statement) in READING:
            reader.sql(sql)
        else:
            with pytest.raises(errors.ReadOnly):
                reader.sql(sql)
