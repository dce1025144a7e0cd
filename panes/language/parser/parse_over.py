"""`OVER (PARTITION BY … ORDER BY … ROWS BETWEEN … AND …)`, `OVER name`, and `WINDOW name AS (…)`."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from sqlglot import Token, TokenType, exp

from panes.language.binder.constants import whole
from panes.language.parser.parse_durations import parse_duration
from panes.language.parser.parse_order import OrderParser
from panes.language.parser.syntax import NamedWindow, OverCall, OverWindow
from panes.plan.over_functions import Distance, Frame

PERCENTILES = ("percentile_cont", "percentile_disc")

MOST_ROWS = 2**31 - 1


class OverParser(OrderParser):
    def _within_group(self, call: exp.Expression) -> exp.Expression:
        """`percentile_cont(p) WITHIN GROUP (ORDER BY x)` is short for `percentile_cont(x, p)`; of lists it is the
        ORDER BY inside."""
        token = self._curr
        if not self._word("WITHIN", "GROUP"):
            return call
        order = self._in_parentheses(self._order_by)
        if call.name not in PERCENTILES:
            call.append("expressions", self._placed(exp.Order(expressions=order), token))
            return call
        if len(order) != 1 or len(call.expressions) != 1:
            self._fail(
                f"{call.name} takes one share, and one column in WITHIN GROUP",
                token,
                f"{call.name}(0.9) WITHIN GROUP (ORDER BY x)",
            )
        (share,) = call.expressions
        if order[0].args.get("desc"):
            if not isinstance(share, exp.Literal) or share.is_string:
                self._fail(f"the share of {call.name} must be a constant between 0 and 1", token)
            share = exp.Literal.number(f"{1 - Decimal(share.name):f}")
        call.set("expressions", [order[0].this, share])
        return call

    def _after_call(self, call: exp.Expression, token: Token) -> exp.Expression:
        if self._at("IGNORE", "NULLS") or self._at("RESPECT", "NULLS"):
            self._fail(
                f"{self._curr.text.upper()} NULLS is not supported",
                hint="NULLs are values like others; leave the rows out with a condition in a derived table",
            )
        if not self._word("OVER"):
            return call
        if self._curr.token_type == TokenType.L_PAREN:
            return self._placed(OverCall(this=call, window=self._over_window()), token)
        return self._placed(OverCall(this=call, window=self._name("a window")), token)

    def _over_window(self) -> OverWindow:
        token = self._curr
        return self._placed(self._in_parentheses(self._inside_over), token)

    def _inside_over(self) -> OverWindow:
        is_named = self._at_name() and not self._at("PARTITION") and not self._at_frame()
        base = self._name("a window") if is_named else None
        partition = None
        if self._word("PARTITION"):
            self._expect("BY")
            partition = self._list(self._condition)
        order = self._order_by() if self._at("ORDER") else None
        frame = self._frame() if self._at_frame() else None
        return OverWindow(base=base, partition=partition, order=order, frame=frame)

    def _named_windows(self) -> list[exp.Expression]:
        """The rest of `WINDOW w AS (…), x AS (…)`."""

        def named() -> exp.Expression:
            token = self._curr
            name = self._name("a name for the window")
            self._expect("AS")
            return self._placed(NamedWindow(this=name, window=self._over_window()), token)

        return self._list(named)

    # Frames.

    def _at_frame(self) -> bool:
        is_end = self._next.text.upper() in ("BETWEEN", "UNBOUNDED", "CURRENT", "INTERVAL")
        is_end = is_end or self._next.token_type == TokenType.NUMBER
        return is_end and any(self._at(word) for word in ("ROWS", "RANGE", "GROUPS"))

    def _frame(self) -> Frame:
        token = self._curr
        if self._at("GROUPS"):
            self._fail("frames of GROUPS are not supported", hint="there are ROWS and RANGE")
        by_rows = self._curr.text.upper() == "ROWS"
        self._advance()
        if self._word("BETWEEN"):
            start = self._frame_end(by_rows)
            self._expect("AND")
            end = self._frame_end(by_rows)
        else:
            start, end = self._frame_end(by_rows), (0, 0)
        if self._at("EXCLUDE"):
            self._fail("EXCLUDE is not supported", hint="a frame has all of its rows")
        (start_side, start_by), (end_side, end_by) = start, end
        if (start_side > 0 and start_by is None) or (end_side < 0 and end_by is None):
            self._fail("a frame begins before it ends", token, "… BETWEEN UNBOUNDED PRECEDING AND …")
        if start_by is not None and end_by is not None:
            same = isinstance(start_by, timedelta) == isinstance(end_by, timedelta) or not (
                start_by and end_by
            )
            if same and _amount(start_by) > _amount(end_by):
                self._fail("this frame ends before it begins", token)
        return Frame(by_rows, start_by, end_by)

    def _frame_end(self, by_rows: bool) -> tuple[int, Distance | None]:
        """On which side of the current row an end is (-1, 0 or 1), and how far from it; None: all the way."""
        if self._word("CURRENT"):
            self._expect("ROW")
            return 0, 0
        if self._word("UNBOUNDED"):
            return self._side(), None
        token = self._curr
        if self._word("INTERVAL"):
            if by_rows:
                self._fail("ROWS are counted", token, "write RANGE BETWEEN INTERVAL …")
            number, unit = self._number_and_unit()
            length = timedelta(microseconds=parse_duration(number, unit) or 0)
            return (side := self._side()), length * side
        count = whole(token.text) if token.token_type == TokenType.NUMBER else None
        if count is None or count > MOST_ROWS:
            self._unexpected("UNBOUNDED, CURRENT ROW, INTERVAL … or a whole number")
        self._advance()
        return (side := self._side()), count * side

    def _side(self) -> int:
        if self._word("PRECEDING"):
            return -1
        if not self._word("FOLLOWING"):
            self._unexpected("PRECEDING or FOLLOWING")
        return 1


def _amount(distance: Distance) -> float:
    return distance / timedelta(microseconds=1) if isinstance(distance, timedelta) else distance
