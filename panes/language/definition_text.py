"""What definitions are made of, as text that is read back as the same: columns, options, sources."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from panes.language.names import quoted
from panes.plan.durations import duration_text
from panes.plan.schema import Field, Schema
from panes.plan.stream import OptionValue, Source

_NONE: Mapping[str, str] = MappingProxyType({})


def source_text(source: Source) -> str:
    """The clause that says where the tuples of a stream come from."""
    parts = ["FROM", source.kind]
    if source.location is not None:
        parts.append(text_literal(source.location))
    if source.options:
        parts.append(options_text(source.options))
    return " ".join(parts)


def clause_text(value: int | bool | None) -> str:
    """The value of a clause that ALTER STREAM sets."""
    if value is None:
        return "NULL"
    return str(value).upper() if isinstance(value, bool) else f"INTERVAL {duration_text(value)}"


def options_text(options: Mapping[str, OptionValue]) -> str:
    """`WITH (…)`."""
    written = (f"{quoted(name)} = {option_text(value)}" for name, value in options.items())
    return f"WITH ({', '.join(written)})"


def text_literal(value: str) -> str:
    """A text in quotes."""
    return "'" + value.replace("'", "''") + "'"


def option_text(value: OptionValue) -> str:
    """The value of an option or a setting."""
    if isinstance(value, bool):
        return str(value).upper()
    return text_literal(value) if isinstance(value, str) else repr(value)


def columns_text(columns: Schema, not_null: Collection[str] = (), defaults: Mapping[str, str] = _NONE) -> str:
    """The definitions of columns, separated by commas."""
    return ", ".join(column_text(f, not_null, defaults) for f in columns)


def column_text(column: Field, not_null: Collection[str] = (), defaults: Mapping[str, str] = _NONE) -> str:
    """The definition of a column with its constraints."""
    default = f" DEFAULT {defaults[column.name]}" if column.name in defaults else ""
    return f"{quoted(column.name)} {column.type}{' NOT NULL' * (column.name in not_null)}{default}"
