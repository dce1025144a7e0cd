"""Scalar expressions: sqlglot's precedence climbing over operands that the dialect reads itself.

sqlglot accepts what any of thirty databases accept; here an operand is exactly what the binder knows, so
that everything else is an error that points at the right token.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from sqlglot import Token, TokenType, exp

from panes.language.names import RESERVED, why_no_column
from panes.language.parser.foreign_windows import foreign_window
from panes.language.parser.parse_durations import MICROSECONDS, parse_duration
from panes.language.parser.parse_types import TYPES, TypeParser
from panes.language.parser.syntax import OUTPUTS, Nested, TypeName
from panes.plan.functions import ALIASES, DATE_PARTS

_HEX = re.compile(r"([0-9A-Fa-f]{2})*\Z")
_WINDOWS = ("RANGE", "ROWS", "PARTITION", "NOW", "SESSION")
NANOSECONDS = ("NANOSECOND", "NANOSECONDS", "NS")


REGEXPS = ("RLIKE", "REGEXP")
"""Other ways to write ~."""

QUERIES = ("SELECT", "WITH", "VALUES")
"""The words with which a query begins."""


class ExpressionParser(TypeParser):
    FUNCTIONS: ClassVar[dict[Any, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[Any, Any]] = {}
    NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[Any, Any]] = {}
    EQUALITY: ClassVar[dict[Any, Any]] = {
        TokenType.EQ: exp.EQ,
        TokenType.NEQ: exp.NEQ,
        TokenType.NULLSAFE_EQ: exp.NullSafeEQ,
    }
    BITWISE: ClassVar[dict[Any, Any]] = {}
    TERM: ClassVar[dict[Any, Any]] = {TokenType.PLUS: exp.Add, TokenType.DASH: exp.Sub}
    FACTOR: ClassVar[dict[Any, Any]] = {
        TokenType.STAR: exp.Mul,
        TokenType.SLASH: exp.Div,
        TokenType.MOD: exp.Mod,
    }
    RANGE_PARSERS: ClassVar[dict[Any, Any]] = {
        TokenType.BETWEEN: lambda self, this: self._between(this),
        TokenType.IN: lambda self, this: self._in(this),
        TokenType.IS: lambda self, this: self._is(this),
        TokenType.LIKE: lambda self, this: self._like(this, exp.Like),
        TokenType.ILIKE: lambda self, this: self._like(this, exp.ILike),
        TokenType.TILDE: lambda self, this: self._regexp(this),
    }
    JSON_OPERATORS: ClassVar[dict[Any, Any]] = {
        TokenType.ARROW: lambda _, this, path: _called("json_extract", this, path),
        TokenType.DARROW: lambda _, this, path: _called("json_extract_string", this, path),
    }

    # Expressions.

    def _condition(self) -> exp.Expression:
        expression = self._parse_disjunction()
        assert isinstance(expression, exp.Expression)
        return expression

    def _parse_conjunction(self) -> exp.Expr | None:
        this = self._negation()
        while self._match(TokenType.AND):
            this = self.expression(exp.And(this=this, expression=self._negation()))
        return this

    def _negation(self) -> exp.Expr | None:
        token = self._curr
        if self._match(TokenType.NOT):
            return self._placed(exp.Not(this=self._nested(self._negation)), token)
        return self._parse_equality()

    def _parse_equality(self, parse_is: bool = True) -> exp.Expr | None:
        """`x = ANY (query)` is IN, `x <> ALL (query)` is NOT IN."""
        token = self._curr
        this = super()._parse_equality(parse_is)
        if isinstance(this, exp.EQ) and isinstance(this.expression, exp.Any):
            return self._placed(exp.In(this=this.this, query=this.expression.this), token)
        if isinstance(this, exp.NEQ) and isinstance(this.expression, exp.All):
            return exp.Not(this=self._placed(exp.In(this=this.this, query=this.expression.this), token))
        return this

    def _parse_range(self, this: exp.Expr | None = None, parse_is: bool = False) -> exp.Expr | None:
        """Predicates after an operand; RLIKE and REGEXP are words of their own only before a constant."""
        this = super()._parse_range(this, parse_is)
        while True:
            token, negated = self._curr, self._at("NOT")
            word = self._tokens[self._index + negated : self._index + negated + 2]
            if len(word) < 2 or word[0].text.upper() not in REGEXPS or word[1].token_type != TokenType.STRING:
                return this
            self._advance(1 + negated)
            test = self._placed(self._regexp(this), token)
            this = exp.Not(this=test) if negated else test

    def _parse_factor(self, parse_mod: bool = True) -> exp.Expr | None:
        """Products and quotients; `DIV` is an operator where an operand follows, and a name elsewhere."""
        this = super()._parse_factor(parse_mod)
        while self._at_div():
            token = self._curr
            self._advance()
            this = self._placed(_called("div", this, self._parse_unary()), token)
            while self._match_set(self.FACTOR):
                kind = self.FACTOR[self._prev.token_type]
                this = self.expression(kind(this=this, expression=self._parse_unary()))
        return this

    def _at_div(self) -> bool:
        after = self._next
        if self._curr.token_type != TokenType.VAR or not self._at("DIV"):
            return False
        is_name = after.token_type == TokenType.VAR and after.text.upper() not in RESERVED
        return is_name or after.token_type in (TokenType.NUMBER, TokenType.IDENTIFIER, TokenType.L_PAREN)

    def _parse_unary(self) -> exp.Expr | None:
        token = self._curr
        if self._match(TokenType.DASH):
            return self._placed(exp.Neg(this=self._nested(self._parse_unary)), token)
        if self._match(TokenType.PLUS):
            return self._nested(self._parse_unary)
        operand = self._after_operand(self._operand(), token)
        if self._curr.token_type == TokenType.L_BRACKET:
            self._fail("a window cannot stand here", hint="windows in brackets stand after streams in FROM")
        return operand

    def _after_operand(self, operand: exp.Expression, token: Token) -> exp.Expression:
        """`::type`, `.field`, `[i]` and `AT TIME ZONE 'zone'`, any number of them."""
        while True:
            if self._word("AT", "TIME", "ZONE"):
                operand = self._placed(exp.AtTimeZone(this=operand, zone=self._operand()), token)
                continue
            if self._match(TokenType.DCOLON):
                operand = self._placed(exp.Cast(this=operand, to=self._type_name()), token)
            elif self._curr.token_type == TokenType.DOT and not isinstance(operand, exp.Literal):
                self._advance()
                operand = self._placed(exp.Dot(this=operand, expression=self._name("a field")), token)
            elif self._curr.token_type == TokenType.L_BRACKET and not self._at_window():
                operand = self._placed(exp.Bracket(this=operand, expressions=self._in_brackets()), token)
                if len(operand.expressions) != 1:
                    self._fail("an item of a list has one place", token, "write x[1] for the first item")
            else:
                return operand

    def _at_window(self) -> bool:
        """Whether what stands in the brackets that come next begins as a window does."""
        return self._next.token_type == TokenType.VAR and self._next.text.upper() in _WINDOWS

    def _in_brackets(self) -> list[exp.Expression]:
        self._advance()
        items = self._nested(lambda: self._list(self._condition))
        if not self._match(TokenType.R_BRACKET):
            self._unexpected("]")
        return items

    def _operand(self) -> exp.Expression:
        token = self._curr
        kind = token.token_type
        if kind == TokenType.NUMBER:
            self._advance()
            return self._number_literal(token.text, token)
        if self._match_pair(TokenType.DOT, TokenType.NUMBER):
            return self._number_literal(f"0.{self._prev.text}", token)
        if kind == TokenType.STRING:
            self._advance()
            return self._placed(exp.Literal.string(token.text), token)
        if self._at("X") and self._next.token_type == TokenType.STRING and self._next.start == token.end + 1:
            return self._bytes()
        if kind == TokenType.NULL:
            self._advance()
            return self._placed(exp.Null(), token)
        if kind in (TokenType.TRUE, TokenType.FALSE):
            self._advance()
            return self._placed(exp.Boolean(this=kind == TokenType.TRUE), token)
        if kind == TokenType.STAR:
            self._advance()
            return self._placed(exp.Star(), token)
        if kind == TokenType.L_PAREN:
            return self._parenthesis()
        if self._at("ARRAY") and self._next.token_type == TokenType.L_BRACKET:
            self._advance()
        if self._curr.token_type == TokenType.L_BRACKET:
            return self._placed(exp.Array(expressions=self._in_brackets()), token)
        return self._worded_operand()

    def _number_literal(self, text: str, token: Token) -> exp.Expression:
        # A word that is glued to a number is no alias: 1_000 and 0x1F are not 1 and 0.
        if self._curr.token_type == TokenType.VAR and self._curr.start == self._prev.end + 1:
            self._fail(f"{self.sql[token.start : self._curr.end + 1]} is not a number", token)
        return self._placed(exp.Literal.number(text), token)

    def _bytes(self) -> exp.Expression:
        """`x'00ff'`."""
        token = self._curr
        self._advance()
        digits = self._curr
        self._advance()
        if not _HEX.match(digits.text):
            self._fail(
                f"x'{digits.text}' is not BINARY",
                token,
                "write two hexadecimal digits for each byte: x'00ff'",
            )
        return self._placed(exp.HexString(this=digits.text.lower()), token)

    def _parenthesis(self) -> exp.Expression:
        token = self._curr
        if self._at_query_in_parentheses():
            return self._placed(Nested(this=self._in_parentheses(self._query)), token)
        return self._placed(exp.Paren(this=self._in_parentheses(self._condition)), token)

    def _worded_operand(self) -> exp.Expression:
        token = self._curr
        if self._at("SELECT"):
            self._fail("a subquery stands in parentheses", hint="write (SELECT …)")
        if self._at_quantifier():
            self._advance()
            kind = exp.All if token.text.upper() == "ALL" else exp.Any
            return self._placed(kind(this=self._in_parentheses(self._query)), token)
        if self._word("CASE"):
            return self._placed(self._nested(self._case), token)
        if self._word("CAST"):
            return self._placed(self._in_parentheses(self._cast), token)
        if self._at("TRY_CAST") and self._next.token_type == TokenType.L_PAREN:
            self._advance()
            return self._placed(self._in_parentheses(lambda: self._cast(exp.TryCast)), token)
        if self._at("EXISTS"):
            self._advance()
            return self._placed(exp.Exists(this=self._in_parentheses(self._query)), token)
        if self._word("INTERVAL"):
            return self._interval(token)
        if self._at_constant_of_type():
            return self._constant_of_type()
        if self._next.token_type == TokenType.L_PAREN:
            self._refuse_foreign_window()
            if self._at("EXTRACT"):
                return self._extract()
            if self._at_name() or self._at("LEFT") or self._at("RIGHT"):
                return self._call()
        if self._at_name():
            return self._column()
        if self._at("WINDOW"):
            self._refuse_window_column()
        return self._unexpected("an expression")

    def _refuse_window_column(self) -> None:
        """`window` is a column where GROUP BY has window(ts, …), which is written in another way here."""
        places = range(self._index, len(self._tokens))
        found = next((w for at in places if (w := foreign_window(self._tokens, at, in_from=False))), None)
        if found is not None:
            self._fail("there is no column window", hint=found.hint)

    def _refuse_foreign_window(self, *, in_from: bool = False) -> None:
        found = foreign_window(self._tokens, self._index, in_from=in_from)
        if found is not None:
            self._fail(found.problem, hint=found.hint)

    def _query(self) -> exp.Expression:
        query = self._parse_select()
        assert isinstance(query, exp.Expression)
        return query

    def _at_query_in_parentheses(self) -> bool:
        return self._curr.token_type == TokenType.L_PAREN and self._next.text.upper() in QUERIES

    def _at_quantifier(self) -> bool:
        """Whether ANY, SOME or ALL comes next, with a query in parentheses."""
        if (
            self._curr.text.upper() not in ("ANY", "SOME", "ALL")
            or self._next.token_type != TokenType.L_PAREN
        ):
            return False
        after = self._tokens[self._index + 2 : self._index + 3]
        return bool(after) and after[0].text.upper() in QUERIES

    def _column(self) -> exp.Expression:
        token = self._curr
        first = self._relation_name("a column")
        if not self._match(TokenType.DOT):
            problem = why_no_column(first.name)
            if problem is not None:
                self._fail(
                    f"this cannot be a name: {problem}", token, "write alias.column, each in its own quotes"
                )
            return self._placed(exp.Column(this=first), token)
        star = self._curr
        if self._match(TokenType.STAR):
            return self._placed(exp.Column(this=self._placed(exp.Star(), star), table=first), token)
        second = self._name("a column name after the dot")
        return self._placed(exp.Column(this=second, table=first), token)

    def _call(self) -> exp.Expression:
        token = self._curr
        is_reserved = not self._at_name()
        name = exp.Identifier(this=token.text) if is_reserved else self._name("a function")
        if is_reserved:
            self._advance()

        call: exp.Expression = exp.Anonymous(
            this=name.name.lower(), expressions=self._in_parentheses(self._arguments)
        )
        call = self._within_group(self._placed(call, token))
        if self._at("FILTER") and self._next.token_type == TokenType.L_PAREN:
            self._advance()
            call = self._placed(exp.Filter(this=call, expression=self._in_parentheses(self._filter)), token)
        return self._after_call(call, token)

    def _within_group(self, call: exp.Expression) -> exp.Expression:
        """What a call becomes by WITHIN GROUP (ORDER BY …) after it."""
        return call

    def _after_call(self, call: exp.Expression, token: Token) -> exp.Expression:  # noqa: ARG002
        """What a call becomes by the words after it."""
        return call

    def _arguments(self) -> list[exp.Expression]:
        """What stands in the parentheses of a call."""
        if self._curr.token_type == TokenType.R_PAREN:
            return []
        distinct = self._curr
        if self._word("DISTINCT"):
            return [self._placed(exp.Distinct(expressions=self._list(self._condition)), distinct)]
        return self._list(self._condition)

    def _extract(self) -> exp.Expression:
        """`EXTRACT(part FROM x)`, short for `part(x)`."""
        token = self._curr
        self._advance()

        def inside() -> exp.Expression:
            part = self._curr
            word = self._name("a part of a date").name.lower()
            if word not in DATE_PARTS:
                self._fail(f"there is no part {word!r}", part, f"parts are {', '.join(DATE_PARTS)}")
            self._expect("FROM")
            return exp.Anonymous(this=ALIASES.get(word, word), expressions=[self._condition()])

        return self._placed(self._in_parentheses(inside), token)

    def _filter(self) -> exp.Where:
        self._expect("WHERE")
        return exp.Where(this=self._condition())

    def _case(self) -> exp.Case:
        subject = None if self._at("WHEN") else self._condition()
        branches = []
        while self._word("WHEN"):
            condition = self._condition()
            self._expect("THEN")
            branches.append(exp.If(this=condition, true=self._condition()))
        if not branches:
            self._unexpected("WHEN")
        default = self._condition() if self._word("ELSE") else None
        self._expect("END")
        return exp.Case(this=subject, ifs=branches, default=default)

    def _cast(self, kind: type[exp.Cast] = exp.Cast) -> exp.Cast:
        value = self._condition()
        self._expect("AS")
        return kind(this=value, to=self._type_name())

    def _interval(self, token: Token) -> exp.Interval:
        number, unit = self._number_and_unit()
        interval = exp.Interval(this=exp.Literal.number(number), unit=exp.Var(this=unit.upper()))
        return self._placed(interval, token)

    def _number_and_unit(self) -> tuple[str, str]:
        """`10 MINUTES`; the number may stand in quotes, alone or with its unit."""
        number = self._curr
        if number.token_type == TokenType.STRING and len(number.text.split()) == 2:
            return self._number_and_unit_in_quotes(number)
        if number.token_type == TokenType.STRING and not _is_decimal(number.text):
            self._fail("expected a number and a unit, such as 10 MINUTES")
        if number.token_type not in (TokenType.NUMBER, TokenType.STRING):
            self._unexpected("a length such as 10 MINUTES")
        self._advance()
        unit = self._curr
        if unit.text.upper() in ("MONTH", "MONTHS", "YEAR", "YEARS", "QUARTER", "QUARTERS"):
            self._fail(f"{unit.text} is not a fixed length of time", hint="write it in DAYS")
        if unit.text.upper() in NANOSECONDS:
            self._fail(
                f"there are no {unit.text}: time is kept in microseconds", hint="write it in MICROSECONDS"
            )
        if unit.token_type != TokenType.VAR or unit.text.upper() not in MICROSECONDS:
            self._unexpected("a unit of time", "there are MICROSECONDS, MILLISECONDS, SECONDS, … to WEEKS")
        self._advance()
        if not _is_decimal(number.text) or parse_duration(number.text, unit.text) is None:
            self._fail("expected a whole number of microseconds, of at most a million days", number)
        return number.text, unit.text

    def _number_and_unit_in_quotes(self, token: Token) -> tuple[str, str]:
        """`'10 minutes'`."""
        number, unit = token.text.split()
        length = (
            parse_duration(number, unit) if _is_decimal(number) and unit.upper() in MICROSECONDS else None
        )
        if length is None:
            self._fail(
                f"'{token.text}' is not a length of time",
                hint="write a number and a unit, MICROSECONDS, MILLISECONDS, SECONDS, … to WEEKS: 10 MINUTES",
            )
        self._advance()
        return number, unit

    def _at_constant_of_type(self) -> bool:
        return self._next.token_type == TokenType.STRING and (self._at("DATE") or self._at("TIMESTAMP"))

    def _constant_of_type(self) -> exp.Expression:
        token = self._curr
        self._advance()
        text = self._operand()
        return self._placed(exp.Cast(this=text, to=TypeName(this=TYPES[token.text.upper()])), token)

    # Predicates after an operand.

    def _between(self, this: exp.Expression) -> exp.Expression:
        symmetric = self._curr.token_type == TokenType.VAR and self._word("SYMMETRIC")
        low = self._parse_bitwise()
        if not self._match(TokenType.AND):
            self._unexpected("AND")
        return exp.Between(this=this, low=low, high=self._parse_bitwise(), symmetric=symmetric)

    def _in(self, this: exp.Expression) -> exp.Expression:
        def inside() -> exp.Expression:
            if any(map(self._at, QUERIES)) or self._at_query_in_parentheses() or self._at_output():
                return exp.In(this=this, query=self._query())
            return exp.In(this=this, expressions=self._list(self._item))

        return self._in_parentheses(inside)

    def _item(self) -> exp.Expression:
        """An item of a list. Most are literals, and lists of them are long: these are taken as they are."""
        if self._curr.token_type in _LITERALS and self._next.token_type in _AFTER_AN_ITEM:
            return self._operand()
        return self._condition()

    def _at_output(self) -> bool:
        return self._curr.token_type == TokenType.VAR and self._curr.text.upper() in OUTPUTS

    def _is(self, this: exp.Expression) -> exp.Expression:
        negated = self._match(TokenType.NOT)
        if self._word("DISTINCT"):
            self._expect("FROM")
            kind = exp.NullSafeEQ if negated else exp.NullSafeNEQ
            return kind(this=this, expression=self._parse_bitwise())
        if not self._match(TokenType.NULL):
            self._unexpected("NULL or DISTINCT FROM", "for TRUE and FALSE use the condition itself, or NOT")
        test = exp.Is(this=this, expression=exp.Null())
        return exp.Not(this=test) if negated else test

    def _like(self, this: exp.Expression, kind: type[exp.Expression]) -> exp.Expression:
        pattern = self._parse_bitwise()
        if self._at("ESCAPE"):
            self._fail("ESCAPE is not supported", hint="use starts_with, ends_with or contains")
        return kind(this=this, expression=pattern)

    def _regexp(self, this: exp.Expr | None) -> exp.Expression:
        """`x ~ 'pattern'`, short for `regexp_matches(x, 'pattern')`."""
        return _called("regexp_matches", this, self._parse_bitwise())


def _called(name: str, *args: exp.Expr | None) -> exp.Expression:
    """An operator as the call of a function."""
    return exp.Anonymous(this=name, expressions=list(args))


_LITERALS = (TokenType.NUMBER, TokenType.STRING)
_AFTER_AN_ITEM = (TokenType.COMMA, TokenType.R_PAREN)


def _is_decimal(text: str) -> bool:
    whole, _, fraction = text.partition(".")
    return (
        whole.isascii() and whole.isdigit() and (not fraction or (fraction.isascii() and fraction.isdigit()))
    )
