"""In which ways the answer of a query can be had."""

from __future__ import annotations

from panes.catalog import Catalog
from panes.config import LAZY
from panes.history.retention import needed
from panes.onetime.can_ask_once import why_not_once
from panes.optimizer.choose_answers import AnswerFacts
from panes.plan.begin_end import is_begin_end
from panes.plan.nodes import Node, Timed
from panes.plan.walk import streams_of
from panes.query_settings import QuerySettings
from panes.sharing.template import Template, templates_of
from panes.stored_plans import sheds
from panes.why_not_refreshed import is_refreshed

_INDEXED = "INDEX BY is of an answer that is kept for it alone"


def possible_answers(plan: Node, settings: QuerySettings, catalog: Catalog) -> AnswerFacts:
    """What is possible for a query that is registered now, by its logical plan and its settings."""
    template = sharable(plan, settings, catalog)
    is_stored = template is not None and template.has_store
    is_timed = template is not None and isinstance(template.plan, Timed)
    return AnswerFacts(
        why_not_eager="BEGIN … END is applied when the query is invoked" if is_begin_end(plan) else None,
        why_not_lazy=None if is_stored else _why_no_store(plan, settings),
        pays_alone=is_timed,
        why_not_none=_why_not_asked(plan, settings),
        alike=1 + catalog.alike(template.key) if template is not None else 1,
        share_from=int(catalog.setting("share_from")),
    )


def sharable(plan: Node, settings: QuerySettings, catalog: Catalog) -> Template | None:
    """What a query shares with others, as soon as there are enough of them: the first thing that enough of those
    that are registered have in common with it, else that which it would share first; None for one that shares
    nothing. Where answers are to be put together when they are read, only what is read from a store counts; where
    they are refreshed by deadline, only a synopsis does."""
    found = all_sharable(plan, settings)
    if is_refreshed(plan, settings):
        found = tuple(template for template in found if template.source is not None)
    elif settings.answers == LAZY:
        found = tuple(template for template in found if template.has_store) or found
    share_from = int(catalog.setting("share_from"))
    others = {template: catalog.alike(template.key) for template in found}
    enough = [template for template in found if others[template] + 1 >= share_from]
    # Where one query is enough, it goes to others that are there before it begins something of its own.
    return next((t for t in enough if others[t]), next(iter(enough or found), None))


def all_sharable(plan: Node, settings: QuerySettings) -> tuple[Template, ...]:
    """All that a query may have in common with others that it shares a plan with. One that sheds has drop boxes of
    its own, one whose operators hear of time in a way of their own cannot share any, and one whose answer has an
    index keeps it for itself. A store of tuples by time tells changes once per epoch."""
    if sheds(plan, settings) or settings.shares_no_plan:
        return ()
    found = templates_of(plan)
    return tuple(t for t in found if not (isinstance(t.plan, Timed) and settings.changes == "instant"))


def _why_no_store(plan: Node, settings: QuerySettings) -> str:
    if settings.index_by:
        return _INDEXED
    if settings.is_alone:
        return f"with expiration = {settings.expiration!r} it goes by a time of its own"
    if sheds(plan, settings):
        return "rows may be dropped for it"
    if is_begin_end(plan) and settings.changes == "instant":
        return "changes = 'instant' asks for every instant"
    return "only selections, joins, aggregates over slides and BEGIN … END aggregates share a store"


def _why_not_asked(plan: Node, settings: QuerySettings) -> str | None:
    if settings.index_by:
        return _INDEXED
    if settings.is_alone:
        return f"with expiration = {settings.expiration!r} it goes by a time of its own"
    reason = why_not_once(plan)
    if reason is not None:
        return reason
    for stream in sorted(streams_of(plan)):
        if needed(plan, stream).us is None:
            return f"the history of {stream} would have to be kept without end"
    return None
