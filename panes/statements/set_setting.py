"""SET name = value."""

from __future__ import annotations

from panes.language.statements import SetSetting
from panes.statements.context import Context


def set_setting(statement: SetSetting, context: Context) -> None:
    """Stores the value; `panes.config` says which settings there are and what they take."""
    context.catalog.set(statement.name, statement.value)
