"""Physical plans as text, in JSON, to be stored with the query and read by people.

Nodes of the logical plan occur in many places, and stand in one list: `{"node": 3}` is its fourth entry. A value
of any other class is `{"ClassName": {its fields}}`; fields that have their default are left out. Types and columns
go by their names.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from types import ModuleType
from typing import Any

from panes.errors import StateError
from panes.operators import input as inputs
from panes.operators import physical_step
from panes.operators.tools import edge
from panes.plan import expressions, lifetime_window, nodes, over_functions, sort_key, stream, windows
from panes.plan.patterns import Pattern
from panes.plan.schema import Schema
from panes.plan.types import Type, decimal, list_of, struct_of
from panes.stages import physical_plan
from panes.stages.physical_plan import VERSION, PhysicalPlan

_MODULES: tuple[ModuleType, ...] = (
    nodes,
    expressions,
    windows,
    lifetime_window,
    stream,
    sort_key,
    over_functions,
    edge,
    inputs,
    physical_step,
    physical_plan,
)
_CLASSES: dict[str, type[Any]] = {
    name: value
    for module in _MODULES
    for name, value in vars(module).items()
    if isinstance(value, type) and is_dataclass(value) and value.__module__ == module.__name__
}


_PLAIN = frozenset((int, str, bool, float, type(None)))
"""Types of values that JSON has itself."""


def plan_text(plan: PhysicalPlan) -> str:
    """The plan as JSON."""
    writer = _Writer()
    whole = writer.encode(plan)
    return json.dumps({"version": plan.version, "nodes": writer.nodes, "plan": whole}, separators=(",", ":"))


def plan_from(text: str) -> PhysicalPlan:
    """The plan that a text stands for; StateError when it was written by another version."""
    content = json.loads(text)
    if content["version"] != VERSION:
        raise StateError(
            f"a stored plan has version {content['version']}, this Panes reads {VERSION}; register its query again"
        )
    plan = _Reader(content["nodes"]).decode(content["plan"])
    assert isinstance(plan, PhysicalPlan)
    return plan


class _Writer:
    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self._places: dict[nodes.Node, int] = {}

    def encode(self, value: object) -> Any:
        if isinstance(value, nodes.Node):
            if value not in self._places:
                encoded = self._object(value)
                self._places[value] = len(self.nodes)
                self.nodes.append(encoded)
            return {"node": self._places[value]}
        if isinstance(value, Pattern):
            return {"pattern": value.name}
        if isinstance(value, Type):
            return {"type": _type_text(value)}
        if isinstance(value, Schema):
            return {"columns": {field.name: _type_text(field.type) for field in value}}
        if is_dataclass(value):
            return self._object(value)
        if isinstance(value, (tuple, list)):
            are_plain = all(type(item) in _PLAIN for item in value)
            return list(value) if are_plain else [self.encode(item) for item in value]
        if isinstance(value, datetime):
            return {"instant": value.isoformat()}
        if isinstance(value, date):
            return {"day": value.isoformat()}
        if isinstance(value, timedelta):
            return {"microseconds": value // timedelta(microseconds=1)}
        if isinstance(value, Decimal):
            return {"decimal": str(value)}
        if isinstance(value, bytes):
            return {"bytes": value.hex()}
        if isinstance(value, float) or value is None or isinstance(value, (bool, int, str)):
            return value
        raise TypeError(f"{type(value).__name__} has no place in a plan")

    def _object(self, value: Any) -> dict[str, Any]:
        content = {}
        for f in fields(value):
            found = getattr(value, f.name)
            default = f.default_factory() if f.default_factory is not MISSING else f.default
            if f.init and (default is MISSING or found != default or type(found) is not type(default)):
                content[f.name] = self.encode(found)
        return {type(value).__name__: content}


class _Reader:
    def __init__(self, encoded: list[Any]) -> None:
        self._nodes: list[Any] = []
        for node in encoded:
            self._nodes.append(self.decode(node))

    def decode(self, value: Any) -> Any:
        if isinstance(value, list):
            are_plain = all(type(item) in _PLAIN for item in value)
            return tuple(value) if are_plain else tuple(self.decode(item) for item in value)
        if not isinstance(value, dict):
            return value
        ((kind, content),) = value.items()
        match kind:
            case "node":
                return self._nodes[content]
            case "pattern":
                return Pattern[content]
            case "type":
                return _type(content)
            case "columns":
                return Schema.of((name, _type(text)) for name, text in content.items())
            case "instant":
                return datetime.fromisoformat(content)
            case "day":
                return date.fromisoformat(content)
            case "microseconds":
                return timedelta(microseconds=content)
            case "decimal":
                return Decimal(content)
            case "bytes":
                return bytes.fromhex(content)
        return _CLASSES[kind](**{name: self.decode(item) for name, item in content.items()})


def _type_text(type_: Type) -> Any:
    """A type by its name; a STRUCT by its fields, and a list of one as a list."""
    if type_.item is not None:
        inner = _type_text(type_.item)
        return f"{inner}[]" if isinstance(inner, str) else [inner]
    return {name: _type_text(field) for name, field in type_.fields} if type_.fields else str(type_)


def _type(text: Any) -> Type:
    if isinstance(text, list):
        return list_of(_type(text[0]))
    if isinstance(text, dict):
        return struct_of((name, _type(field)) for name, field in text.items())
    if text.endswith("[]"):
        return list_of(_type(text.removesuffix("[]")))
    name, _, parameters = text.partition("(")
    return Type(name) if not parameters else decimal(*map(int, parameters.rstrip(")").split(",")))
