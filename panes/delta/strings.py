"""Functions of strings. Positions and lengths count characters."""

from __future__ import annotations

import functools
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
    """The characters of a text, or the bytes of BINARY."""
    count = pc.utf8_length if pa.types.is_string(text.type) else pc.binary_length
    return pc.cast(count(text), pa.int64())


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


def left(text: Datum, count: pa.Scalar) -> Datum:
    return pc.utf8_slice_codeunits(text, 0, count.as_py())


def right(text: Datum, count: pa.Scalar) -> Datum:
    wanted = count.as_py()
    return pc.utf8_slice_codeunits(text, -wanted) if wanted else left(text, count)


def pad_front(text: Datum, count: pa.Scalar, character: pa.Scalar) -> Datum:
    return pc.utf8_lpad(left(text, count), count.as_py(), character.as_py())


def pad_end(text: Datum, count: pa.Scalar, character: pa.Scalar) -> Datum:
    return pc.utf8_rpad(left(text, count), count.as_py(), character.as_py())


def position(text: Datum, part: pa.Scalar) -> Datum:
    """Arrow finds the byte: the characters before it are counted."""
    place = pc.find_substring(text, part.as_py())
    rest = pc.replace_substring_regex(text, rf"(?s)\A.*?({_literally(part.as_py())}|\z)", "")
    before = pc.subtract(length(text), pc.add(length(rest), len(part.as_py())))
    return pc.if_else(pc.less(place, 0), pa.scalar(0, pa.int64()), pc.add(before, 1))


def concat_with(separator: pa.Scalar, *texts: Datum) -> Datum:
    first, *rest = texts
    # Arrow gives no value at all, not even NULL, where there is nothing to join.
    nothing = functools.reduce(pc.and_, map(pc.is_null, texts))
    first = pc.if_else(nothing, pa.scalar("", pa.string()), first)
    return pc.binary_join_element_wise(first, *rest, separator, null_handling="skip")


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


def _literally(text: str) -> str:
    """A regular expression that matches just this text."""
    return "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    return re.escape(character) if character.isascii() and not character.isalnum() else character
