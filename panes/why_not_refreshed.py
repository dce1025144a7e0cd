"""Which queries can be refreshed by deadline."""

from __future__ import annotations

from panes.config import DEADLINE, EAGER, NONE
from panes.plan.nodes import Node
from panes.plan.own_calls import own_calls
from panes.query_settings import QuerySettings
from panes.sharing.joined_aggregate import joined_aggregate_of
from panes.sharing.windowed_aggregate import windowed_aggregate_of
from panes.stored_plans import sheds


def why_not_refreshed(plan: Node, settings: QuerySettings) -> str | None:
    """Why the answer of a query cannot be refreshed by deadline, by its logical plan and its settings; None when
    it can: then it is read from a synopsis."""
    if settings.is_alone:
        return f"with expiration = {settings.expiration!r} it goes by a time of its own"
    if sheds(plan, settings):
        return "rows may be dropped for it"
    if settings.shares_no_plan:
        return "its answer has an index"
    if settings.answers in (EAGER, NONE):
        return f"with answers = {settings.answers!r} it is not read from a synopsis"
    if (windowed_aggregate_of(plan) or joined_aggregate_of(plan)) is None or own_calls(plan):
        return (
            "only aggregates of one stream, or of a join of two by equal keys, over RANGE windows with SLIDE, "
            "are read from a synopsis"
        )
    return None


def is_refreshed(plan: Node, settings: QuerySettings) -> bool:
    """Whether the answer of a query is to be refreshed by deadline."""
    return settings.refresh == DEADLINE and why_not_refreshed(plan, settings) is None
