"""Windows: `[RANGE …]`, `[ROWS …]`, `[SESSION …]`, `[PARTITION BY … ROWS …]`, `[NOW]`, and `BEGIN … END …`."""

from __future__ import annotations

from sqlglot import Token, TokenType, exp

from panes.language.binder.constants import instant_us, whole
from panes.language.parser.parse_durations import parse_duration
from panes.language.parser.parse_over import MOST_ROWS, OverParser
from panes.language.parser.syntax import WindowClause, WindowedCall
from panes.plan.windows import (
    BeginEndWindow,
    NowWindow,
    RangeWindow,
    RowsWindow,
    SessionWindow,
    UnboundedWindow,
    WindowSpec,
)


class WindowParser(OverParser):
    def _worded_operand(self) -> exp.Expression:
        token = self._curr
        if self._word("WSTREAM"):  # inside an aggregate: sum(Wstream(sum(a)) [ROWS 10])
            inside = self._in_parentheses(self._condition)
            return self._placed(WindowedCall(this=inside, window=self._bracketed_window()), token)
        return super()._worded_operand()

    def _bracketed_window(self) -> WindowClause:
        token = self._curr
        if not self._match(TokenType.L_BRACKET):
            self._unexpected("a window in brackets, such as [ROWS 10]")
        spec = self._window_spec()
        if not self._match(TokenType.R_BRACKET):
            self._unexpected("]")
        return self._placed(WindowClause(spec=spec), token)

    def _window_spec(self) -> WindowSpec:
        if self._word("RANGE"):
            return self._range()
        if self._word("ROWS"):
            return self._rows(())
        if self._word("SESSION"):
            return self._session(())
        if self._word("NOW"):
            internal = self._internal()
            offset = self._offset()
            return NowWindow(offset, internal=internal or self._internal())
        if self._word("PARTITION"):
            self._expect("BY")
            columns = tuple(column.name for column in self._list(lambda: self._name("a column")))
            if self._word("SESSION"):
                return self._session(columns)
            if not self._word("ROWS"):
                self._unexpected(
                    "ROWS or SESSION",
                    "write PARTITION BY a, b ROWS n or PARTITION BY a, b SESSION length, by columns of the stream",
                )
            return self._rows(columns)
        return self._unexpected(
            "a window",
            "windows are RANGE length, ROWS n, PARTITION BY … ROWS n, SESSION length, NOW and RANGE UNBOUNDED",
        )

    def _range(self) -> WindowSpec:
        if self._word("UNBOUNDED"):
            if self._at("SLIDE"):
                self._fail("an unbounded window does not slide", hint="RANGE UNBOUNDED is enough")
            internal = self._internal()
            offset = self._offset()
            return UnboundedWindow(offset, internal=internal or self._internal())
        length = self._length()
        internal = self._internal()
        offset = self._offset()
        slide = self._length() if self._word("SLIDE") else None
        offset = offset or self._offset()
        return RangeWindow(length, slide, offset, internal=internal or self._internal())

    def _offset(self) -> int:
        """How long ago the window is meant; 0 when that is not said."""
        return self._length() if self._word("OFFSET") else 0

    def _refuse_offset(self, what: str) -> None:
        if self._at("OFFSET"):
            self._fail(
                f"{what} has no OFFSET: which tuples it held then depends on all that came before",
                hint="a window of time has one: [RANGE 10 MINUTES OFFSET 1 HOUR]",
            )

    def _rows(self, partition_by: tuple[str, ...]) -> WindowSpec:
        rows = self._row_count()
        self._refuse_offset("a count window")
        internal = self._internal()
        token = self._curr
        slide, slide_us = self._row_slide() if self._word("SLIDE") else (None, None)
        if slide is not None and partition_by:
            self._fail(
                "a partitioned window does not slide by rows", token,
                "leave SLIDE or PARTITION BY out, or slide in time: SLIDE 10 SECONDS",
            )  # fmt: skip
        self._refuse_offset("a count window")
        return RowsWindow(rows, slide, partition_by, slide_us, internal=internal or self._internal())

    def _row_slide(self) -> tuple[int | None, int | None]:
        """By how many rows, or by which length of time, a count window slides."""
        is_rows = self._curr.token_type == TokenType.NUMBER and (
            self._next is None or self._next.token_type in (TokenType.R_BRACKET, TokenType.R_PAREN)
            or self._next.text.upper() in ("INTERNAL", "OFFSET")
        )  # fmt: skip
        return (self._row_count(), None) if is_rows else (None, self._length())

    def _session(self, partition_by: tuple[str, ...]) -> WindowSpec:
        length = self._length()
        self._refuse_offset("a session window")
        if self._at("SLIDE"):
            self._fail(
                "a session window does not slide: a session ends when nothing came for its gap",
                hint="leave SLIDE out",
            )
        if self._at("INTERNAL"):
            self._fail(
                "a session window is not INTERNAL: its tuples leave together, when the session ends",
                hint="leave INTERNAL out; Istream(…) around the query gives results that stay",
            )
        return SessionWindow(length, partition_by)

    def _internal(self) -> bool:
        return self._word("INTERNAL")

    def _length(self) -> int:
        self._word("INTERVAL")
        token = self._curr
        number, unit = self._number_and_unit()
        length = parse_duration(number, unit)
        if not length:
            self._fail("a window or slide is longer than zero", token)
        return length

    def _row_count(self) -> int:
        token = self._curr
        if token.token_type != TokenType.NUMBER:
            self._unexpected("a number of rows")
        rows = whole(token.text)
        if rows is None or not 1 <= rows <= MOST_ROWS:
            self._fail(f"a number of rows is a whole number from 1 to {MOST_ROWS}")
        self._advance()
        return rows

    def _begin_end(self, token: Token) -> WindowClause:
        """The rest of `BEGIN (…) END (…)`."""
        begin_us, begin_is_relative = self._in_parentheses(self._end_of_window)
        self._expect("END")
        end_us, end_is_relative = self._in_parentheses(self._end_of_window)
        if begin_is_relative == end_is_relative and begin_us > end_us:
            self._fail("this window ends before it begins", token)
        spec = BeginEndWindow(begin_us, begin_is_relative, end_us, end_is_relative)
        return self._placed(WindowClause(spec=spec), token)

    def _end_of_window(self) -> tuple[int, bool]:
        token = self._curr
        if self._word("NOW"):
            if self._match(TokenType.DASH):
                self._word("INTERVAL")
                number, unit = self._number_and_unit()
                return -(parse_duration(number, unit) or 0), True
            if self._curr.token_type == TokenType.PLUS:
                self._fail("a window cannot reach beyond NOW")
            return 0, True
        if self._word("TIMESTAMP") or self._curr.token_type == TokenType.STRING:
            instant = instant_us(self._curr.text) if self._curr.token_type == TokenType.STRING else None
            if instant is None:
                self._fail("expected an instant such as '2026-01-31 12:00:00'")
            self._advance()
            return instant, False
        return self._fail("expected NOW, NOW - INTERVAL …, or TIMESTAMP '…'", token)
