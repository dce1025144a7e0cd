"""Results of a benchmark: one JSON file for each, with the machine and the versions that it was measured on.

`python -m benchmarks.report` writes the tables of docs/benchmarks.md from these files, so that no figure is typed.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.machine import machine, versions

FOLDER = Path(__file__).parent / "results"


def save(name: str, results: list[dict[str, Any]], **more: Any) -> Path:
    """Writes the results of one run in place of those of the last one."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.json"
    content = {
        "measured": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": machine(),
        "versions": versions(),
        **more,
        "results": results,
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path


def load(name: str) -> dict[str, Any] | None:
    """The results of the last run, or None."""
    path = FOLDER / f"{name}.json"
    if not path.exists():
        return None
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content
