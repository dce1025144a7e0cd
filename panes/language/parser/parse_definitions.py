"""What definitions are made of: columns with their types, and options with their values."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from math import isfinite
from typing import NoReturn

from sqlglot import Token, TokenType, exp

from panes.config import SETTINGS, check_setting
from panes.errors import SettingError
from panes.language import statements as st
from panes.language.binder.constants import is_whole, whole
from panes.language.definition_text import option_text
from panes.language.names import RESERVED, same
from panes.language.parser.foreign_forms import slack_of_watermark
from panes.language.parser.parse_queries import QueryParser
from panes.language.positions import did_you_mean
from panes.plan.schema import Schema
from panes.plan.stream import OptionValue
from panes.plan.types import Type


class DefinitionParser(QueryParser):
    def _select_query(self) -> st.SelectQuery:
        query = self._query()
        return st.SelectQuery(self._canonical(query), query, self.sql)

    def _canonical(self, tree: exp.Expression) -> str:
        # The generator may change the tree only where a dialect rewrites it, which ours does not.
        return tree.sql(dialect=self.dialect, comments=False, copy=False)

    # Columns.

    def _column_definition(self) -> tuple[Token, str, Type]:
        token = self._curr
        if self._at("WATERMARK", "FOR"):
            self._refuse_watermark()
        name = self._name("a column name").name
        return token, name, self._type()

    def _refuse_watermark(self) -> NoReturn:
        clauses = slack_of_watermark(self._tokens, self._index)
        self._fail(
            "WATERMARK is not how lateness is written here", hint=f"write after the columns: {clauses}"
        )

    def _schema(self, columns: list[tuple[Token, str, Type]]) -> Schema:
        for place, (token, name, _) in enumerate(columns):
            if any(same(name, earlier) for _, earlier, _ in columns[:place]):
                self._fail(f"two columns are named {name!r}", token)
            if name.startswith("_"):
                self._fail("column names do not begin with an underscore", token)
        return Schema.of((name, type_) for _, name, type_ in columns)

    # Options.

    def _options(
        self, check: Callable[[Token, str, OptionValue], None] = lambda *_: None
    ) -> dict[str, OptionValue]:
        """`WITH (name = value, …)`, if it is there; `check` fails for what cannot be one of them."""
        options: dict[str, OptionValue] = {}
        if self._word("WITH"):
            for option, name, value in self._in_parentheses(lambda: self._list(self._option)):
                if name in options:
                    self._fail(f"{name} is given twice", option)
                check(option, name, value)
                options[name] = value
        return options

    def _query_settings(self) -> tuple[tuple[str, OptionValue], ...]:
        """`WITH (name = value, …)` of a query, if it is there: settings that it has for itself."""
        return tuple(self._options(self._check_query_setting).items())

    def _check_query_setting(self, token: Token, name: str, value: OptionValue) -> None:
        own = [setting.name for setting in SETTINGS.values() if setting.is_of_query]
        if name not in SETTINGS:
            self._fail(f"there is no setting named {name!r}", token, did_you_mean(name, own))
        if name not in own:
            set_it = "ALTER QUERY … SET shards" if name == "shards" else f"SET {name}"
            self._fail(
                f"{name} is not among the settings of a query: {', '.join(own)}",
                token,
                f"{set_it} = {option_text(value)} sets it",
            )
        try:
            check_setting(name, value)
        except SettingError as error:
            self._fail(str(error), token)

    def _option(self) -> tuple[Token, str, OptionValue]:
        token = self._curr
        name = self._option_name("an option")
        if not self._match(TokenType.EQ):
            self._unexpected("=")
        return token, name, self._option_value()

    def _option_name(self, what: str) -> str:
        token = self._curr
        if token.token_type == TokenType.IDENTIFIER:  # options of others may have dots: "kafka.group.id"
            self._advance()
            return str(token.text)
        if token.text.lower() in (*SETTINGS, "order"):  # some of them are reserved words: join, order
            self._advance()
            return str(token.text.lower())
        return self._name(what).name.lower()

    def _option_value(self) -> OptionValue:
        token = self._curr
        if token.token_type == TokenType.STRING:
            self._advance()
            return token.text
        if token.token_type in (TokenType.TRUE, TokenType.FALSE):
            self._advance()
            return token.token_type == TokenType.TRUE
        negative = self._match(TokenType.DASH)
        number = self._curr
        if number.token_type == TokenType.NUMBER:
            self._advance()
            value = self._number(number)
            return -value if negative else value
        if not negative and token.token_type == TokenType.VAR and token.text.upper() not in RESERVED:
            self._advance()
            return token.text.lower()
        return self._unexpected("a number, a text in quotes, TRUE or FALSE")

    def _number(self, token: Token) -> int | float:
        number: int | float | None = whole(token.text)
        if number is None and not is_whole(token.text):
            with suppress(ValueError):
                number = float(token.text)
        if number is None or not isfinite(number):
            self._fail(f"{token.text} is not a number that fits into 64 bits", token)
        return number
