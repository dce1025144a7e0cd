"""The words in which streams and tables refuse rows."""

from __future__ import annotations

from panes.errors import ConstraintError, SourceError
from panes.ingest.receiver import Receiver
from panes.language.statements import CreateTable
from panes.plan.schema import Schema
from panes.plan.types import INT
from tests.base_stream import base_stream


def test_streams_and_tables_refuse_rows_in_their_own_words():
    stream = Receiver.of(base_stream("CREATE STREAM s (a INT)"))
    table = Receiver.of(CreateTable("t", Schema.of([("a", INT)])))
    assert (stream.given, table.given) == ("pushed", "loaded")
    refusals = stream.refusal("no"), table.refusal("no")
    assert [type(error) for error in refusals] == [SourceError, ConstraintError]
    assert [str(error) for error in refusals] == [
        "stream 's': no; nothing was stored",
        "table 't': no; nothing was changed",
    ]
