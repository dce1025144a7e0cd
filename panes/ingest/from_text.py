"""Text in the declared type of a column: what is not such a value is refused with its row."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from panes.ingest.exact_values import FAILURES, WIDEST_DECIMAL, exact, first_failure
from panes.ingest.inexact import Inexact, shown
from panes.language.positions import with_article
from panes.plan.types import BINARY, FLOAT, STRING, TIMESTAMP, Type

_WITH_ZONE = r":\d\d.*(Z|[+-]\d\d(:?\d\d)?)$"


def from_text(column: pa.ChunkedArray, type_: Type) -> pa.ChunkedArray:
    """The values that texts stand for; spaces around them do not count. Raises Inexact for the first that is none.

    Numbers are decimal, and a DECIMAL has no more digits than its type. A BOOLEAN is true or false, dates and
    instants are in ISO 8601, in UTC without a zone.
    """
    if type_ == STRING:
        return column

    def read(texts: pa.ChunkedArray) -> pa.ChunkedArray:
        texts = pc.utf8_trim_whitespace(texts)
        if type_.is_decimal or type_ == FLOAT:
            between = WIDEST_DECIMAL if type_.is_decimal else pa.float64()
            return exact(texts.cast(between), type_)
        if type_ == BINARY or type_.is_nested:
            raise ValueError("it has no text")
        return _instants(texts) if type_ == TIMESTAMP else texts.cast(type_.arrow)

    try:
        return read(column)
    except FAILURES:
        row = first_failure(read, column)
        raise Inexact(row, f"{shown(column[row])} is not {with_article(type_)}") from None


def _instants(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    has_zone = pc.match_substring_regex(texts, _WITH_ZONE)
    nothing = pa.scalar(None, pa.string())
    zoned = pc.if_else(has_zone, texts, nothing).cast(TIMESTAMP.arrow)
    plain = pc.if_else(has_zone, nothing, texts).cast(pa.timestamp("us")).cast(TIMESTAMP.arrow)
    return pc.coalesce(zoned, plain)
