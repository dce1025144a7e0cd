"""Windows as other systems write them (TUMBLE, HOP, SESSION, window()), pointed to the brackets.

They are not translated, because they do not mean the same: there a result for every window comes out once, and a
window from 10 to 20 has the tuple of instant 10; here the answer is that of now, and the window at instant 20 has
the tuple of instant 20.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import Token, TokenType

from panes.language.parser.parse_durations import MICROSECONDS, parse_duration
from panes.plan.durations import duration_text

_TUMBLING = ("TUMBLE", "TUMBLE_START", "TUMBLE_END", "TUMBLE_ROWTIME", "TUMBLING")
_HOPPING = ("HOP", "HOP_START", "HOP_END", "HOP_ROWTIME", "HOPPING")
_SESSIONS = ("SESSION", "SESSION_START", "SESSION_END", "SESSION_ROWTIME", "SESSION_WINDOW")
_WORDS = (*_TUMBLING, *_HOPPING, *_SESSIONS, "WINDOW", "CUMULATE")


@dataclass(frozen=True)
class ForeignWindow:
    """A call such as `HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '5' SECONDS, INTERVAL '1' MINUTE)`."""

    word: str
    stream: str
    lengths: tuple[int, ...]

    @property
    def problem(self) -> str:
        return f"{self.word} is not how windows are written here"

    @property
    def hint(self) -> str:
        return f"put the window in brackets after the stream in FROM: {self.stream} {self._window}"

    @property
    def _window(self) -> str:
        texts = [duration_text(length) for length in self.lengths]
        if self.word in _SESSIONS:
            return f"[PARTITION BY … SESSION {texts[-1] if texts else 'gap'}]"
        if self.word in _TUMBLING or (self.word == "WINDOW" and len(texts) == 1):
            size = texts[0] if texts else "length"
            return f"[RANGE {size} SLIDE {size}]"
        # HOP and CUMULATE have the slide first, window() has the length first: the slide is never the longer one.
        slide, size = map(duration_text, sorted(self.lengths)[:2]) if len(texts) > 1 else ("step", "length")
        return f"[RANGE {size} SLIDE {slide}]"


def foreign_window(tokens: Sequence[Token], at: int, *, in_from: bool) -> ForeignWindow | None:
    """The window that another system would read at this token; None when there is none.

    In an expression there must be a length: functions may have such names.
    """
    while _is_open(tokens, at + 1) and tokens[at].text.upper() == "TABLE":
        at += 2
    if not _is_open(tokens, at + 1) or tokens[at].text.upper() not in _WORDS:
        return None
    word = tokens[at].text.upper()
    inside = in_parentheses(tokens, at + 1)
    lengths = tuple(
        length for place in range(len(inside)) if (length := length_at(inside, place)) is not None
    )
    names = [token.text for token in inside[:2] if token.text.upper() != "TABLE"] if in_from else []
    return ForeignWindow(word, names[0] if names else "stream", lengths) if in_from or lengths else None


def _is_open(tokens: Sequence[Token], at: int) -> bool:
    return at < len(tokens) and tokens[at].token_type == TokenType.L_PAREN


def in_parentheses(tokens: Sequence[Token], at: int) -> Sequence[Token]:
    """The tokens between the parenthesis at this place and the one that closes it."""
    depth = 0
    for place in range(at, len(tokens)):
        kind = tokens[place].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if not depth:
            return tokens[at + 1 : place]
    return tokens[at + 1 :]


def length_at(tokens: Sequence[Token], at: int) -> int | None:
    """The length that is written at this place: `10 MINUTES`, `'10' MINUTES` or `'10 minutes'`."""
    token = tokens[at]
    following = tokens[at + 1].text if at + 1 < len(tokens) else ""
    number, _, unit = token.text.strip().partition(" ")
    if token.token_type not in (TokenType.STRING, TokenType.NUMBER):
        return None
    unit = (unit or following).strip().upper()
    is_number = number.replace(".", "", 1).isdecimal() and number.isascii()
    return parse_duration(number, unit) if is_number and unit in MICROSECONDS else None
