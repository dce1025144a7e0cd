"""A run to which nothing happens, for the tests of this folder to compare theirs with."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults.standing import Found, answers, found_in, prepare, write_files


@dataclass(frozen=True)
class Undisturbed:
    """What such a run leaves behind."""

    database: Path
    folder: Path
    """The files that it took in, one per epoch."""
    seen: dict[int, dict[str, Counter]]
    """The answers after every epoch."""
    found: Found
    """What is there in the end."""


@pytest.fixture(scope="package")
def undisturbed(spark, tmp_path_factory):
    place = tmp_path_factory.mktemp("undisturbed")
    folder = place / "in"
    folder.mkdir()
    write_files(folder)
    seen = {}
    with prepare(place / "db", spark, folder) as db:
        db.run(on_epoch=lambda epoch: seen.update({epoch.number: answers(db)}))
        return Undisturbed(place / "db", folder, seen, found_in(db))
