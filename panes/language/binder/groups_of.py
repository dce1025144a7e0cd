"""Whether a text is a regular expression that the engines take."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def groups_of(pattern: str) -> int | str:
    """The number of groups of a regular expression, or why it is none.

    >>> groups_of("(a)(b)?"), groups_of("(a")
    (2, 'missing )')
    """
    problem = _problem(pattern)
    if problem is not None:
        return problem
    groups = 0
    # A text that names a group which is not there is refused by RE2 itself.
    while groups < 9 and _problem(pattern, rf"\{groups + 1}") is None:
        groups += 1
    return groups


def _problem(pattern: str, new: str = "") -> str | None:
    try:
        pc.replace_substring_regex(pa.array(["a"]), pattern, new)
    except pa.ArrowInvalid as invalid:
        return str(invalid).removeprefix("Invalid regular expression: ").rpartition(": ")[0]
    return None
