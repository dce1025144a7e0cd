"""What INDEX BY and its settings make of an answer, and what EXPLAIN says of it."""

from __future__ import annotations

from panes.answers.answer_index import AnswerIndex
from panes.answers.index_cells import IndexCells
from panes.query_settings import QuerySettings


def test_a_query_without_index_by_has_no_index():
    assert AnswerIndex.of(QuerySettings(index_cells="2x2")) is None


def test_settings_say_how_the_index_is_kept():
    settings = QuerySettings(
        index_by='["a", "b,c"]', index_cells="2x3", index_order="chronological", index_rebuild="always"
    )
    assert AnswerIndex.of(settings) == AnswerIndex(
        ("a", "b,c"), IndexCells(2, 3, "chronological"), rebuild=True
    )
    assert AnswerIndex.of(QuerySettings(index_by='["a"]')) == AnswerIndex(("a",), IndexCells(4, 4))


def test_explain_says_how_many_cells_an_update_touches_or_why_there_are_none():
    index = AnswerIndex(("src",), IndexCells.of("4x4"))
    assert index.explained(has_ends=True) == (
        "indexed by (src) in 4 x 4 cells, round robin: 7 of 16 cells per update "
        "(runs are appended, and dropped when dead)"
    )
    assert index.explained(has_ends=False) == (
        "indexed by (src) in a log that is merged by size, because nobody knows when rows leave"
    )
