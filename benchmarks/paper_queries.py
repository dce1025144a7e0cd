"""The queries of the update-patterns paper, the traffic they run over, and what the paper found for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from panes.delta.delta import TS
from panes.language import parse
from panes.language.statements import CreateStream, CreateTable

UNIT_US = 1_000
PROTOCOLS = ("ftp", "telnet", "http")
SHARES = (0.1, 0.316, 0.584)
"""Telnet tuples are √10 times as many as ftp tuples, so that their join gives ten times as many results."""


@dataclass(frozen=True)
class Traffic:
    """How sources and destinations are drawn: from how many hosts for a window, and how unevenly."""

    hosts: Callable[[int], int]
    skew: float = 0.0
    destinations: int = 10
    """Hosts that each source talks to: the pairs are so many times the sources."""

    def links(self, names: Sequence[str], window: int, first: int, units: int) -> dict[str, pa.Table]:
        """The tuples of some time units on each link."""
        tables = {}
        for name in names:
            # A link has the same tuples whatever else a plan reads, and in whatever order.
            random = np.random.default_rng([int(name.removeprefix("link")), first])
            source = self._sources(random, self.hosts(window), units)
            tables[name] = pa.table(
                {
                    "src": source,
                    "dst": source * self.destinations + random.integers(0, self.destinations, units),
                    "proto": pa.array(np.array(PROTOCOLS)[random.choice(len(SHARES), units, p=SHARES)]),
                    TS: (first + np.arange(units) + 1) * UNIT_US,
                }
            )
        return tables

    def _sources(self, random: np.random.Generator, hosts: int, units: int) -> npt.NDArray[Any]:
        if not self.skew:
            return random.integers(0, hosts, units)
        weights = np.arange(1, hosts + 1) ** -self.skew
        return random.choice(hosts, units, p=weights / weights.sum())


@dataclass(frozen=True)
class Way:
    """A line of a chart: a strategy with its parameters."""

    name: str
    strategy: str
    calendar_days: int = 10
    leaves_early: bool = True
    sql: str | None = None
    """Another way to write the query, where the order of its operators is what is compared."""


NT, DIRECT, UPA = Way("NT", "nt"), Way("DIRECT", "direct"), Way("UPA", "upa")
UPA_50 = Way("UPA, 50 partitions", "upa", calendar_days=50)
UPA_CALENDAR = Way("UPA, lifetimes above the negation", "upa", leaves_early=False)


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    sql: str
    traffic: Traffic
    ways: Sequence[Way]
    found: str
    """What the paper found, in words."""


# One result per input row at every window size, as the paper says of ftp.
JOINED = Traffic(lambda window: max(1, window // 10))
SOURCES = Traffic(lambda _window: 2_000, skew=1.0)
# About 40 percent of what the negation gives leaves early, as the paper counted.
NEGATED = Traffic(lambda window: 2 * window)

JOIN = (
    "SELECT a.src, a.dst, b.dst AS other FROM link1 [{w}] AS a, link2 [{w}] AS b "
    "WHERE a.src = b.src AND a.proto = '{p}' AND b.proto = '{p}'"
)
NOT_ON_LINK2 = "NOT EXISTS (SELECT * FROM link2 [{w}] AS b WHERE b.src = a.src)"
PULLED_UP = (
    "SELECT a.src, a.dst, c.dst AS other FROM link1 [{w}] AS a, link3 [{w}] AS c "
    f"WHERE a.src = c.src AND c.proto = 'ftp' AND {NOT_ON_LINK2}"
)
PUSHED_DOWN = (
    "SELECT n.src, n.dst, c.dst AS other "
    f"FROM (SELECT a.src, a.dst FROM link1 [{{w}}] AS a WHERE {NOT_ON_LINK2}) AS n, link3 [{{w}}] AS c "
    "WHERE n.src = c.src AND c.proto = 'ftp'"
)

EXPERIMENTS = (
    Experiment(
        "query 1, ftp",
        "join on the source, ftp only",
        JOIN.replace("{p}", "ftp"),
        JOINED,
        (NT, DIRECT, UPA),
        "UPA nearly twice as fast as the others in large windows; DIRECT faster than NT",
    ),
    Experiment(
        "query 1, telnet",
        "join on the source, telnet only: ten times the results",
        JOIN.replace("{p}", "telnet"),
        JOINED,
        (NT, DIRECT, UPA, UPA_50),
        "DIRECT slowest by far; UPA slow with ten partitions in large windows, with fifty up to ten times as "
        "fast as NT",
    ),
    Experiment(
        "query 2, sources",
        "distinct sources",
        "SELECT DISTINCT a.src FROM link1 [{w}] AS a",
        SOURCES,
        (NT, DIRECT, UPA),
        "UPA ten times as fast as the others, with up to a hundredth of the state",
    ),
    Experiment(
        "query 2, pairs",
        "distinct pairs of source and destination",
        "SELECT DISTINCT a.src, a.dst FROM link1 [{w}] AS a",
        SOURCES,
        (NT, DIRECT, UPA),
        "UPA about twice as fast as NT, with clearly less state; DIRECT slow",
    ),
    Experiment(
        "query 3",
        "tuples of link 1 whose source is not on link 2",
        f"SELECT a.src, a.dst FROM link1 [{{w}}] AS a WHERE {NOT_ON_LINK2}",
        NEGATED,
        (NT, UPA, UPA_CALENDAR),
        "lifetimes above the negation a little faster than NT in small windows, slower in large ones, with 40 % "
        "leaving early",
    ),
    Experiment(
        "query 4",
        "distinct sources of two links, joined",
        "SELECT a.src FROM (SELECT DISTINCT src FROM link1 [{w}]) AS a, "
        "(SELECT DISTINCT src FROM link2 [{w}]) AS b WHERE a.src = b.src",
        SOURCES,
        (NT, DIRECT, UPA),
        "UPA much faster than NT, DIRECT slowest; up to a hundredth of the state",
    ),
    Experiment(
        "query 5",
        "negation of two links, joined with a third",
        PULLED_UP,
        NEGATED,
        (NT, Way("NT, negation below", "nt", sql=PUSHED_DOWN), UPA),
        "NT with the negation below the join best in small windows, UPA with it above best in large ones",
    ),
)


@dataclass
class Links:
    """A catalog of three links."""

    streams: dict[str, CreateStream] = field(default_factory=dict)

    @classmethod
    def made(cls) -> Links:
        links = cls()
        for number in (1, 2, 3):
            (statement,) = parse(f"CREATE STREAM link{number} (src BIGINT, dst BIGINT, proto VARCHAR)")
            assert isinstance(statement, CreateStream)
            links.streams[statement.name] = statement
        return links

    def stream(self, name: str) -> CreateStream | None:
        return self.streams.get(name)

    def table(self, name: str) -> CreateTable | None:  # noqa: ARG002
        return None

    def names(self) -> Sequence[str]:
        return list(self.streams)

    def is_query(self, name: str) -> bool:  # noqa: ARG002
        return False
