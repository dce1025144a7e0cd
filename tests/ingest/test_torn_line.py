"""Last lines that were cut off."""

from __future__ import annotations

import pytest

from panes.ingest.torn_line import torn_line


@pytest.mark.parametrize(
    ("content", "torn"),
    [
        ("", None),
        ("1,2\n10,", "10,"),
        ("1,2\r\n10, ", "10, "),
        ("10,", "10,"),
        ('1,2\n10,"abc', '10,"abc'),
        # What has a line end is whole, and so is a line that ends with a value.
        ("1,2\n10,\n", None),
        ("1,2\n10,7", None),
        ('1,2\n10,"a,"', None),
        ('1,2\n10,"say ""yes"""', None),
        ('1,2\n10,"a \\" b"', None),
    ],
)
def test_a_line_without_an_end_is_torn_where_a_value_is_missing(tmp_path, content, torn):
    (tmp_path / "a.csv").write_bytes(content.encode())
    assert torn_line(tmp_path / "a.csv") == torn


def test_compressed_files_are_not_looked_at(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(b"1,2\n10,")
    assert torn_line(tmp_path / "a.csv.gz") is None
