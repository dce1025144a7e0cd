"""Functions of strings. Positions and lengths count characters."""

from __future__ import annotations

import functools
import re
from itertools import zip_longest
from typing import Any

import numpy as np
import polars as pl
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


def trim(text: Datum, characters: pa.Scalar | None = None) -> Datum:
    return pc.utf8_trim(text, _trimmed(characters))


def trim_front(text: Datum, characters: pa.Scalar | None = None) -> Datum:
    return pc.utf8_ltrim(text, _trimmed(characters))


def trim_end(text: Datum, characters: pa.Scalar | None = None) -> Datum:
    return pc.utf8_rtrim(text, _trimmed(characters))


def _trimmed(characters: pa.Scalar | None) -> str:
    return " " if characters is None else str(characters.as_py())


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


def repeat(text: Datum, count: pa.Scalar) -> Datum:
    return pc.binary_repeat(text, count.as_py())


def translate(text: Datum, old: pa.Scalar, new: pa.Scalar) -> Datum:
    """Of a character that is named twice, the first counts."""
    table = dict(reversed(list(zip_longest(old.as_py(), new.as_py()[: len(old.as_py())], fillvalue=""))))
    if not table:
        return text
    if isinstance(text, pa.Scalar):
        return translate(pa.array([text.as_py()], text.type), old, new)[0]
    replaced = pl.Series(text).str.replace_many(list(table), list(table.values()))
    return replaced.to_arrow().cast(pa.string())


def split_part(text: Datum, separator: pa.Scalar, place: pa.Scalar) -> Datum:
    if isinstance(text, pa.Scalar):
        return split_part(pa.array([text.as_py()], text.type), separator, place)[0]
    whole = text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text
    parts = pc.split_pattern(whole.fill_null(""), separator.as_py())
    offsets, wanted = np.asarray(parts.offsets), place.as_py()
    at = offsets[:-1] + wanted - 1 if wanted > 0 else offsets[1:] + wanted
    inside = (at >= offsets[:-1]) & (at < offsets[1:])
    found = parts.values.take(pa.array(np.where(inside, at, 0)))
    found = pc.if_else(pa.array(inside), found, "")
    return pc.if_else(pc.is_valid(whole), found, pa.scalar(None, pa.string()))


def split(text: Datum, separator: pa.Scalar) -> Datum:
    if isinstance(text, pa.Scalar):
        return split(pa.array([text.as_py()], text.type), separator)[0]
    return pc.split_pattern(text, separator.as_py())


def substring_index(text: Datum, separator: pa.Scalar, count: pa.Scalar) -> Datum:
    """The first parts, or the last ones, with the separator between them."""
    if isinstance(text, pa.Scalar):
        return substring_index(pa.array([text.as_py()], text.type), separator, count)[0]
    parts, wanted = pl.Series(text, dtype=pl.String).str.split(separator.as_py()), count.as_py()
    some = parts.list.head(wanted) if wanted >= 0 else parts.list.tail(-wanted)
    return some.list.join(separator.as_py()).to_arrow().cast(pa.string())


def _literally(text: str) -> str:
    """A regular expression that matches just this text."""
    return "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    return re.escape(character) if character.isascii() and not character.isalnum() else character
