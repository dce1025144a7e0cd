"""A process that is killed at any moment while rows, queries and streams come and go: what was done stays done."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random
from threading import Timer

import pytest

from tests.faults.busy import SHAPES
from tests.faults.test_killed_process import PATIENCE_S, ROOT, send_kills

PROGRAM = Path(__file__).with_name("busy.py")
KILLS = int(os.environ.get("PANES_KILLS", "2"))
SEED = int(os.environ.get("PANES_SEED", "7"))


def start(database: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), str(database), *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def lines_of(process: subprocess.Popen[str], kill_after: tuple[int, int] | None) -> list[dict]:
    """The lines that a process prints until it ends, or is killed after so many epochs and so many lines more."""
    found = []
    watchdog = Timer(PATIENCE_S, send_kills, (process,))
    watchdog.start()
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        for line in process.stdout:
            if line.endswith("\n"):
                found.append(json.loads(line))
            if kill_after is not None and _has_come(found, *kill_after):
                send_kills(process)
        said = process.stderr.read()[-3000:]
    watchdog.cancel()
    process.wait(PATIENCE_S)
    is_as_wanted = process.returncode == 0 if kill_after is None else _has_come(found, *kill_after)
    assert is_as_wanted, f"the program ended by itself with {process.returncode}: {said}"
    return found


def _has_come(lines: list[dict], epochs: int, more: int) -> bool:
    places = [place for place, line in enumerate(lines) if "epoch" in line and "did" not in line]
    begin = 0 if epochs == 0 else places[epochs - 1] + 1 if len(places) >= epochs else None
    return begin is not None and len(lines) >= begin + more


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the workers to kill through /proc")
def test_what_was_done_before_a_kill_stays_done_and_what_was_not_is_whole_or_not_at_all(tmp_path):
    random = Random(SEED)
    journal: list[dict] = []
    for kill in range(KILLS):
        process = start(tmp_path / "db", f"{SEED}-{kill}")
        # The kill falls somewhere after that line: into an epoch, a push, a registration, a change of streams.
        journal += lines_of(process, (random.randint(0, 3), random.randint(1, 12)))
    process = start(tmp_path / "db", "0", "finish")
    last = lines_of(process, None)
    journal += last
    answers = {line["answer"]: Counter(map(tuple, line["rows"])) for line in last if "answer" in line}
    assert sum("epoch" in line and "did" not in line for line in journal) >= KILLS // 2
    check_pushes(journal, answers)
    check_queries(journal, answers)
    check_changes(journal, answers)


def check_pushes(journal: list[dict], answers: dict[str, Counter]) -> None:
    """Every push that returned is in, once; one that was cut short is in wholly or not at all."""
    streams = {line["name"] for line in journal if line.get("did") == "create"} | {"s0"}
    for stream in streams:
        held = answers[f"all_{stream}"]
        assert set(held.values()) <= {1}
        mine = [line for line in journal if line.get("stream") == stream]
        done = [line["ids"] for line in mine if line.get("did") == "push"]
        begun = [line["ids"] for line in mine if line.get("begin") == "push"]
        ids = {i for (i,) in held}
        assert {i for push in done for i in push} <= ids
        for push in begun:
            assert len(ids & set(push)) in (0, len(push))
        assert ids <= {i for push in begun for i in push}


def check_queries(journal: list[dict], answers: dict[str, Counter]) -> None:
    """Queries that were registered are there until they are dropped, and every answer is that over all rows."""
    there = {line["name"] for line in journal if line.get("did") == "register"}
    ending = {line["name"] for line in journal if line.get("begin") == "drop"}
    ended = {line["name"] for line in journal if line.get("did") == "drop"}
    assert there - ending <= answers.keys()
    assert not ended & answers.keys()
    for name, answer in answers.items():
        shape, stream, *_ = name.split("_")
        ids = [i for (i,) in answers[f"all_{stream}"]]
        if shape == "grouped":
            by_k = {k: [i for i in ids if i % 3 == k] for k in range(3)}
            assert answer == Counter((k, len(some), sum(some)) for k, some in by_k.items() if some), name
        elif shape == "chosen":
            assert answer == Counter((i,) for i in ids if i % 3 == 1), name
        elif shape == "last":
            assert answer.total() == min(3, len(ids)), name
            assert set(answer) <= {(i,) for i in ids}, name
    assert set(SHAPES) >= {name.split("_")[0] for name in answers}


def check_changes(journal: list[dict], answers: dict[str, Counter]) -> None:
    """The changes of all epochs add up to the answer; what a reader was told twice is the same both times."""
    told: dict[int, list] = {}
    for line in journal:
        if line.get("did") == "change":
            assert told.setdefault(line["epoch"], line["rows"]) == line["rows"]
    total: Counter = Counter()
    for rows in told.values():
        for i, weight in rows:
            total[(i,)] += weight
    assert +total == answers["all_s0"]
