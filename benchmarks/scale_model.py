"""What an epoch takes on 2 to 1,000 cores, from constants that were measured: the figures of docs/scale.md.

The constants come from `benchmarks.scale` and `benchmarks.object_store`, and the rows per second of a core from
`benchmarks.run`. The model has one shard per core, which is what `SET shards = 'auto'` gives.
`python -m benchmarks.scale_model` draws its chart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import charts
from benchmarks.result_files import load

CORES = (2, 8, 32, 100, 320, 1_000)
EPOCH_S = 10.0
"""An epoch of the model takes in what came during the one before, which took as long."""
REQUEST_S = 0.03
"""A request to an object store in the same region; it is assumed, not measured."""
WORKLOAD = "W1"

Points = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Line:
    """A quantity that has a fixed part, and one per shard."""

    fixed: float
    per_shard: float

    def at(self, shards: float) -> float:
        return self.fixed + self.per_shard * shards


def fitted(points: Sequence[tuple[float, float]]) -> Line:
    """The line with the least relative errors, without negative parts.

    >>> fitted([(10, 12.0), (100, 102.0)])
    Line(fixed=2.0, per_shard=1.0)
    """
    xs, ys = np.array(points, dtype=float).T
    design = np.stack([np.ones_like(xs), xs], axis=1) / ys[:, None]
    fixed, slope = np.linalg.lstsq(design, np.ones_like(ys), rcond=None)[0]
    if fixed < 0:
        fixed, slope = 0.0, 1 / np.mean(xs / ys)
    if slope < 0:
        fixed, slope = 1 / np.mean(1 / ys), 0.0
    return Line(round(float(fixed), 9), round(float(slope), 9))


@dataclass(frozen=True)
class Model:
    """The constants for one number of queries."""

    queries: int
    driver_s: Line
    files: Line
    record_bytes: Line
    requests: Line
    task_s: float
    """What the tasks of a shard take, however few rows there are."""
    rows_per_core_s: float

    def rest_s(self, cores: int) -> float:
        """What is left of an epoch for rows."""
        # The requests of a shard follow one another; those of different shards do not wait.
        storing = (self.requests.fixed + self.requests.per_shard) * REQUEST_S
        return max(0.0, EPOCH_S - self.driver_s.at(cores) - self.task_s - storing)

    def rows_per_s(self, cores: int) -> float:
        return cores * self.rows_per_core_s * self.rest_s(cores) / EPOCH_S


def models(scale: Mapping[str, Any], store: Mapping[str, Any], workloads: Mapping[str, Any]) -> list[Model]:
    """A model for every number of queries that was measured."""
    points: Points = scale["results"]
    cores = scale["machine"]["cores"]
    (rate,) = [
        result["rows_per_s"]
        for result in workloads["results"]
        if (result["engine"], result["workload"]) == ("panes", WORKLOAD)
    ]
    requests = fitted([(result["shards"], result["total"]) for result in store["results"]])
    return [
        _model([point for point in points if point["queries"] == queries], cores, requests, rate)
        for queries in sorted({point["queries"] for point in points})
    ]


def _model(points: Points, cores: int, requests: Line, rate: float) -> Model:
    def line(*names: str) -> Line:
        return fitted([(point["shards"], sum(point[name] for name in names)) for point in points])

    largest = max(points, key=lambda point: point["shards"])
    return Model(
        largest["queries"],
        line("python_s", "scheduling_s"),
        line("files"),
        line("record_bytes"),
        requests,
        largest["tasks_s"] / largest["shards"],
        rate / cores,
    )


def draw(found: Sequence[Model], points: Points) -> None:
    """What was measured, and the model from 2 to 1,000 cores."""

    def measured(queries: int, *names: str) -> list[tuple[float, float]]:
        mine = [point for point in points if point["queries"] == queries]
        return [(point["shards"], sum(point[name] for name in names)) for point in mine]

    def name(model: Model) -> str:
        return f"{model.queries} quer{'y' if model.queries == 1 else 'ies'}"

    driver = {f"{name(m)}, measured": measured(m.queries, "python_s", "scheduling_s") for m in found}
    driver |= {f"{name(m)}, model": [(c, m.driver_s.at(c)) for c in CORES] for m in found}
    files = {f"{name(m)}, measured": measured(m.queries, "files") for m in found}
    files |= {f"{name(m)}, model": [(c, m.files.at(c)) for c in CORES] for m in found}
    rows = {f"{name(m)}, model": [(c, m.rows_per_s(c)) for c in CORES] for m in found}
    charts.lines(
        "scale",
        [
            charts.Panel("driver, seconds per epoch", driver, "shards", "s"),
            charts.Panel("files per epoch", files, "shards", "files"),
            charts.Panel(f"rows per second, epochs of {EPOCH_S:.0f} s", rows, "cores", "rows/s"),
        ],
    )


def main() -> None:
    scale, store, workloads = load("scale"), load("object-store"), load("workloads")
    assert scale is not None
    assert store is not None
    assert workloads is not None
    draw(models(scale, store, workloads), scale["results"])


if __name__ == "__main__":
    main()
