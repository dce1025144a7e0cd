"""Functions of strings. Positions and lengths count characters."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Datum = Any


def like(text: Datum, pattern: pa.Scalar) -> Datum:
    parts = {"%": ".*", "_": "."}
    regex = "".join(parts.get(c, _escaped(c)) for c in pattern.as_py())
    return pc.match_substring_regex(text, rf"\A(?s:{regex})\z")


def ilike(text: Datum, pattern: pa.Scalar) -> Datum:
    return like(pc.utf8_lower(text), pc.utf8_lower(pattern))


def length(text: Datum) -> Datum:
    return pc.cast(pc.utf8_length(text), pa.int64())


def trim(text: Datum) -> Datum:
    return pc.utf8_trim(text, " ")


def trim_front(text: Datum) -> Datum:
    return pc.utf8_ltrim(text, " ")


def trim_end(text: Datum) -> Datum:
    return pc.utf8_rtrim(text, " ")


def substring(text: Datum, position: pa.Scalar, count: pa.Scalar | None = None) -> Datum:
    """A position below zero counts from the end, as in Spark and DuckDB."""
    start = position.as_py()
    start = start - 1 if start > 0 else start
    if count is None:
        return pc.utf8_slice_codeunits(text, start)
    wanted = max(count.as_py(), 0)
    stop = start + wanted
    if start < 0 <= stop:
        return pc.utf8_slice_codeunits(text, start)
    return pc.utf8_slice_codeunits(text, start, stop)


def concat(*texts: Datum) -> Datum:
    return pc.binary_join_element_wise(*texts, pa.scalar("", pa.string()), null_handling="emit_null")


def replace(text: Datum, old: pa.Scalar, new: pa.Scalar) -> Datum:
    if not old.as_py():
        return text
    return pc.replace_substring(text, old.as_py(), new.as_py())


def starts_with(text: Datum, start: pa.Scalar) -> Datum:
    return pc.starts_with(text, start.as_py())


def ends_with(text: Datum, end: pa.Scalar) -> Datum:
    return pc.ends_with(text, end.as_py())


def contains(text: Datum, part: pa.Scalar) -> Datum:
    return pc.match_substring(text, part.as_py())


def _escaped(character: str) -> str:
    return re.escape(character) if character.isascii() and not character.isalnum() else character
