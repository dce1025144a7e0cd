"""A logical plan that gives the same answer as another one, and may cost less."""

from __future__ import annotations

from dataclasses import dataclass

from panes.plan.nodes import Node


@dataclass(frozen=True)
class Alternative:
    """A plan that may be chosen, and what was done to come to it."""

    name: str
    plan: Node
