"""The columns that generators are said to make are those that they make."""

from __future__ import annotations

from panes.ingest.check_source import GENERATED
from panes.spark.sources import _GENERATORS


def test_generators_make_the_columns_that_are_declared():
    assert {name: tuple(made) for name, made in _GENERATORS.items()} == GENERATED
