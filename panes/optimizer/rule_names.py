"""The names that the setting `rules_off` takes."""

from __future__ import annotations

from panes.errors import SettingError
from panes.optimizer.candidates import ALTERNATIVES
from panes.optimizer.choose_plan import LAYOUT, ORDERED, PARTITIONED
from panes.optimizer.optimizer import RULES
from panes.optimizer.planning import rules_in


def rule_names() -> tuple[str, ...]:
    """The names of all rules, and of what is chosen by cost."""
    return (*(rule.__name__ for rule in RULES), *ALTERNATIVES, ORDERED, PARTITIONED, LAYOUT)


def check_rule_names(setting: str) -> None:
    """Raises SettingError when a list has a name that is no rule's."""
    unknown = sorted(rules_in(setting) - set(rule_names()))
    if unknown:
        raise SettingError(f"there is no rule named {unknown[0]!r}; there are {', '.join(rule_names())}")
