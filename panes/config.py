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
MOST_SHARDS = 65_536
MOST_PARTS = 64
"""The most parts into which the index of an answer divides a time."""


@dataclass(frozen=True)
class Setting:
    name: str
    default: Value
    help: str
    check: Callable[[Value], bool]
    takes: str
    is_of_query: bool = False
    """Whether a query has it from its registration on: `CREATE QUERY … WITH` may give it another value."""


def _positive_int(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _positive(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


def _share(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= 1


def _auto_or_share(value: Value) -> bool:
    return value == AUTO or _share(value)


def _auto_or_shards(value: Value) -> bool:
    return value == AUTO or (isinstance(value, int) and _positive_int(value) and value <= MOST_SHARDS)


def _share_or_duration(value: Value) -> bool:
    if not isinstance(value, str):
        return False
    units = r"(?:(%)|(?:MICRO|MILLI)?SECONDS?|MINUTES?|HOURS?|DAYS?)"
    written = re.fullmatch(rf"\s*(\d+(?:\.\d+)?)\s*{units}\s*", value, re.IGNORECASE)
    return written is not None and (0 < float(written[1]) <= 100 if written[2] else float(written[1]) > 0)


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
            _auto_or_shards,
            f"'{AUTO}' or a whole number from 1 to {MOST_SHARDS}",
        ),
        Setting(
            "calendar_days",
            10,
            "days of a calendar queue, which partitions rows by expiry; fixed when a query is registered",
            _positive_int,
            "a whole number above 0",
            is_of_query=True,
        ),
        Setting(
            "lazy_expiration",
            "50%",
            "how much of a chunk of state may be dead, or how long, before it is rewritten; fixed at registration",
            _share_or_duration,
            "a share like '5%', above 0 and up to 100, or a length of time like '10 SECONDS'",
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
            _positive,
            "a number above 0",
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
            _auto_or_share,
            f"'{AUTO}' or a number above 0, at most 1",
        ),
        Setting(
            "headroom",
            0.9,
            "the share of the capacity up to which queries are let before rows are dropped",
            _share,
            "a number above 0, at most 1",
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
            _positive_int,
            "a whole number above 0",
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
            _positive,
            "a number of megabytes above 0",
        ),
        Setting(
            "idle_after",
            60,
            "seconds of wall time without rows after which a stream no longer holds back the clock",
            _positive,
            "a number of seconds above 0",
        ),
        Setting(
            "heartbeat",
            1,
            "seconds of silence after which the clock moves on by itself, where tuples carry their arrival time",
            _positive,
            "a number of seconds above 0",
        ),
        Setting(
            "max_delay",
            NONE,
            "seconds after which changes are visible at the latest: shortens heartbeat and idle_after as needed",
            lambda value: value == NONE or _positive(value),
            f"'{NONE}' or a number of seconds above 0",
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
            _positive_int,
            "a whole number above 0",
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
