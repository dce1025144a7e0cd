"""SET name = value."""

from __future__ import annotations

from panes.language.statements import SetSetting
from panes.optimizer.rule_names import check_rule_names
from panes.statements.context import Context


def set_setting(statement: SetSetting, context: Context) -> None:
    """Stores the value; `panes.config` says which settings there are and what they take. SettingError where a
    rule of `rules_off` does not exist."""
    if statement.name == "rules_off" and isinstance(statement.value, str):
        check_rule_names(statement.value)
    context.catalog.set(statement.name, statement.value)
    if statement.name == "isolation":
        context.reads.forget_level()
