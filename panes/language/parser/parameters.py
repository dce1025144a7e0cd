"""Values for the parameters of a text: `?` by place, `:name` by name.

A parameter becomes the tokens of a constant before the parser sees it. So it can stand wherever a constant can,
and nothing in a text that is given is ever read as part of the statement. Errors about it point at the parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any, NoReturn, TypeAlias

import numpy as np
from sqlglot import Token, TokenType

from panes.language.positions import did_you_mean, refuse
from panes.plan.durations import duration_text, length_us
from panes.plan.types import MOST_DIGITS

Parameters: TypeAlias = Sequence[Any] | Mapping[str, Any]
"""Values in the order of the question marks, or by name."""

LONGEST = 500_000
"""Characters of all texts among the values: the statement stays within what can be read again."""

_Piece: TypeAlias = tuple[TokenType, str]

_OPERANDS = (
    TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING, TokenType.R_PAREN, TokenType.R_BRACKET
)  # fmt: skip
"""What an operand may end with."""

_BYTES = "x"

_TAKEN = "None, bool, int, float, Decimal, str, bytes, date, datetime and timedelta, also of numpy"


def with_parameters(tokens: Iterable[Token], text: str, parameters: Parameters | None) -> list[Token]:
    """The tokens with constants in place of the parameters.

    Raises SqlError for a parameter without a value, a value without a parameter, both kinds in one text, and a
    value that is no constant of the language.
    """
    return _Constants(text, parameters).put_into(list(tokens))


@dataclass(frozen=True)
class _Parameter:
    """`name` is None for a question mark, and `end` the offset of its last character."""

    token: Token
    name: str | None
    end: int


class _Constants:
    def __init__(self, text: str, parameters: Parameters | None) -> None:
        self._text = text
        is_list = isinstance(parameters, Sequence | np.ndarray) and not isinstance(parameters, str | bytes)
        if parameters is not None and not is_list and not isinstance(parameters, Mapping):
            self._refuse(
                f"parameters are a list or a dictionary, not of type {type(parameters).__name__}",
                0,
                "give values for ? in a list, and values for :name in a dictionary",
            )
        self._values = parameters
        self._used: set[str] = set()
        self._places = 0
        self._kind: str | None = None
        """Which kind of parameter was first: '?' or ':name'."""
        self._characters = 0

    def put_into(self, tokens: Sequence[Token]) -> list[Token]:
        done: list[Token] = []
        place = 0
        while place < len(tokens):
            parameter = _parameter_at(tokens, place)
            if parameter is None:
                done.append(tokens[place])
                place += 1
                continue
            place += 1 if parameter.name is None else 2
            is_cast = place < len(tokens) and tokens[place].token_type == TokenType.DCOLON
            pieces = self._pieces(self._value_of(parameter), parameter, is_cast)
            if len(pieces) > 1 and done and done[-1].text.upper() == pieces[0][1]:
                pieces = pieces[1:]  # the text says TIMESTAMP, DATE or INTERVAL itself
            done += [_token(kind, written, parameter) for kind, written in pieces]
        self._check_all_used()
        return done

    def _value_of(self, parameter: _Parameter) -> object:
        offset = parameter.token.start
        kind = "?" if parameter.name is None else ":name"
        if self._kind not in (None, kind):
            self._refuse("a text has parameters of one kind: ? or :name", offset)
        self._kind = kind
        if self._values is None:
            given = "[value, …]" if parameter.name is None else f'{{"{parameter.name}": value}}'
            self._refuse("this parameter has no value", offset, f"give one: db.sql(text, {given})")
        if parameter.name is not None:
            if not isinstance(self._values, Mapping):
                self._refuse(
                    "values for :name come in a dictionary", offset, f'{{"{parameter.name}": value}}'
                )
            if parameter.name not in self._values:
                hint = did_you_mean(parameter.name, [str(name) for name in self._values])
                self._refuse(f"there is no value for :{parameter.name}", offset, hint)
            self._used.add(parameter.name)
            return self._values[parameter.name]
        if isinstance(self._values, Mapping):
            self._refuse("values for ? come in a list", offset, "or name the parameter: :name")
        self._places += 1
        if self._places > len(self._values):
            self._refuse(f"this is parameter {self._places}, and {_count(len(self._values))} given", offset)
        return self._values[self._places - 1]

    def _check_all_used(self) -> None:
        if isinstance(self._values, Mapping):
            unused = [str(name) for name in self._values if name not in self._used]
            if unused:
                self._refuse(f"the text has no parameter :{unused[0]}", 0)
        elif self._values is not None and len(self._values) > self._places:
            has = f"{self._places} parameter{'s' * (self._places != 1)}"
            self._refuse(f"the text has {has}, and {_count(len(self._values))} given", 0)

    def _pieces(self, value: Any, parameter: _Parameter, is_cast: bool) -> list[_Piece]:
        """The tokens of a constant; `is_cast` says whether `::` follows it, which binds tighter than a sign."""
        value = self._plain(value, parameter)
        if value is None:
            return [(TokenType.NULL, "NULL")]
        if isinstance(value, bool):
            return [(TokenType.TRUE, "TRUE") if value else (TokenType.FALSE, "FALSE")]
        if isinstance(value, int | float | Decimal) and not isfinite(value):
            hint = "db.load and db.push take them"
            self._refuse_value(parameter, "NaN and infinity cannot be written as constants", hint)
        if isinstance(value, Decimal):
            return self._decimal(value, parameter)
        if isinstance(value, int | float):
            number = repr(abs(value))
            if value >= 0 and not str(value).startswith("-"):
                return [(TokenType.NUMBER, number)]
            negative = [(TokenType.DASH, "-"), (TokenType.NUMBER, number)]
            return [(TokenType.L_PAREN, "("), *negative, (TokenType.R_PAREN, ")")] if is_cast else negative
        if isinstance(value, datetime):
            return [(TokenType.VAR, "TIMESTAMP"), (TokenType.STRING, self._instant(value, parameter))]
        if isinstance(value, date):
            return [(TokenType.VAR, "DATE"), (TokenType.STRING, value.isoformat())]
        if isinstance(value, timedelta):
            if value < timedelta():
                self._refuse_value(parameter, "a length of time is not negative", "subtract it instead")
            number, unit = duration_text(length_us(value)).split(" ")
            return [(TokenType.VAR, "INTERVAL"), (TokenType.NUMBER, number), (TokenType.VAR, unit)]
        if isinstance(value, bytes):
            return [(TokenType.VAR, _BYTES), (TokenType.STRING, self._checked(value.hex(), parameter))]
        if isinstance(value, str):
            return [(TokenType.STRING, self._checked(value, parameter))]
        return self._refuse_value(
            parameter, f"a value of type {type(value).__name__} is no constant", f"values are {_TAKEN}"
        )

    def _decimal(self, value: Decimal, parameter: _Parameter) -> list[_Piece]:
        """CAST('1.50' AS DECIMAL(3, 2)): a number with a point would be a DOUBLE."""
        written = f"{value:f}"
        whole, _, fraction = written.lstrip("-").partition(".")
        digits = len(whole.lstrip("0")) + len(fraction)
        if digits > MOST_DIGITS:
            self._refuse_value(parameter, f"a DECIMAL has at most {MOST_DIGITS} digits")
        return [
            (TokenType.VAR, "CAST"), (TokenType.L_PAREN, "("), (TokenType.STRING, written), (TokenType.VAR, "AS"),
            (TokenType.VAR, "DECIMAL"), (TokenType.L_PAREN, "("), (TokenType.NUMBER, str(max(digits, 1))),
            (TokenType.COMMA, ","), (TokenType.NUMBER, str(len(fraction))), (TokenType.R_PAREN, ")"),
            (TokenType.R_PAREN, ")"),
        ]  # fmt: skip

    def _plain(self, value: Any, parameter: _Parameter) -> Any:
        """The value as Python has it, when it is one of numpy or pandas."""
        if isinstance(value, np.datetime64 | np.timedelta64):
            if np.isnat(value):
                return None
            unit = "datetime64[us]" if isinstance(value, np.datetime64) else "timedelta64[us]"
            if value.astype(unit) != value:
                self._refuse_value(parameter, "this value is not a whole number of microseconds")
            return value.astype(unit).item()
        if isinstance(value, np.generic):
            return value.item()
        if type(value).__name__ in ("NaTType", "NAType"):
            return None
        if getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0):
            self._refuse_value(parameter, "this value is not a whole number of microseconds")
        return value

    def _instant(self, value: datetime, parameter: _Parameter) -> str:
        """In UTC; a time without a zone is in UTC already."""
        try:
            moment = value if value.tzinfo is None else value.astimezone(UTC)
        except OverflowError:
            self._refuse_value(parameter, "this instant lies before the year 1 or after 9999")
        return datetime.isoformat(moment.replace(tzinfo=None), sep=" ")

    def _checked(self, value: str, parameter: _Parameter) -> str:
        try:
            value.encode()
        except UnicodeEncodeError:
            self._refuse_value(parameter, "this value has a character that is no text")
        self._characters += len(value)
        if self._characters > LONGEST:
            hint = "db.load and db.push take rows of any size"
            self._refuse_value(parameter, f"texts are longer than {LONGEST} characters in all", hint)
        return str(value)

    def _refuse_value(self, parameter: _Parameter, problem: str, hint: str | None = None) -> NoReturn:
        name = f"parameter {self._places}" if parameter.name is None else f":{parameter.name}"
        self._refuse(f"{name}: {problem}", parameter.token.start, hint)

    def _refuse(self, problem: str, offset: int, hint: str | None = None) -> NoReturn:
        refuse(problem, self._text, offset, hint)


def _parameter_at(tokens: Sequence[Token], place: int) -> _Parameter | None:
    token = tokens[place]
    if token.token_type == TokenType.PLACEHOLDER:
        return _Parameter(token, None, token.end)
    if token.token_type != TokenType.COLON or place + 1 == len(tokens):
        return None
    if place and tokens[place - 1].end + 1 == token.start and tokens[place - 1].token_type in _OPERANDS:
        return None  # a:b is no parameter behind a
    name = tokens[place + 1]
    is_name = name.start == token.end + 1 and name.text.isidentifier() and name.token_type != TokenType.STRING
    return _Parameter(token, name.text, name.end) if is_name else None


def _token(kind: TokenType, written: str, parameter: _Parameter) -> Token:
    at = parameter.token
    # The letter of x'00ff' ends where its digits begin.
    end = at.start - 1 if written == _BYTES and kind == TokenType.VAR else parameter.end
    return Token(kind, written, at.line, at.col, at.start, end)


def _count(values: int) -> str:
    return f"{values} value{'s are' if values != 1 else ' is'}"
