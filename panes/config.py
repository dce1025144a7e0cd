"""Every setting of a database: its name, default, what it takes and one line of help.

`SET name = value` stores one; docs and the shell read this table.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from panes.errors import SettingError

Value = int | float | str

AUTO = "auto"
"""The value of settings that Panes decides: the number of shards then follows the cores of the cluster."""
NEVER = "never"
NONE = "none"
"""The value of a setting that limits nothing, or of one for which nothing is kept."""
PIGGYBACK, TIME_MESSAGE, NEGATIVE, INPUT_TRIGGERED = (
    "piggyback",
    "time_message",
    "negative",
    "input_triggered",
)
"""The ways for time to reach operators."""
WINDOW, SNAPSHOT, LATEST = "window", "snapshot", "latest"
"""The isolation levels of reads."""
EAGER, LAZY = "eager", "lazy"
"""With NONE, the ways to have an answer: kept up to date, from a store that is shared, or asked of the history."""
EVERY_SLIDE, DEADLINE = "every_slide", "deadline"
"""When answers are brought up to date."""
SCHEDULES = ("edf", "aggressive", "conservative", "hybrid", "hybrid_late", "hybrid_late_pending")
"""The policies of `panes/schedule/policies.py`."""
MOST_SHARDS = 4_096
"""Four for each core of the largest cluster that is reckoned with. Each is a task of every epoch."""
MOST_PARTS = 64
"""The most parts into which the index of an answer divides a time."""
_LEAST_PERCENT = 0.01
_MOST_DAYS = 3_650
_SECONDS = {
    "%": 0.0,
    "MICROSECOND": 1e-6,
    "MILLISECOND": 1e-3,
    "SECOND": 1.0,
    "MINUTE": 60.0,
    "HOUR": 3_600.0,
    "DAY": 86_400.0,
}


@dataclass(frozen=True)
class Setting:
    name: str
    default: Value
    help: str
    check: Callable[[Value], bool]
    takes: str
    is_of_query: bool = False
    """Whether a query has it from its registration on: `CREATE QUERY … WITH` may give it another value."""


def _whole(least: int, most: int) -> Callable[[Value], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _number(least: float, most: float) -> Callable[[Value], bool]:
    # What is no number, and what is infinite, is not between the two either.
    return lambda value: (
        isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most
    )


def _or(word: str, check: Callable[[Value], bool]) -> Callable[[Value], bool]:
    return lambda value: value == word or check(value)


def _share_or_duration(value: Value) -> bool:
    if not isinstance(value, str):
        return False
    written = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%|[A-Z]+?)S?\s*", value, re.IGNORECASE)
    if written is None or written[2].upper() not in _SECONDS:
        return False
    if written[2] == "%":
        return _LEAST_PERCENT <= float(written[1]) <= 100
    seconds = float(written[1]) * _SECONDS[written[2].upper()]
    return _SECONDS["MICROSECOND"] <= seconds <= _MOST_DAYS * _SECONDS["DAY"]


def _cells(value: Value) -> bool:
    written = re.fullmatch(r"(\d{1,2})x(\d{1,2})", value) if isinstance(value, str) else None
    return written is not None and all(1 <= int(number) <= MOST_PARTS for number in written.groups())


def _one_of(*words: str) -> Callable[[Value], bool]:
    return lambda value: value in words


SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting(
            "strategy",
            "upa",
            "how expirations travel: by update pattern, as negative tuples, or by whole scans",
            _one_of("upa", "nt", "direct"),
            "'upa', 'nt' or 'direct'",
            is_of_query=True,
        ),
        Setting(
            "shards",
            AUTO,
            "over how many shards new queries are spread: as many as the cluster has cores, or a number",
            _or(AUTO, _whole(1, MOST_SHARDS)),
            f"'{AUTO}' or a whole number from 1 to {MOST_SHARDS:,}",
        ),
        Setting(
            "calendar_days",
            10,
            "days of a calendar queue, which partitions rows by expiry; fixed when a query is registered",
            _whole(1, 10_000),
            "a whole number from 1 to 10,000",
            is_of_query=True,
        ),
        Setting(
            "lazy_expiration",
            "50%",
            "how much of a chunk of state may be dead, or how long, before it is rewritten; fixed at registration",
            _share_or_duration,
            f"a share like '5%', from {_LEAST_PERCENT} to 100, or a length of time like '10 SECONDS', "
            f"up to {_MOST_DAYS:,} DAYS",
            is_of_query=True,
        ),
        Setting(
            "changes",
            "epoch",
            "changes of groups without SLIDE: net per epoch or of every instant; fixed when a query is registered",
            _one_of("epoch", "instant"),
            "'epoch' or 'instant'",
            is_of_query=True,
        ),
        Setting(
            "negation",
            AUTO,
            "where negations stand beside joins: by cost, above, below or as written; fixed at registration",
            _one_of(AUTO, "up", "down", "written"),
            "'auto', 'up', 'down' or 'written'",
            is_of_query=True,
        ),
        Setting(
            "join",
            AUTO,
            "joins of three and more windows: by cost, in one pipeline or as a tree; fixed at registration",
            _one_of(AUTO, "pipelined", "tree"),
            "'auto', 'pipelined' or 'tree'",
            is_of_query=True,
        ),
        Setting(
            "rules_off",
            "",
            "rules of the optimizer that are not applied, separated by commas; fixed when a query is registered",
            lambda value: isinstance(value, str),
            "names of rules, separated by commas",
            is_of_query=True,
        ),
        Setting(
            "shed",
            NEVER,
            "whether rows may be dropped for a query when the load is too high; fixed when a query is registered",
            _one_of(NEVER, AUTO),
            f"'{NEVER}' or '{AUTO}'",
            is_of_query=True,
        ),
        Setting(
            "priority",
            1,
            "the weight of a query where queries that shed share too little, and which of equally urgent answers "
            "is refreshed first; fixed at registration",
            _number(0.001, 1_000),
            "a number from 0.001 to 1,000",
            is_of_query=True,
        ),
        Setting(
            "expiration",
            PIGGYBACK,
            "how time reaches operators: with deltas, as messages, as negative tuples, or with tuples; fixed at "
            "registration",
            _one_of(PIGGYBACK, TIME_MESSAGE, NEGATIVE, INPUT_TRIGGERED),
            f"'{PIGGYBACK}', '{TIME_MESSAGE}', '{NEGATIVE}' or '{INPUT_TRIGGERED}'",
            is_of_query=True,
        ),
        Setting(
            "answers",
            AUTO,
            "what is kept of an answer: all of it, what a store shares with other queries, or nothing; fixed at "
            "registration",
            _one_of(AUTO, EAGER, LAZY, NONE),
            f"'{AUTO}', '{EAGER}', '{LAZY}' or '{NONE}'",
            is_of_query=True,
        ),
        Setting(
            "refresh",
            EVERY_SLIDE,
            "when answers are brought up to date: at every slide, or by deadline, the most urgent ones first; "
            "fixed at registration",
            _one_of(EVERY_SLIDE, DEADLINE),
            f"'{EVERY_SLIDE}' or '{DEADLINE}'",
            is_of_query=True,
        ),
        Setting(
            "schedule",
            SCHEDULES[-1],
            "which answers are refreshed first, and together with which others, under refresh = 'deadline'",
            _one_of(*SCHEDULES),
            ", ".join(f"'{name}'" for name in SCHEDULES[:-1]) + f" or '{SCHEDULES[-1]}'",
        ),
        Setting(
            "index_cells",
            "4x4",
            "cells of INDEX BY: parts by time of coming x parts by time of leaving; fixed at registration",
            _cells,
            f"two numbers from 1 to {MOST_PARTS} with an x between them, like '4x4'",
            is_of_query=True,
        ),
        Setting(
            "index_order",
            "round_robin",
            "whether a cell of INDEX BY has panes in turn, or one range of time; fixed at registration",
            _one_of("round_robin", "chronological"),
            "'round_robin' or 'chronological'",
            is_of_query=True,
        ),
        Setting(
            "index_rebuild",
            NEVER,
            "whether updates of INDEX BY rewrite cells, or append to them; fixed at registration",
            _one_of(NEVER, "always"),
            f"'{NEVER}' or 'always'",
            is_of_query=True,
        ),
        Setting(
            "capacity",
            AUTO,
            "the share of the cluster's cores that queries may keep busy before rows are dropped; auto: all",
            _or(AUTO, _number(0.01, 1)),
            f"'{AUTO}' or a number from 0.01 to 1",
        ),
        Setting(
            "headroom",
            0.9,
            "the share of the capacity up to which queries are let before rows are dropped",
            _number(0.01, 1),
            "a number from 0.01 to 1",
        ),
        Setting(
            "replan",
            AUTO,
            "whether queries that run get other plans when statistics drift; ALTER QUERY … REPLAN always works",
            _one_of(AUTO, NEVER),
            f"'{AUTO}' or '{NEVER}'",
        ),
        Setting(
            "share_from",
            4,
            "minimum number of queries with the same shape before they share a plan",
            _whole(1, 1_000_000),
            "a whole number from 1 to 1,000,000",
        ),
        Setting(
            "synopsis",
            AUTO,
            "what aggregates that share the panes of a stream keep beside these: nothing (basic), intervals of "
            "several panes, or running sums; auto: what costs least",
            _one_of(AUTO, "running", "interval", "basic"),
            f"'{AUTO}', 'running', 'interval' or 'basic'",
        ),
        Setting(
            "exchange",
            "auto",
            "how tables reach other tasks: in files or through Spark's shuffle; auto: in files on one machine",
            _one_of("auto", "shuffle", "files"),
            "'auto', 'shuffle' or 'files'",
        ),
        Setting(
            "epoch_megabytes",
            128,
            "how much of each source an epoch takes in at most, when there is a backlog",
            _number(0.0001, 1_000_000),
            "a number of megabytes from 0.0001 to 1,000,000",
        ),
        Setting(
            "idle_after",
            60,
            "seconds of wall time without rows after which a stream no longer holds back the clock",
            _number(0.01, 31_536_000),
            "a number of seconds from 0.01 to 31,536,000, a year",
        ),
        Setting(
            "heartbeat",
            1,
            "seconds of silence after which the clock moves on by itself, where tuples carry their arrival time",
            _number(0.01, 86_400),
            "a number of seconds from 0.01 to 86,400, a day",
        ),
        Setting(
            "max_delay",
            NONE,
            "seconds after which changes are visible at the latest: shortens heartbeat and idle_after as needed",
            _or(NONE, _number(0.01, 86_400)),
            f"'{NONE}' or a number of seconds from 0.01 to 86,400, a day",
        ),
        Setting(
            "isolation",
            SNAPSHOT,
            "the state that a read sees: any true one up to its end, that of its start, or that of its end",
            _one_of(WINDOW, SNAPSHOT, LATEST),
            f"'{WINDOW}', '{SNAPSHOT}' or '{LATEST}'",
        ),
        Setting(
            "retain_epochs",
            100,
            "how many past epochs stay readable, for readers who come back and for answers of the past",
            _whole(1, 1_000_000),
            "a whole number from 1 to 1,000,000",
        ),
    )
}


def check_setting(name: str, value: Value) -> Value:
    """The value, if the setting exists and takes it."""
    setting = SETTINGS.get(name)
    if setting is None:
        raise SettingError(f"there is no setting named {name!r}; there are {', '.join(SETTINGS)}")
    if not setting.check(value):
        raise SettingError(f"{name} takes {setting.takes}, not {value!r}")
    return value
