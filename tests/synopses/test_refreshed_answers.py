"""The stored answers of queries that are refreshed by deadline."""

from __future__ import annotations

import pyarrow as pa

from panes.synopses.refreshed_answers import RefreshedAnswers


def rows(*counts: int) -> pa.Table:
    return pa.table({"k": list(range(len(counts))), "n": list(counts)})


def stored(answers: RefreshedAnswers, query: int, slide: int) -> list[int]:
    return [n for table in answers.rows(query, slide) for n in table.column("n").to_pylist()]


def test_the_last_refresh_of_each_query_is_read():
    answers = RefreshedAnswers()
    answers.put({2: rows(5, 6), 1: rows(7)}, {1: 10, 2: 10})
    answers.put({1: rows(8, 9)}, {1: 20, 2: 10})
    again = RefreshedAnswers(answers.chunks)
    assert stored(again, 1, 20) == [8, 9]
    assert stored(again, 2, 10) == [5, 6]
    assert stored(again, 3, 10) == []


def test_an_answer_that_became_empty_is_empty():
    answers = RefreshedAnswers()
    answers.put({1: rows(7, 8)}, {1: 10})
    answers.put({1: rows()}, {1: 20})
    assert stored(answers, 1, 20) == []
    assert answers.chunks == [], "rows that count no more are not kept"


def test_what_is_kept_does_not_grow_with_refreshes_nor_with_queries_that_are_gone():
    answers, most = RefreshedAnswers(), 0
    for epoch in range(1000):
        queries = range(epoch // 10, epoch // 10 + 5)
        shown = {query: epoch - (query % 3) for query in queries}
        due = [query for query in queries if shown[query] == epoch]
        answers.put({query: rows(1, 2, 3) for query in due}, shown)
        most = max(most, sum(chunk.rows for chunk in answers.chunks))
    assert most <= 2 * 5 * 3 + 15
    assert len(answers.chunks) < 6


def test_chunks_that_stay_are_not_rewritten():
    answers = RefreshedAnswers()
    answers.put({query: rows(*range(20)) for query in range(10)}, dict.fromkeys(range(10), 10))
    (large,) = answers.chunks
    answers.put({3: rows(1)}, {**dict.fromkeys(range(10), 10), 3: 20})
    assert answers.chunks[0] is large
