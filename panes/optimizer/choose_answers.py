"""How the answer of a query is had: kept up to date, put together when it is read, or asked of the history.

PSoup calls these PSoup-C, PSoup-P and NoMat. All of them give the same answer. They differ in what tuples cost as
they come, what an invocation costs, and whether there are changes to follow.
"""

from __future__ import annotations

from dataclasses import dataclass

from panes.config import AUTO, EAGER, LAZY, NONE
from panes.query_settings import KEPT, ChosenAnswers

_AS_ASKED = "as it was registered"


@dataclass(frozen=True)
class AnswerFacts:
    """What the choice depends on."""

    why_not_eager: str | None = None
    """Why no operators can keep the answer up to date; None: they can."""
    why_not_lazy: str | None = None
    """Why no store holds what the answer could be put together from; None: one does."""
    why_not_none: str | None = None
    """Why the history cannot be asked for the answer; None: it can."""
    alike: int = 1
    """The queries that could share the store, with this one."""
    share_from: int = 1
    """The number of them from which on they share it."""
    pays_alone: bool = False
    """Whether the store is worth its costs for a single query: without it, all of the history is read."""

    def why_not(self, mode: str) -> str | None:
        """Why a query cannot have its answer in a way; None when it can."""
        return {EAGER: self.why_not_eager, LAZY: self.why_not_lazy, NONE: self.why_not_none}[mode]


def choose_answers(asked: str, facts: AnswerFacts) -> ChosenAnswers:
    """The way for a query, and why. `asked` is the value of the setting; where it is not possible, the choice is
    that of 'auto', and the reason says so.

    >>> choose_answers("auto", AnswerFacts(alike=2, share_from=4))
    ChosenAnswers(mode='eager', reason='2 of at least 4 queries that could share a store are registered')
    >>> choose_answers("none", AnswerFacts())
    ChosenAnswers(mode='none', reason='as it was registered')
    """
    if asked == AUTO:
        return _chosen(facts)
    reason = facts.why_not(asked)
    if reason is None:
        return ChosenAnswers(asked, _AS_ASKED)
    mode, why = _chosen(facts)
    return ChosenAnswers(mode, f"not {asked!r}: {reason}" + (f"; {why}" if why else ""))


def _chosen(facts: AnswerFacts) -> ChosenAnswers:
    """
    | eager    | lazy          | chosen |
    | ---      | ---           | ---    |
    | possible | not possible  | eager  |
    | possible | too few alike | eager  |
    | possible | enough alike  | lazy   |
    | not      | enough alike  | lazy   |
    | not      | pays alone    | lazy   |
    | not      | otherwise     | none   |

    'none' is never chosen where something else is possible: nobody could follow the changes.
    """
    if facts.why_not_lazy is None and facts.alike >= facts.share_from:
        return ChosenAnswers(LAZY, "it shares a store with other queries")
    if facts.why_not_lazy is None and facts.pays_alone:
        return ChosenAnswers(LAZY, "the store answers without reading all of the history")
    if facts.why_not_eager is None and facts.why_not_lazy is not None:
        return KEPT
    too_few = (
        f"{facts.alike} of at least {facts.share_from} queries that could share a store are registered"
        if facts.why_not_lazy is None
        else facts.why_not_lazy
    )
    if facts.why_not_eager is None:
        return ChosenAnswers(EAGER, too_few)
    return ChosenAnswers(NONE, f"{facts.why_not_eager}; {too_few}")
