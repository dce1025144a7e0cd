"""What re-planning gains when a stream changes its rate: `python -m benchmarks.drift`.

Three streams are joined. Half-way one of them begins to bring ten times as many rows, so that another order of the
join becomes cheaper. The query runs twice on Spark, over the same epochs of one second: once it may get other
plans, once it keeps its first one. The result is the CPU time of its steps per second of event time, before the
rate changes and at the end.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pyarrow as pa

import panes
from benchmarks.result_files import save

RATES = {"a": 1_000, "b": 4_000, "c": 400}
FASTER, STREAM = 10, "c"
VALUES = 4_000
"""Different values of each join column."""
SQL = """
    SELECT count(*) AS n, sum(a.v) AS total
    FROM a [RANGE 8 SECONDS], b [RANGE 8 SECONDS], c [RANGE 8 SECONDS]
    WHERE a.x = b.x AND b.y = c.y"""
EPOCHS = 150
AVERAGED = 15
"""The number of epochs over which CPU time is averaged at the end of each half."""


@dataclass(frozen=True)
class Second:
    """What one second brings, and whether the rate has changed by then."""

    rows: dict[str, pa.Table]
    is_changed: bool


def seconds(epochs: int, rates: dict[str, int], values: int) -> Iterator[Second]:
    """The rows of each second; those of `STREAM` come ten times as often in the second half."""
    random = np.random.default_rng(7)
    for number in range(epochs):
        is_changed = number >= epochs // 2
        rows = {}
        for name, rate in rates.items():
            count = rate * FASTER if is_changed and name == STREAM else rate
            columns = {key: random.integers(0, values, count) for key in "xy"}
            ts = number * 1_000_000 + 1 + np.arange(count) * (1_000_000 // count)
            rows[name] = pa.table({"ts": ts, **columns, "v": random.integers(0, 100, count)})
        yield Second(rows, is_changed)


def create(db: panes.Database) -> None:
    """Creates the streams."""
    for name in RATES:
        db.sql(
            f"CREATE STREAM {name} (ts BIGINT, x BIGINT, y BIGINT, v BIGINT) TIMESTAMP BY ts MICROSECONDS "
            "RETAIN INTERVAL 1 MINUTE"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--save", action="store_true", help="write the result file")
    arguments = parser.parse_args()
    results = []
    for setting in ("auto", "never"):
        cpu, plans = run(setting, arguments.epochs)
        half = arguments.epochs // 2
        before, after = (float(np.mean(part[-AVERAGED:])) for part in (cpu[:half], cpu[half:]))
        results.append({"replan": setting, "before": before, "after": after, "plans": plans})
        print(f"replan = {setting!r}: {before:.4f} CPU s/s before the change, {after:.4f} at the end")
        print("\n".join(f"    {plan}" for plan in plans))
    if arguments.save:
        save("drift", results, epochs=arguments.epochs)


def run(setting: str, epochs: int) -> tuple[list[float], list[str]]:
    """The CPU seconds of all steps in each epoch, and the plans that the query had."""
    cpu = []
    with panes.connect() as db:
        create(db)
        db.sql(f"SET replan = '{setting}'")
        # The first plan is chosen with what is measured of the rates before they change.
        for second in islice(seconds(epochs, RATES, VALUES), AVERAGED):
            _push(db, second)
        db.register(SQL, name="q")
        for second in islice(seconds(epochs, RATES, VALUES), AVERAGED, None):
            _push(db, second)
            cpu.append(db.status().measured["q"].cpu_us / 1e6)
        plans = [f"{plan['shape']}: {plan['reason']}" for plan in db.sql("SHOW PLANS q").to_pylist()]
    return cpu, plans


def _push(db: panes.Database, second: Second) -> None:
    for name, rows in second.rows.items():
        db.push(name, rows)
    db.run()


if __name__ == "__main__":
    main()
