"""Base streams as the catalog would give them, made from their statements."""

from __future__ import annotations

from dataclasses import replace

from panes.language import parse
from panes.language.statements import CreateStream
from panes.plan.stream import Stream


def base_stream(sql: str, number: int = 1) -> Stream:
    (statement,) = parse(sql)
    assert isinstance(statement, CreateStream)
    return replace(statement.stream, number=number)
