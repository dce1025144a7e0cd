"""Draws the texts of queries and their settings.

Event times are counted in microseconds from 1970 on, so that `tests/reference` can evaluate every instant.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

WINDOWS = (
    "[RANGE 5 MICROSECONDS]",
    "[RANGE 17 MICROSECONDS]",
    "[RANGE 12 MICROSECONDS SLIDE 4 MICROSECONDS]",
    "[RANGE 10 MICROSECONDS SLIDE 5 MICROSECONDS]",
    "[RANGE 3 MICROSECONDS SLIDE 8 MICROSECONDS]",
    "[ROWS 3]",
    "[ROWS 5 SLIDE 2]",
    "[PARTITION BY k ROWS 2]",
    "[SESSION 4 MICROSECONDS]",
    "[PARTITION BY k SESSION 3 MICROSECONDS]",
    "[NOW]",
    "[RANGE 6 MICROSECONDS OFFSET 4 MICROSECONDS]",
    "[RANGE 9 MICROSECONDS OFFSET 3 MICROSECONDS SLIDE 4 MICROSECONDS]",
    "[NOW OFFSET 2 MICROSECONDS]",
    "[ROWS 3 SLIDE 4 MICROSECONDS]",
    "[PARTITION BY k ROWS 2 SLIDE 5 MICROSECONDS]",
)
"""The windows that queries are drawn with; a line more draws another one everywhere."""
TIMED = tuple(text for text in WINDOWS if text.startswith("[RANGE"))
SLIDING = tuple(text for text in TIMED if "SLIDE" in text)

RELATIONS = (
    "SELECT k, x, w FROM {s} {w} WHERE {p}",
    "SELECT k, coalesce(x, 0) * 2 + k AS y FROM {s} {w}",
    "SELECT DISTINCT k, w FROM {s} {w}",
    "SELECT DISTINCT a.k, b.w FROM {s} {w} a JOIN {t} {v} b ON a.k = b.k",
    "SELECT k, count(*) AS n, sum(x) AS total, max(x) AS most FROM {s} {w} GROUP BY k",
    "SELECT k, w, count(x) AS n, avg(x) AS mean FROM {s} {w} WHERE {p} GROUP BY k, w",
    "SELECT k, count(*) AS n FROM {s} {w} GROUP BY k HAVING count(*) > 1",
    "SELECT count(*) AS n, min(x) AS least FROM {s} {w} WHERE {p}",
    "SELECT w, count(DISTINCT x) AS n, median(x) AS middle, array_agg(x) AS xs FROM {s} {w} GROUP BY w",
    "SELECT k, first(x) AS opened, last(x) AS closed FROM {s} {w} GROUP BY k",
    "SELECT k, w, grouping(k, w) AS level, count(*) AS n FROM {s} {w} GROUP BY ROLLUP (k, w)",
    "SELECT a.k, a.x, b.x AS y FROM {s} {w} a JOIN {t} {v} b ON a.k = b.k",
    "SELECT a.k, a.x, b.x AS y FROM {s} {w} a JOIN {t} {v} b ON a.k = b.k AND a.x > b.x WHERE a.w = 'a'",
    "SELECT a.k, b.k AS l FROM {s} {w} a JOIN {t} {v} b ON b.x BETWEEN a.x AND a.x + 2",
    "SELECT a.k, count(*) AS n, sum(b.x) AS total FROM {s} {w} a JOIN {t} {v} b ON a.k = b.k GROUP BY a.k",
    "SELECT a.k, b.x, c.w FROM {s} {w} a JOIN {t} {v} b ON a.k = b.k JOIN {s} {v} c ON b.k = c.k",
    "SELECT a.k, a.x, b.x AS y FROM {s} {w} a LEFT JOIN {t} {v} b ON a.k = b.k AND b.w = 'b'",
    "SELECT a.x, b.k, b.x AS y FROM {s} {w} a RIGHT JOIN {t} {v} b ON a.k = b.k",
    "SELECT k, a.x, b.x AS y FROM {s} {w} a FULL JOIN {t} {v} b USING (k)",
    "SELECT a.k, b.x AS y, c.w FROM {s} {w} a FULL JOIN {t} {v} b ON a.k = b.k FULL JOIN {s} {v} c ON a.k = c.k",
    "SELECT a.k, a.x FROM {s} {w} a WHERE NOT EXISTS (SELECT * FROM {t} {v} b WHERE b.k = a.k)",
    "SELECT k, w FROM {s} {w} WHERE x NOT IN (SELECT x FROM {t} {v})",
    "SELECT k, x FROM {s} {w} WHERE k IN (SELECT k FROM {t} {v} WHERE {p})",
    "SELECT k, w FROM {s} {w} EXCEPT ALL SELECT k, w FROM {t} {v}",
    "SELECT k, w FROM {s} {w} INTERSECT ALL SELECT k, w FROM {t} {v}",
    "SELECT k, x FROM {s} {w} UNION ALL SELECT k, x FROM {t} {v}",
    "SELECT k, x, rank() OVER (PARTITION BY k ORDER BY x DESC) AS place FROM {s} {w}",
    "SELECT k, x, sum(x) OVER (PARTITION BY w ORDER BY ts, x) AS so_far FROM {s} {w}",
    "SELECT k, x, w FROM {s} {w} ORDER BY x DESC, k LIMIT 3",
    "SELECT k, count(*) AS n FROM {s} GROUP BY k",
    "SELECT k, x FROM {s} WHERE {p}",
    "SELECT k, w, count(*) AS n FROM {s} {w} GROUP BY ALL",
    "SELECT a.k, a.x FROM {s} {w} a WHERE a.x > 5 OR EXISTS (SELECT * FROM {t} {v} b WHERE b.k = a.k)",
    "SELECT a.k, a.n, b.n AS before FROM (SELECT k, count(*) AS n FROM {s} {r} GROUP BY k) a "
    "LEFT JOIN (SELECT k, count(*) AS n FROM {s} [RANGE 6 MICROSECONDS OFFSET 5 MICROSECONDS] GROUP BY k) b "
    "ON a.k = b.k",
    "SELECT k, x FROM {s} {r} WHERE make_timestamp(ts) <= now() - INTERVAL 3 MICROSECONDS",
    "SELECT k, count(*) AS n FROM {s} {w} WHERE make_timestamp(ts) > now() - INTERVAL 6 MICROSECONDS GROUP BY k",
    "SELECT k, max(ts) AS newest FROM {s} {r} GROUP BY k "
    "HAVING make_timestamp(max(ts)) < now() - INTERVAL 2 MICROSECONDS",
    "SELECT k, x * {c} AS y FROM {s} {r} WHERE k <> 3",
    "SELECT k, n FROM Istream(SELECT k, count(*) AS n FROM {s} {r} GROUP BY k) [ROWS 4] AS e",
    "SELECT k, count(*) AS gone FROM Dstream(SELECT k, x FROM {s} {r}) [RANGE 9 MICROSECONDS] AS e GROUP BY k",
    "SELECT k, x FROM Dstream(SELECT k, x FROM {s} {r}) {g} AS e",
)
OF_TABLES = (
    "SELECT a.k, x, owner FROM {s} {w} a JOIN owners USING (k)",
    "SELECT owner, count(a.k) AS n FROM {s} {w} a RIGHT JOIN owners o ON a.k = o.k GROUP BY owner",
    "SELECT a.k, x, owner FROM {s} {w} a LEFT JOIN owners o ON a.k = o.k",
    "SELECT k, x FROM {s} {w} WHERE k NOT IN (SELECT k FROM owners)",
    "SELECT k, owner, count(*) AS n FROM {s} {r} JOIN owners USING (k) GROUP BY k, owner",
    "SELECT k, x * rate AS cost FROM {s} {w} JOIN rates USING (k)",
    "SELECT k, x * coalesce(rate, 1) AS cost FROM {s} {r} LEFT JOIN rates USING (k)",
    "SELECT k, x * rate AS cost FROM {s} JOIN rates USING (k)",
)
"""Over `owners`, which is retroactive, and `rates`, which is not."""
OUTPUTS = (
    "SELECT Istream(k, x) FROM {s} {r}",
    "SELECT Istream(k, count(*) AS n) FROM {s} {r} GROUP BY k",
    "SELECT Dstream(k, x) FROM {s} {w}",
    "SELECT Rstream(k, sum(x) AS total) FROM {s} {g} GROUP BY k",
    "SELECT Istream(a.k, b.x) FROM {s} {r} a JOIN {t} {q} b ON a.k = b.k",
)
OVER_QUERIES = (
    "SELECT k, count(*) AS n FROM {o} GROUP BY k",
    "SELECT DISTINCT k FROM {o}",
    "SELECT a.k, a.x FROM {s} {w} a JOIN {o} b ON a.k = b.k",
    "SELECT k, x FROM {s} {w} WHERE k NOT IN (SELECT k FROM {o})",
    "SELECT k FROM {o} WHERE k > 0 UNION ALL SELECT k FROM {s} {w}",
)
"""Over the answer of a registered query that has a column `k`."""
LARGE = 2**60
FACTORS = (2, 3, 5, 7, LARGE)
"""The largest value of a row overflows with the last of them, and no other does."""
PREDICATES = ("x > 3", "x IS NOT NULL", "w = 'a'", "k <> 1 OR x < 5", "k IN (0, 2)", "x % 2 = 0")
SETTINGS = {
    "strategy": ("upa", "nt", "direct"),
    "expiration": ("piggyback", "time_message", "negative", "input_triggered"),
    "answers": ("auto", "eager", "lazy", "none"),
    "refresh": ("every_slide", "deadline", "deadline"),
    "negation": ("auto", "up", "down", "written"),
    "join": ("auto", "pipelined", "tree"),
    "changes": ("epoch", "instant"),
    "lazy_expiration": ("5%", "50%", "3 MICROSECONDS"),
    "calendar_days": (1, 3, 10),
    "priority": (1, 3),
}
"""What a query may be given in WITH."""
OF_DATABASE = {
    "share_from": (1, 2, 4),
    "synopsis": ("auto", "running", "interval", "basic"),
    "shards": (1, 2, 3),
    "exchange": ("auto", "files", "shuffle"),
    "isolation": ("window", "snapshot", "latest"),
    "schedule": ("edf", "aggressive", "conservative", "hybrid", "hybrid_late_pending"),
    "replan": ("auto", "never"),
    "answers": ("auto", "eager", "lazy", "none"),
    "refresh": ("every_slide", "deadline"),
    "strategy": ("upa", "nt", "direct"),
}


def draw_text(chance: random.Random, streams: Sequence[str]) -> str:
    """Draws the text of a query over some of the streams."""
    kinds = (RELATIONS,) * 6 + (OF_TABLES,) * 2 + (OUTPUTS,)
    form = chance.choice(chance.choice(kinds))
    return form.format(
        s=chance.choice(streams),
        t=chance.choice(streams),
        w=chance.choice(WINDOWS),
        v=chance.choice(WINDOWS),
        r=chance.choice(TIMED),
        q=chance.choice(TIMED),
        g=chance.choice(SLIDING),
        p=chance.choice(PREDICATES),
        c=chance.choice(FACTORS),
    )


def draw_text_over(chance: random.Random, streams: Sequence[str]) -> str:
    """Draws the text of a query over the answer of another one, with {o} in its place."""
    form = chance.choice(OVER_QUERIES)
    return form.format(o="{o}", s=chance.choice(streams), w=chance.choice(WINDOWS))


def draw_group(chance: random.Random, streams: Sequence[str]) -> list[str]:
    """Draws the texts of queries that are equal up to the factor of a product, the last factor among them."""
    form = chance.choice(
        ("SELECT k, x * {c} AS y FROM {s} {r}", "SELECT k, w FROM {s} {r} WHERE x * {c} > 9")
    )
    stream, window = chance.choice(streams), chance.choice(TIMED)
    factors = [*chance.sample(FACTORS[:-1], chance.randrange(1, 4)), FACTORS[-1]]
    return [form.format(s=stream, r=window, c=factor) for factor in chance.sample(factors, len(factors))]


def draw_settings(chance: random.Random, text: str) -> dict[str, object]:
    """Draws what a query is given in WITH; aggregates over windows that slide are often refreshed by deadline."""
    names = chance.sample(sorted(SETTINGS), chance.choice((0, 0, 1, 2, 3)))
    given: dict[str, object] = {name: chance.choice(SETTINGS[name]) for name in names}
    if "SLIDE" in text and "GROUP BY" in text and chance.random() < 0.5:
        given["refresh"] = "deadline"
    return given


def setting_text(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


def create_statement(
    name: str, text: str, given: dict[str, object], index: str = "", head: str = "CREATE"
) -> str:
    inside = ", ".join(f"{key} = {setting_text(value)}" for key, value in given.items())
    return f"{head} QUERY {name}{f' WITH ({inside})' if given else ''}{index} AS {text}"
