"""The queries of the corpus, of Nexmark and of TPC-H, all in one database: after every epoch their
answers are those of DuckDB, and so are the answers to the same texts asked once."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import panes
from panes.clock import to_microseconds
from panes.delta.delta import ALWAYS, EXP, FOREVER, TS
from panes.language import bind, parse
from panes.language import statements as st
from panes.plan.nodes import Node
from panes.plan.types import TIMESTAMP
from panes.plan.walk import streams_of
from panes.testing import Oracle, local, same_rows
from tests.language import test_meaning, test_workloads
from tests.language.at_work import Values, is_answered
from tests.language.corpus import Shelf

BEGIN = datetime(2026, 1, 31, 8, tzinfo=UTC)
EPOCHS = 2
ONE_IN = int(os.environ.get("PANES_CORPUS_ONE_IN", "8"))
"""Which part of the corpus is run on Spark; the local engine runs all of it."""
ROWS = 12
"""Of each stream in each epoch, and of each table."""


class Corpus:
    """A catalog with queries over it, in a database with random rows."""

    def __init__(
        self, db: panes.Database, catalog: Shelf, texts: Mapping[str, str], value: Values, one_in: int
    ) -> None:
        self._db, self._catalog, self._value = db, catalog, value
        self._chance = random.Random(5)
        self._arrivals: dict[str, pa.Table] = {}
        for thing in catalog.things.values():
            db.sql(thing.sql)
            if isinstance(thing, st.CreateTable):
                self._load(thing)
        self._plans: dict[str, Node] = {}
        self._texts: dict[str, str] = {}
        for number, (title, text) in list(enumerate(texts.items()))[::one_in]:
            plan = self._plan(text)
            if plan is not None:
                name = f"{number} {title}"
                self._plans[name], self._texts[name] = plan, text
                db.register(text, name=name)

    def __len__(self) -> int:
        return len(self._plans)

    def bring(self, epoch: int) -> None:
        """Gives every stream with event time some tuples, which go on in time from epoch to epoch."""
        for thing in self._catalog.things.values():
            if not isinstance(thing, st.CreateStream) or thing.stream.timestamp is None:
                continue
            time = thing.columns[thing.stream.timestamp.column]
            minutes = sorted(self._chance.randrange(40) for _ in range(ROWS))
            instants = [BEGIN + timedelta(minutes=40 * epoch + minute) for minute in minutes]
            rows = [
                {f.name: self._value(f, self._chance) for f in thing.columns}
                | {time.name: instant if time.type == TIMESTAMP else to_microseconds(instant) // 1000}
                for instant in instants
            ]
            table = pa.Table.from_pylist(rows, schema=thing.columns.arrow)
            self._db.push(thing.name, table)
            came = table.append_column(TS, pa.array([to_microseconds(instant) for instant in instants]))
            before = self._arrivals.get(thing.name, came.slice(0, 0))
            self._arrivals[thing.name] = pa.concat_tables([before, came])

    def check(self, *, also_once: bool) -> None:
        oracle = Oracle(self._arrivals, duckdb.connect(config={"threads": 1}))
        wrong = []
        for name, plan in self._plans.items():
            answer = self._db.query(name).invoke()
            assert answer.as_of is not None
            right = oracle.answer_at(plan, to_microseconds(answer.as_of))
            given = {"registered": answer}
            if also_once:
                once = self._db.sql(self._texts[name])
                assert isinstance(once, panes.Answer)
                given["asked once"] = once
            for way, one in given.items():
                difference = same_rows(one.table, right)
                if difference is not None:
                    wrong.append(f"{name}, {way}: {difference}")
        assert not wrong, "\n".join(wrong)

    def _load(self, table: st.CreateTable) -> None:
        rows = [{f.name: self._value(f, self._chance) for f in table.columns} for _ in range(ROWS)]
        keys = table.primary_key or table.columns.names
        unique = {tuple(row[key] for key in keys): row for row in rows}
        given = [row for key, row in unique.items() if not table.primary_key or None not in key]
        loaded = pa.Table.from_pylist(given, schema=table.columns.arrow)
        self._db.load(table.name, loaded)
        always, forever = np.full(len(given), ALWAYS), np.full(len(given), FOREVER)
        loaded = loaded.append_column(TS, pa.array(always)).append_column(EXP, pa.array(forever))
        self._arrivals[table.name] = loaded

    def _plan(self, text: str) -> Node | None:
        """The plan of a query that is answered all the time, over streams with event time; None for others."""
        (statement,) = parse(text)
        query = getattr(statement, "query", statement)
        plan = bind(query, self._catalog)
        streams = map(self._catalog.stream, streams_of(plan))
        is_timed = all(isinstance(s, st.CreateStream) and s.stream.timestamp is not None for s in streams)
        return plan if is_timed and is_answered(plan) else None


_QUERIES = {str(case): test_meaning.query_of(case) for case in test_meaning.CASES}
CORPUS = {name: query.sql for name, query in _QUERIES.items() if query is not None and query.sql}
"""Queries inside of other statements have no text of their own."""
WORKLOADS = {str(case): case.sql for case in test_workloads.RUNNING}


CATALOGS = {
    "corpus": (
        test_meaning.CATALOG,
        CORPUS,
        lambda field, chance: test_meaning.value(field.type, chance),
    ),
    "workloads": (test_workloads.CATALOG, WORKLOADS, test_workloads.likely),
}


def check_epochs(db: panes.Database, name: str, one_in: int, least: int) -> None:
    """Runs one query in so many of a catalog; their answers after every epoch are those of DuckDB."""
    db.sql("SET shards = 2")
    corpus = Corpus(db, *CATALOGS[name], one_in)
    assert len(corpus) >= least
    for epoch in range(EPOCHS):
        corpus.bring(epoch)
        db.run()
        corpus.check(also_once=epoch == EPOCHS - 1)


@pytest.mark.parametrize(("name", "least"), [("corpus", 200), ("workloads", 15)])
def test_answers_after_every_epoch_are_those_of_duckdb(tmp_path: Path, name: str, least: int) -> None:
    with local(tmp_path / "db") as db:
        check_epochs(db, name, 1, least)


@pytest.mark.parametrize(("name", "one_in", "least"), [("corpus", ONE_IN, 25), ("workloads", 1, 15)])
def test_answers_on_spark_are_those_of_duckdb(
    spark: SparkSession, tmp_path: Path, name: str, one_in: int, least: int
) -> None:
    with panes.connect(tmp_path / "db", spark=spark) as db:
        check_epochs(db, name, one_in, least)
