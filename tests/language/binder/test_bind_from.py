"""Streams in FROM whose tuples bring their own ends: the windows that they may stand in."""

from __future__ import annotations

import pytest

from panes.errors import SqlError
from panes.language import bind, bind_stream, parse
from panes.plan.nodes import Window
from panes.plan.walk import walk
from tests.language.corpus import read_catalog

CATALOG = read_catalog(
    "CREATE STREAM offers (at TIMESTAMP, item BIGINT, until BIGINT) TIMESTAMP BY at EXPIRES BY until SECONDS"
)


def windows(text: str) -> list[str]:
    (query,) = parse(text)
    return [node.spec.text() for node in walk(bind(query, CATALOG)) if isinstance(node, Window)]


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("SELECT item FROM offers", "[RANGE UNBOUNDED EXPIRES BY offers.until]"),
        ("SELECT item FROM offers [RANGE UNBOUNDED] o", "[RANGE UNBOUNDED EXPIRES BY o.until]"),
        (
            "SELECT item FROM offers [RANGE 1 HOUR SLIDE 1 MINUTE]",
            "[RANGE 1 HOUR SLIDE 1 MINUTE EXPIRES BY offers.until]",
        ),
        ("SELECT x FROM offers [NOW] AS o (x, until, item)", "[NOW EXPIRES BY o.until]"),
    ],
)
def test_tuples_stay_until_their_end_or_that_of_the_window(text, window):
    assert windows(text) == [window]


@pytest.mark.parametrize(
    "window",
    [
        "[ROWS 3]",
        "[PARTITION BY item ROWS 1]",
        "[SESSION 1 MINUTE]",
        "[RANGE 1 HOUR INTERNAL]",
        "BEGIN (NOW) END (NOW)",
    ],
)
def test_windows_that_do_not_know_the_ends_are_refused(window):
    with pytest.raises(SqlError, match="leave at times of their own") as caught:
        windows(f"SELECT item FROM offers {window}")
    assert "RANGE, with or without SLIDE" in str(caught.value)


def test_what_leaves_is_no_stream_to_derive_from_but_what_enters_is():
    (gone,) = parse("CREATE STREAM cheap AS SELECT item FROM offers")
    with pytest.raises(SqlError):
        bind_stream(gone, CATALOG)
    (kept,) = parse("CREATE STREAM cheap AS SELECT Istream(item) FROM offers")
    assert bind_stream(kept, CATALOG).schema.names == ("item",)
