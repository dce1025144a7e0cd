"""How the answer of a query is had: kept up to date, put together when it is read, or asked of the history.

PSoup calls these PSoup-C, PSoup-P and NoMat. All of them give the same answer. They differ in what tuples cost as
they come, what an invocation costs, and whether there are changes to follow.
"""

from __future__ import annotations

from dataclasses import dataclass

from panes.config import AUTO, EAGER, LAZY, NONE
from panes.optimizer.answer_costs import AnswerCosts
from panes.optimizer.drift import drift
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
    costs: AnswerCosts | None = None
    """What each way costs; None where the rates are not known yet."""
    has_followers: bool = False
    """Whether somebody follows the changes of the query, or of those like it."""

    def why_not(self, mode: str) -> str | None:
        """Why a query cannot have its answer in a way; None when it can."""
        return {EAGER: self.why_not_eager, LAZY: self.why_not_lazy, NONE: self.why_not_none}[mode]


def choose_answers(asked: str, facts: AnswerFacts) -> ChosenAnswers:
    """The way for a query, and why. `asked` is the value of the setting; where it is not possible, the choice is
    that of 'auto', and the reason says so.

    >>> choose_answers("auto", AnswerFacts(alike=2, share_from=4)).reason
    '2 of at least 4 queries that could share a store are registered'
    >>> choose_answers("none", AnswerFacts()).mode
    'none'
    """
    if asked == AUTO:
        return _chosen(facts)
    reason = facts.why_not(asked)
    if reason is None:
        return ChosenAnswers(asked, _AS_ASKED)
    mode, why, _ = _chosen(facts)
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

    'none' is not chosen where something else is possible: nobody could follow the changes.

    That is what is chosen while nobody knows how often the query is invoked. Once that is known, a way that is
    cheaper by as much as another plan must be takes its place; 'none' only where nobody follows the changes.
    """
    unmeasured = _chosen_unmeasured(facts)
    return unmeasured if facts.costs is None else cheapest(unmeasured, facts.costs, facts.has_followers)


def cheapest(
    current: ChosenAnswers, costs: AnswerCosts, has_followers: bool, epochs_since_switch: int | None = None
) -> ChosenAnswers:
    """The way that is cheaper than the one that a query has, or would have, by enough to take its place; else that
    one.

    >>> cheapest(KEPT, AnswerCosts(0.001, 9000, {"eager": 0.05, "none": 0.001}), has_followers=False).mode
    'none'
    >>> cheapest(KEPT, AnswerCosts(0.001, 9000, {"eager": 0.05, "none": 0.001}), has_followers=True).mode
    'eager'
    """
    ways = {mode: cost for mode, cost in costs.ways.items() if not (has_followers and mode == NONE)}
    if current.mode not in ways:
        return current
    best = min(ways, key=lambda mode: (ways[mode], mode != current.mode))
    decision = drift(ways[current.mode], ways[best], epochs_since_switch)
    if best == current.mode or not decision.is_switched:
        return current
    return ChosenAnswers(best, f"{costs.rates}: {decision.reason}, which {current.mode!r} would take")


def _chosen_unmeasured(facts: AnswerFacts) -> ChosenAnswers:
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
