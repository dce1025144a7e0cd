"""What docs/standing-queries.md shows is so."""

from __future__ import annotations

from collections import Counter

from panes.language import bind
from panes.language import statements as st
from panes.optimizer.optimizer import optimize
from panes.sharing import match_encoding, member_block
from panes.sharing.template import template_of
from tests.language.test_pages import DOCS, statements_of

PAGE = DOCS / "standing-queries.md"


def test_the_selections_on_the_page_share_a_template_and_so_do_the_joins() -> None:
    queries = [(s.query, shelf) for s, shelf in statements_of(PAGE) if isinstance(s, st.CreateQuery)]
    found = [template_of(optimize(bind(query, shelf))) for query, shelf in queries]
    assert None not in found
    assert sorted(Counter(pair[0].key for pair in found if pair is not None).values()) == [2, 2]


def test_the_page_knows_the_sizes_of_blocks_and_stretches() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"blocks of {member_block.MOST:,}" in text
    assert f"at most {match_encoding.MOST_TUPLES:,}" in text
