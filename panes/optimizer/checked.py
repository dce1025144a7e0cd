"""What a rule or an alternative makes of a plan, timed, and checked before anybody uses it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from panes.clock import Clock
from panes.optimizer.alternatives.alternative import Alternative
from panes.optimizer.what_is_broken import what_is_broken
from panes.plan.nodes import Node


@dataclass(frozen=True)
class Checked:
    """Plans that were made of another one and differ from it, and how long that took."""

    plans: tuple[Alternative, ...]
    seconds: float


def checked(name: str, plan: Node, make: Callable[[], Iterable[Alternative]], clock: Clock) -> Checked:
    """What `make` gives, without the plans that must not be used. `name` is that of the rule or alternative: what
    is wrong with it is a warning, and the plan before it, which is right, can run."""
    begin = clock.elapsed()
    found = []
    try:
        for made in make():
            if made.plan is plan or made.plan == plan:
                continue
            problem = what_is_broken(plan, made.plan)
            if problem is None:
                found.append(made)
            else:
                _warn(name, problem)
    except Exception as error:
        _warn(name, f"{type(error).__name__}: {error}")
    return Checked(tuple(found), clock.elapsed() - begin)


def _warn(name: str, problem: str) -> None:
    warnings.warn(f"{name} is skipped, a bug in Panes: {problem}", RuntimeWarning, stacklevel=4)
