"""The answer of a query is the same whether it is kept up to date, put together when it is read, or asked anew."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

import pytest

import panes
from panes import answer_switching, errors
from panes.optimizer import drift
from panes.optimizer.answer_costs import AnswerCosts
from panes.registered import Registered
from panes.testing import local

QUERIES = {
    "selection": "SELECT ts, x FROM s [RANGE 1 MINUTE SLIDE 7 SECONDS] WHERE y > 3",
    "total": "SELECT y, sum(x) AS total FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY y",
    "pairs": "SELECT a.x, b.y FROM s [RANGE 20 SECONDS] a, s [RANGE 10 SECONDS] b WHERE a.x = b.x",
}
WAYS = {"selection": ("eager", "lazy", "none"), "total": ("eager", "none"), "pairs": ("eager", "none")}


def arrivals(since: int, until: int) -> list[dict[str, int]]:
    """Tuples of some seconds, of which every ninth comes half a minute late."""
    return [
        {"ts": at - 30 if at % 9 == 8 else at, "x": at * 7 % 11, "y": at * 5 % 8}
        for at in range(since, until)
    ]


def rows(answer: panes.Answer) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in answer.to_pylist())


def test_all_ways_give_one_answer_with_late_rows_and_after_a_restart(tmp_path):
    with local(tmp_path / "db") as db:
        db.sql("CREATE STREAM s (ts BIGINT, x INT, y INT) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 SECOND")
        for name, sql in QUERIES.items():
            for way in WAYS[name]:
                db.sql(f"CREATE QUERY {name}_{way} WITH (answers = '{way}') AS {sql}")
        seen = []
        for since, until in ((0, 45), (45, 80), (80, 130)):
            db.push("s", arrivals(since, until))
            db.run()
            seen.append(_same_in_all_ways(db))
        assert all(len(found) > 3 for found in seen[-1].values())
        assert seen[0] != seen[1] != seen[2]
    with local(tmp_path / "db") as db:
        assert _same_in_all_ways(db) == seen[-1]
        with pytest.raises(errors.CatalogError, match="no changes to follow"):
            db.query("total_none").changes()
        db.sql("DROP QUERY selection_lazy")
        db.push("s", arrivals(130, 150))
        db.run()
        assert rows(db.query("selection_eager").invoke()) == rows(db.query("selection_none").invoke())


def _same_in_all_ways(db: panes.Database) -> dict[str, list[tuple[object, ...]]]:
    found = {}
    for name in QUERIES:
        of_name = [q for q in ("eager", "lazy", "none") if db._catalog.has("QUERY", f"{name}_{q}")]
        answers = {way: rows(db.query(f"{name}_{way}").invoke()) for way in of_name}
        assert len({str(answer) for answer in answers.values()}) == 1, answers
        found[name] = answers["eager"]
    return found


ORDER = ["lazy", "none", "eager", "none", "lazy", "eager"]
"""The ways that a query is switched to, one after the other: from each to each of the others."""


def test_a_query_that_is_switched_from_way_to_way_answers_as_one_that_is_not(tmp_path, monkeypatch):
    assert len({*pairwise(["eager", *ORDER])}) == 6
    monkeypatch.setattr(answer_switching, "LOOK_EVERY", 1)
    monkeypatch.setattr(drift, "REST_EPOCHS", 1)
    wanted = ["eager"]

    def costs(_: Registered, record) -> AnswerCosts | None:
        ways = dict.fromkeys(("eager", "lazy", "none"), 0.5) | {wanted[-1]: 0.1}
        return AnswerCosts(1.0, 1.0, ways) if record.name == "moving" else None

    monkeypatch.setattr(Registered, "answer_costs", costs)
    sql = QUERIES["total"]
    had: dict[datetime, list[tuple[object, ...]]] = {}
    modes = []
    with local(tmp_path / "db") as db:
        db.sql("CREATE STREAM s (ts BIGINT, x INT, y INT) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 5 MINUTES")
        db.sql(f"CREATE QUERY moving AS {sql}")
        for way in ("eager", "none"):
            db.sql(f"CREATE QUERY {way}_always WITH (answers = '{way}') AS {sql}")
        for number in range(len(ORDER) + 2):
            if number >= 2:
                wanted.append(ORDER[number - 2])
            db.push("s", arrivals(number * 12, number * 12 + 12))
            with db.read() as block:
                # The epoch that the block holds is read while the query is switched in the next one.
                db.run()
                assert rows(block.invoke("moving")) == rows(block.invoke("eager_always")), number
            modes.append(db._catalog.query("moving").answers.mode)
            answer = db.query("moving").invoke()
            assert rows(answer) == rows(db.query("eager_always").invoke()), (number, modes)
            assert rows(answer) == rows(db.query("none_always").invoke()), (number, modes)
            assert answer.as_of is not None
            had[answer.as_of] = rows(answer)
        assert [mode for mode, after in pairwise([*modes, None]) if mode != after] == ["eager", *ORDER]
        for instant, found in had.items():
            assert rows(db.query("moving").invoke(as_of=instant)) == found, instant
        invoked = db.sql("SHOW STATISTICS").to_pylist()
        (own,) = (row for row in invoked if row["name"] == f"query {db._catalog.query('moving').origin}")
        # Once by hand, and once in the block, in the twelve seconds of an epoch.
        assert own["unit"] == "invocations/s"
        assert 1 / 12 <= own["value"] <= 3 / 12
        wanted.append("none")
        list(db.query("moving").changes())
        db.push("s", arrivals(200, 212))
        db.run()
        assert db._catalog.query("moving").answers.mode == "eager", "somebody has followed its changes"
        told = [change.is_whole for change in db.query("moving").changes()]
        assert told, "the epochs since then"
        assert not any(told)
