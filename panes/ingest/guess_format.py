"""The format that a file seems to have, by its name and its first bytes."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from panes.errors import SourceError
from panes.ingest.check_regular import check_regular
from panes.plan.stream import Stream

_SUFFIXES = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
_PACKED = (".gz", ".bz2", ".zst", ".lz4", ".snappy")
_MAGIC = b"PAR1"
_LOOK = 1 << 12


def guess_format(path: Path, columns: int) -> str | None:
    """One of parquet, csv and json; None when nothing tells. `columns` is how many are declared.

    Raises OSError or SourceError when the file cannot be read.
    """
    first = _first_bytes(path)
    if first.startswith(_MAGIC):
        return "parquet"
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in _PACKED]
    if suffixes and (named := _SUFFIXES.get(suffixes[-1])) is not None:
        return named
    line = _first_line(first)
    if line.startswith("{"):
        return "json"
    return "csv" if "," in line and len(next(csv.reader([line]), ())) >= columns else None


def clause_for(stream: Stream, paths: Iterable[Path]) -> tuple[Path, str] | None:
    """The first of some files that is not Parquet, and the clause that reads it; None when one is Parquet, or when
    nothing tells what they are."""
    found = None
    for path in paths:
        try:
            guessed = guess_format(path, len(stream.columns.names))
            if guessed == "parquet":
                return None
            if guessed is not None and found is None:
                found = path, _clause(stream, path, guessed)
        except (OSError, SourceError, pa.ArrowException):
            continue
    return found


def _clause(stream: Stream, path: Path, guessed: str) -> str:
    names = next(csv.reader([_first_line(_first_bytes(path))]), ())
    declared = {name.casefold() for name in stream.columns.names}
    has_header = guessed == "csv" and bool(declared & {name.strip().casefold() for name in names})
    return f"WITH (format = '{guessed}'{', header = TRUE' if has_header else ''})"


def _first_bytes(path: Path) -> bytes:
    check_regular(path)
    with path.open("rb") as raw:
        if raw.read(len(_MAGIC)) == _MAGIC:
            return _MAGIC
    with pa.input_stream(str(path), compression="detect") as file:
        return bytes(file.read(_LOOK))


def _first_line(first: bytes) -> str:
    lines = first.decode("utf-8-sig", errors="replace").lstrip().splitlines()
    return lines[0] if lines else ""
