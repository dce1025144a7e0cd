"""The first line of CSV files."""

from __future__ import annotations

import gzip

import pytest

from panes.errors import SourceError
from panes.ingest.csv_header import column_places, read_csv_header
from tests.base_stream import base_stream

STREAM = base_stream("CREATE STREAM s (ts BIGINT, k BIGINT)", 1)


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("ts,k\n1,2\n", ("ts", "k")),
        ("ts,k", ("ts", "k")),
        ('\ufeff"a, ""b""", k \r\n1', ('a, "b"', "k")),
        ("\n\nts\n", ("ts",)),
        ("", ()),
        (f"{'x' * 100_000},k\n", ("x" * 100_000, "k")),
    ],
)
def test_names_are_read_as_they_stand(tmp_path, content, names):
    (tmp_path / "0.csv").write_text(content)
    assert read_csv_header(tmp_path / "0.csv") == names


def test_a_compressed_file_has_its_header_too(tmp_path):
    (tmp_path / "0.csv.gz").write_bytes(gzip.compress(b"ts,k\n1,2\n"))
    assert read_csv_header(tmp_path / "0.csv.gz") == ("ts", "k")
    (tmp_path / "1.csv.gz").write_text("ts,k\n1,2\n")
    with pytest.raises(OSError, match="zlib"):
        read_csv_header(tmp_path / "1.csv.gz")


def test_columns_are_found_in_any_order_and_case():
    assert column_places(STREAM, ("more", "K", "ts")) == {2: "ts", 1: "k"}
    assert column_places(STREAM, ("K", "k", "ts")) == {2: "ts", 1: "k"}


def test_a_column_that_is_missing_or_ambiguous_is_named():
    with pytest.raises(SourceError, match="has no column 'k'; it has ts, j"):
        column_places(STREAM, ("ts", "j"))
    with pytest.raises(SourceError, match="has more than one column 'k'"):
        column_places(STREAM, ("ts", "k", "k"))
