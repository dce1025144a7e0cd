"""Functions of regular expressions in the syntax of RE2, which Arrow and DuckDB share. Patterns are constants."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Datum = Any


def matches(text: Datum, pattern: pa.Scalar) -> Datum:
    return pc.match_substring_regex(text, pattern.as_py())


def full_match(text: Datum, pattern: pa.Scalar) -> Datum:
    return pc.match_substring_regex(text, rf"\A(?:{pattern.as_py()})\z")


def replace(text: Datum, pattern: pa.Scalar, new: pa.Scalar, flags: pa.Scalar | None = None) -> Datum:
    """The first match, or with the flag g every match, by another text; `\\1` in it is the first group."""
    most = None if flags is not None and flags.as_py() == "g" else 1
    return pc.replace_substring_regex(text, pattern.as_py(), new.as_py(), max_replacements=most)


def extract(text: Datum, pattern: pa.Scalar, group: pa.Scalar | None = None) -> Datum:
    """The first match or a group of it; the empty text where there is none."""
    number = 0 if group is None else group.as_py()
    # What stands before the first match is as short as can be; the match itself is then what it always is.
    whole = rf"\A(?s:.*?)({pattern.as_py()})(?s:.*)\z"
    found = pc.replace_substring_regex(text, whole, rf"\{number + 1}")
    return pc.if_else(matches(text, pattern), found, pa.scalar("", pa.string()))
