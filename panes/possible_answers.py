"""In which ways the answer of a query can be had."""

from __future__ import annotations

from panes.catalog import Catalog
from panes.history.retention import needed
from panes.onetime.can_ask_once import why_not_once
from panes.optimizer.choose_answers import AnswerFacts
from panes.plan.begin_end import is_begin_end
from panes.plan.nodes import Node
from panes.plan.walk import streams_of
from panes.query_settings import QuerySettings
from panes.sharing.template import Template, template_of
from panes.stored_plans import sheds


def possible_answers(plan: Node, settings: QuerySettings, catalog: Catalog) -> AnswerFacts:
    """What is possible for a query that is registered now, by its logical plan and its settings."""
    template = sharable(plan, settings)
    is_stored = template is not None and template.has_store
    return AnswerFacts(
        why_not_eager="BEGIN … END is applied when the query is invoked" if is_begin_end(plan) else None,
        why_not_lazy=None if is_stored else _why_no_store(plan, settings),
        why_not_none=_why_not_asked(plan, settings),
        alike=1 + catalog.alike(template.key) if template is not None else 1,
        share_from=int(catalog.setting("share_from")),
    )


def sharable(plan: Node, settings: QuerySettings) -> Template | None:
    """What queries have in common that may share a plan; None for one that shares none. One that sheds has drop
    boxes of its own, and one whose operators hear of time in a way of their own cannot share it."""
    found = None if sheds(plan, settings) or settings.is_alone else template_of(plan)
    return None if found is None else found[0]


def _why_no_store(plan: Node, settings: QuerySettings) -> str:
    if settings.is_alone:
        return f"with expiration = {settings.expiration!r} it goes by a time of its own"
    if sheds(plan, settings):
        return "rows may be dropped for it"
    return "only selections and joins over windows of time share a store"


def _why_not_asked(plan: Node, settings: QuerySettings) -> str | None:
    if settings.is_alone:
        return f"with expiration = {settings.expiration!r} it goes by a time of its own"
    reason = why_not_once(plan)
    if reason is not None:
        return reason
    for stream in sorted(streams_of(plan)):
        if needed(plan, stream).us is None:
            return f"the history of {stream} would have to be kept without end"
    return None
