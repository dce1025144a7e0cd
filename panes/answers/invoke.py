"""Invoking a query: its answer at an instant, read from the segments of committed epochs, without Spark."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from panes.answers.answer import Answer
from panes.answers.answer_source import AnswerSource
from panes.answers.intervals import intervals
from panes.answers.key_lookup import KeyLookup
from panes.answers.sorted_rows import in_order
from panes.clock import to_datetime
from panes.delta.delta import BEGINNING
from panes.errors import EpochGone
from panes.plan.order_of_answer import order_of
from panes.state.storage.epoch_log import QueryProgress


def invoke(standing: AnswerSource, ran: QueryProgress | None, lookup: KeyLookup | None = None) -> Answer:
    """The answer of a query after an epoch that ran it, or what a lookup finds of it; no rows and no instant when
    none has."""
    if ran is None or ran.clock == BEGINNING:
        return Answer(None, standing.schema.empty_table())
    return _answer(standing, ran, ran.clock, lookup)


def invoke_at(
    standing: AnswerSource, instant: int, runs: Sequence[QueryProgress], lookup: KeyLookup | None = None
) -> Answer:
    """The answer at an instant, from the kept epochs that ran the query and in which the answer is whole.

    Where the answer is known at the end of epochs only, that of the last one that ended by then. Where it is
    refreshed by deadline, that of the last slide up to then which was refreshed.
    """
    if standing.is_refreshed and instant <= runs[-1].clock:
        refreshed = bisect_right(runs, instant, key=lambda ran: standing.as_of(ran, ran.clock))
        if refreshed and standing.as_of(runs[refreshed - 1], instant) > BEGINNING:
            return invoke(standing, runs[refreshed - 1], lookup)
        raise EpochGone(_why_not(standing, instant, runs[0], runs[-1]))
    ended = bisect_right(runs, instant, key=lambda ran: ran.clock)
    last = runs[ended - 1] if ended else None
    if last is not None and last.clock == instant:
        return invoke(standing, last, lookup)
    if ended < len(runs):
        if not standing.is_known_between_clocks:
            if last is not None:
                return invoke(standing, last, lookup)
        elif last is not None or _is_begun(standing, runs[ended], instant):
            return _answer(standing, runs[ended], instant, lookup)
        elif BEGINNING < standing.as_of(runs[ended], runs[ended].clock) <= instant:
            # Nothing has changed between this slide and the clock of the oldest epoch that is kept.
            return invoke(standing, runs[ended], lookup)
    raise EpochGone(_why_not(standing, instant, runs[0], runs[-1]))


def _is_begun(standing: AnswerSource, first: QueryProgress, instant: int) -> bool:
    """Whether an instant in the first epoch of a query is not before its first answer."""
    return standing.is_whole_first_in(first) and max(first.since, standing.whole_from) <= instant


def _answer(standing: AnswerSource, ran: QueryProgress, instant: int, lookup: KeyLookup | None) -> Answer:
    as_of = standing.as_of(ran, instant)
    if as_of == BEGINNING:
        return Answer(None, standing.schema.empty_table())
    nothing = standing.of_nothing
    # Whether there is nothing shows when all is read.
    found_at_once = lookup if nothing is None else None
    table = standing.rows.at(ran, instant, is_first=standing.begins_in(ran), lookup=found_at_once)
    if nothing is not None:
        table = table if table.num_rows else nothing
        table = table if lookup is None else lookup.rows(table)
    since = standing.complete_from(as_of, ran.epoch)
    order = order_of(standing.plan)
    table = (in_order(table, order) if order else table).combine_chunks()
    shown = table.select(standing.plan.schema.names)
    return Answer(
        to_datetime(as_of),
        shown,
        None if since is None else to_datetime(since),
        is_sorted=bool(order),
        kept=standing.kept(instant, ran.epoch),
        error=intervals(shown, table),
    )


def _why_not(standing: AnswerSource, instant: int, oldest: QueryProgress, latest: QueryProgress) -> str:
    asked = f"the answer of {standing.name!r} at {_text(instant)}"
    if instant > latest.clock:
        return f"{asked} is not known yet: its clock has come to {_text(latest.clock)}"
    begin = standing.as_of(oldest, oldest.clock)
    if begin == BEGINNING:
        return f"{asked} is not known: no slide up to then was refreshed"
    if standing.is_whole_first_in(oldest):
        if standing.is_known_between_clocks:
            begin = max(oldest.since, standing.whole_from)
        return f"{asked} is not known: the answers of this query begin at {_text(begin)}"
    return (
        f"{asked} is no longer kept: what is kept begins at {_text(begin)}; "
        "SET retain_epochs to a larger number to keep more from now on"
    )


def _text(instant: int) -> str:
    return to_datetime(instant).isoformat() if instant > BEGINNING else "the beginning"
