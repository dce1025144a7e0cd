"""The queries of the update-patterns paper, the traffic they run over, and what the paper found for each.

The same experiments stand in the thesis (Golab, 2006, section 3.6), without query 4; its query 4 is query 5 here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

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


class Traffic(Protocol):
    """Tuples of links, one for each link and time unit."""

    def links(self, names: Sequence[str], window: int, first: int, units: int) -> dict[str, pa.Table]:
        """The tuples of some time units on each link, from the first one on."""


@dataclass(frozen=True)
class Generated:
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
                    "proto": pa.array(PROTOCOLS).take(pa.array(random.choice(len(SHARES), units, p=SHARES))),
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
    is_naive: bool = False
    """Whether duplicates are eliminated as in the papers, by an operator that keeps its whole input and output."""
    is_papers: bool = True
    """Whether it is in the paper."""

    @property
    def is_upa(self) -> bool:
        return self.strategy == "upa"


NT, DIRECT, UPA = Way("NT", "nt"), Way("DIRECT", "direct"), Way("UPA", "upa")
NAIVE_NT, NAIVE_DIRECT = Way("NT", "nt", is_naive=True), Way("DIRECT", "direct", is_naive=True)
COUNTING_NT = Way("NT, counting", "nt", is_papers=False)
STAR_DIRECT = Way("DIRECT, δ*", "direct", is_papers=False)
DISTINCT_WAYS = (NAIVE_NT, NAIVE_DIRECT, COUNTING_NT, STAR_DIRECT, UPA)
"""In the papers UPA alone has δ*. In Panes NT counts, DIRECT has δ*, and no strategy has the δ of the papers."""
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
    figures: str
    """The figure of the paper, and that of the thesis."""
    has_aim: bool = True
    """Whether UPA is to be the fastest in large windows; in query 3 it is not in the paper either."""
    space: tuple[str, str] | None = None
    """The figures of the state, and what the paper found there."""


# One result per input row at every window size, as the paper says of ftp.
JOINED = Generated(lambda window: max(1, window // 10))
SOURCES = Generated(lambda _window: 2_000, skew=1.0)
# About 40 percent of what the negation gives leaves early, as the paper counted.
NEGATED = Generated(lambda window: 2 * window)

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
        "9, 3.8",
    ),
    Experiment(
        "query 1, telnet",
        "join on the source, telnet only: ten times the results",
        JOIN.replace("{p}", "telnet"),
        JOINED,
        (NT, DIRECT, UPA, UPA_50),
        "DIRECT slowest by far; UPA slow with ten partitions in large windows, with fifty up to ten times as "
        "fast as NT",
        "10, 3.9",
    ),
    Experiment(
        "query 2, sources",
        "distinct sources",
        "SELECT DISTINCT a.src FROM link1 [{w}] AS a",
        SOURCES,
        DISTINCT_WAYS,
        "UPA ten times as fast as the others",
        "11, 3.10",
        space=("13, 3.12", "UPA with up to a hundredth of the state of NT and DIRECT"),
    ),
    Experiment(
        "query 2, pairs",
        "distinct pairs of source and destination",
        "SELECT DISTINCT a.src, a.dst FROM link1 [{w}] AS a",
        SOURCES,
        DISTINCT_WAYS,
        "UPA about twice as fast as NT; DIRECT slow",
        "12, 3.11",
        space=("14, 3.13", "UPA with clearly less state than NT and DIRECT"),
    ),
    Experiment(
        "query 3",
        "tuples of link 1 whose source is not on link 2",
        f"SELECT a.src, a.dst FROM link1 [{{w}}] AS a WHERE {NOT_ON_LINK2}",
        NEGATED,
        (NT, UPA, UPA_CALENDAR),
        "lifetimes above the negation a little faster than NT in small windows, slower in large ones, with 40 % "
        "leaving early",
        "15, 3.14",
        has_aim=False,
    ),
    Experiment(
        "query 4",
        "distinct sources of two links, joined",
        "SELECT a.src FROM (SELECT DISTINCT src FROM link1 [{w}]) AS a, "
        "(SELECT DISTINCT src FROM link2 [{w}]) AS b WHERE a.src = b.src",
        SOURCES,
        DISTINCT_WAYS,
        "UPA much faster than NT, DIRECT slowest; up to a hundredth of the state",
        "16",
    ),
    Experiment(
        "query 5",
        "negation of two links, joined with a third",
        PULLED_UP,
        NEGATED,
        (NT, Way("NT, negation below", "nt", sql=PUSHED_DOWN), UPA),
        "NT with the negation below the join best in small windows, UPA with it above best in large ones",
        "17, 3.15",
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
