"""A live stream with the six queries registered: how long epochs take, and how far the answers are behind.

python -m benchmarks.live [--seconds 300] [--rate 20000] [--standing 10]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

import panes
from benchmarks import charts
from benchmarks.result_files import save
from benchmarks.workloads import WORKLOADS

NAME = "live"
SETTLED_S = 15.0
"""Seconds that are shown, but not judged: the first epochs meet a cold Spark."""
STARTING_S = 180
"""Seconds that Spark has until the first epoch."""
MOST_S = 600
STREAM = """
CREATE STREAM packets (ts BIGINT, link INT, src INT, dst INT, proto STRING, bytes INT)
TIMESTAMP BY ts MILLISECONDS FROM RATE WITH (rows_per_second = {rate}, generator = 'traffic')
"""


@dataclass(frozen=True)
class Moment:
    """After an epoch: seconds since the first one, its rows, how long it took, and how far the clock is behind."""

    at: float
    rows: int
    epoch_s: float
    lag_s: float


def watch(rate: int, seconds: float, standing: int) -> list[Moment]:
    moments: list[Moment] = []
    with panes.connect() as db:
        db.sql(STREAM.format(rate=rate))
        for workload in WORKLOADS.values():
            for sql in workload.queries()[:standing]:
                db.register(sql)
        first: list[float] = []

        def note(epoch: panes.Epoch) -> None:
            now = time.time()
            first.append(now)
            if epoch.clock is not None:
                lag = now - epoch.clock.timestamp()
                moments.append(Moment(now - first[0], epoch.rows, epoch.seconds, lag))

        db.start(on_epoch=note)
        started = time.time()
        while time.time() - (first[0] if first else started) < (seconds if first else STARTING_S):
            time.sleep(1)
            db.status()  # raises what ended the run, if something did
        if not moments:
            raise RuntimeError(f"there was no epoch within {STARTING_S} seconds")
        db.stop()
    return moments


def judged(moments: Sequence[Moment]) -> dict[str, float]:
    """The largest and the median epoch, the lag, and how fast it grows, once things have settled."""
    settled = [m for m in moments if m.at >= SETTLED_S and m.rows] or list(moments)
    at, lag = np.array([m.at for m in settled]), np.array([m.lag_s for m in settled])
    growth = float(np.polyfit(at, lag, 1)[0]) if len(settled) > 2 else 0.0
    return {
        "epochs": len(settled),
        "median_epoch_s": round(float(np.median([m.epoch_s for m in settled])), 3),
        "largest_epoch_s": round(max(m.epoch_s for m in settled), 3),
        "median_lag_s": round(float(np.median(lag)), 3),
        "largest_lag_s": round(float(lag.max()), 3),
        "lag_growth_per_minute_s": round(60 * growth, 3),
        "rows_per_s": round(sum(m.rows for m in settled[1:]) / (at[-1] - at[0])) if len(settled) > 1 else 0,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help=f"how long to watch, up to {MOST_S}")
    parser.add_argument("--rate", type=int, default=20_000, help="rows per second")
    parser.add_argument("--standing", type=int, default=10, help="how many of W5's queries to register")
    arguments = parser.parse_args()
    moments = watch(arguments.rate, min(arguments.seconds, MOST_S), arguments.standing)
    summary = judged(moments)
    for name, value in summary.items():
        print(f"{name:<26}{value:>10}")
    save(
        NAME,
        [{k: round(v, 3) for k, v in asdict(m).items()} for m in moments],
        rate=arguments.rate,
        seconds=arguments.seconds,
        standing=arguments.standing,
        summary=summary,
    )
    curves = {
        "seconds of an epoch": {"epoch": [(m.at, m.epoch_s) for m in moments]},
        "how far the answers are behind": {"lag": [(m.at, m.lag_s) for m in moments]},
    }
    panels = [
        charts.Panel(title, curve, "seconds since the first epoch", "seconds", is_log_x=False, is_log_y=False)
        for title, curve in curves.items()
    ]
    charts.lines(NAME, panels)


if __name__ == "__main__":
    main()
