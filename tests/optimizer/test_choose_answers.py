"""How the answer of a query is had: every row of the table of reasons."""

import pytest

from panes.optimizer.choose_answers import AnswerFacts, choose_answers
from panes.query_settings import KEPT, ChosenAnswers

WAITING = "{} of at least 4 queries that could share a store are registered"
BEGIN_END = "BEGIN … END is applied when the query is invoked"
NO_STORE = "no store holds joins"


@pytest.mark.parametrize(
    ("facts", "chosen"),
    [
        (AnswerFacts(why_not_lazy=NO_STORE), KEPT),
        (AnswerFacts(alike=3, share_from=4), ChosenAnswers("eager", WAITING.format(3))),
        (AnswerFacts(alike=4, share_from=4), ChosenAnswers("lazy", "it shares a store with other queries")),
        (
            AnswerFacts(why_not_eager=BEGIN_END, alike=4, share_from=4),
            ChosenAnswers("lazy", "it shares a store with other queries"),
        ),
        (
            AnswerFacts(why_not_eager=BEGIN_END, alike=1, share_from=4),
            ChosenAnswers("none", f"{BEGIN_END}; {WAITING.format(1)}"),
        ),
        (
            AnswerFacts(why_not_eager=BEGIN_END, why_not_lazy=NO_STORE),
            ChosenAnswers("none", f"{BEGIN_END}; {NO_STORE}"),
        ),
    ],
)
def test_what_is_possible_and_how_many_could_share_decide(facts: AnswerFacts, chosen: ChosenAnswers):
    assert choose_answers("auto", facts) == chosen


@pytest.mark.parametrize("mode", ["eager", "lazy", "none"])
def test_what_is_asked_for_is_given_where_it_is_possible(mode: str):
    assert choose_answers(mode, AnswerFacts(alike=1, share_from=4)) == ChosenAnswers(
        mode, "as it was registered"
    )


def test_what_is_asked_for_in_vain_is_named_beside_what_is_chosen():
    facts = AnswerFacts(why_not_lazy=NO_STORE)
    assert choose_answers("lazy", facts) == ChosenAnswers("eager", f"not 'lazy': {NO_STORE}")
    facts = AnswerFacts(why_not_none="the history of s would have to be kept without end", alike=4)
    assert choose_answers("none", facts) == ChosenAnswers(
        "lazy", "not 'none': the history of s would have to be kept without end; "
        "it shares a store with other queries",
    )  # fmt: skip
