"""The settings that a query has from its registration on."""

from __future__ import annotations

from typing import NamedTuple

from panes.config import AUTO, EAGER, INPUT_TRIGGERED, NEGATIVE, NONE, SETTINGS, TIME_MESSAGE


class ChosenAnswers(NamedTuple):
    """How the answer of a query is had, and why; without a reason where there is no other way."""

    mode: str
    """'eager': operators keep it up to date. 'lazy': it is put together when it is read, from a store that queries
    share. 'none': nothing is kept, and the history is asked."""
    reason: str = ""
    since: int | None = None
    """The epoch before which the query had another way; None: it always had this one."""

    @property
    def is_asked_anew(self) -> bool:
        """Whether no epoch runs the query: the history is asked at every invocation."""
        return self.mode == NONE

    def switched(self, epoch: int) -> ChosenAnswers:
        """The same for a query that had another way before an epoch."""
        return self._replace(reason=f"since epoch {epoch}: {self.reason}", since=epoch)

    @property
    def is_switched(self) -> bool:
        """Whether the query had another way before; then its answers of earlier instants are asked of the
        history."""
        return self.since is not None


KEPT = ChosenAnswers(EAGER)
"""The way of a query that has no other."""


class QuerySettings(NamedTuple):
    """The settings that a query keeps: what the database has when it is registered, or what its own statement
    gives. The catalog has a column for each of them."""

    strategy: str = str(SETTINGS["strategy"].default)
    calendar_days: int = int(SETTINGS["calendar_days"].default)
    lazy_expiration: str = str(SETTINGS["lazy_expiration"].default)
    """When state from which rows leave unseen is cleaned of the dead ones."""
    changes: str = str(SETTINGS["changes"].default)
    """Whether its changes are net per 'epoch' where that is cheaper, or those of every 'instant'."""
    negation: str = str(SETTINGS["negation"].default)
    join: str = str(SETTINGS["join"].default)
    rules_off: str = str(SETTINGS["rules_off"].default)
    shed: str = str(SETTINGS["shed"].default)
    """Whether rows may be dropped for it: 'never', or 'auto' when the load is too high."""
    priority: float = float(SETTINGS["priority"].default)
    expiration: str = str(SETTINGS["expiration"].default)
    """How time reaches operators."""
    answers: str = str(SETTINGS["answers"].default)
    """What is kept of its answer, as it was asked for; what was decided then is a ChosenAnswers."""
    index_cells: str = str(SETTINGS["index_cells"].default)
    index_order: str = str(SETTINGS["index_order"].default)
    index_rebuild: str = str(SETTINGS["index_rebuild"].default)
    """How the index of the answer is kept, if it has one."""
    index_by: str = ""
    """The columns of INDEX BY as a JSON list; empty when there is no index. No setting of the database."""

    refresh: str = str(SETTINGS["refresh"].default)
    """Whether its answer is brought up to date at every slide, or by deadline."""

    @property
    def strategy_of_plan(self) -> str:
        """The strategy that the plan is made by: 'nt' has a negative tuple for every row that leaves."""
        return "nt" if self.expiration == NEGATIVE else self.strategy

    @property
    def is_input_triggered(self) -> bool:
        return self.expiration == INPUT_TRIGGERED

    @property
    def is_alone(self) -> bool:
        """Whether time reaches its operators in a way of their own: then it has one shard."""
        return self.expiration in (INPUT_TRIGGERED, TIME_MESSAGE)

    @property
    def of_group(self) -> QuerySettings:
        """The same settings as those have them that share a plan: in which way a query came to share it, and when
        its own answer is refreshed, makes no difference."""
        every_slide = str(SETTINGS["refresh"].default)
        return self._replace(answers=AUTO, refresh=every_slide, priority=float(SETTINGS["priority"].default))

    @property
    def shares_no_plan(self) -> bool:
        """Whether it runs by itself, though others may be equal to it up to constants: answers that share a plan
        lie by query."""
        return self.is_alone or bool(self.index_by)
