"""Terms: whoever comes last is the one that counts, also when several come at once."""

from __future__ import annotations

import threading

import pytest

from panes.errors import DriverReplaced
from panes.state.storage import terms
from panes.state.storage.terms import Begun, Term, term_of, terms_begun


def test_the_last_term_that_begins_before_an_epoch_is_the_one_that_counts():
    begun = [Begun("00000001-a", -1), Begun("00000002-b", 4), Begun("00000003-c", 4), Begun("00000004-d", 9)]
    assert [term_of(epoch, begun) for epoch in (0, 4, 5, 9, 10)] == [
        "00000001-a",
        "00000001-a",
        "00000003-c",
        "00000003-c",
        "00000004-d",
    ]
    assert term_of(0, begun[1:]) is None


def test_a_term_is_checked_until_another_is_claimed(tmp_path):
    first = Term.claim(tmp_path)
    first.begin(-1)
    first.check()
    second = Term.claim(tmp_path)
    second.check()
    with pytest.raises(DriverReplaced, match=rf"another driver has taken over .*term {second.name}"):
        first.check()
    second.begin(7)
    assert terms_begun(tmp_path) == [Begun(first.name, -1), Begun(second.name, 7)]


def test_of_drivers_that_come_at_once_one_is_left(tmp_path):
    claimed: list[Term] = []
    barrier = threading.Barrier(8)

    def come() -> None:
        barrier.wait()
        claimed.append(Term.claim(tmp_path))

    threads = [threading.Thread(target=come) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [term.later() for term in claimed].count(None) == 1


def test_a_claim_that_sorts_before_one_of_the_same_moment_is_made_again(tmp_path, monkeypatch):
    names = iter(["bbbbbbbb", "aaaaaaaa", "cccccccc"])
    monkeypatch.setattr(terms, "uuid4", lambda: type("Id", (), {"hex": next(names)}))
    Term.claim(tmp_path)
    # The second looks before the first has put its claim down, and finds it afterwards.
    look, seen_at_first = terms._claims, iter([[]])
    monkeypatch.setattr(terms, "_claims", lambda folder: next(seen_at_first, look(folder)))
    assert Term.claim(tmp_path).name == "00000002-cccccccc"
