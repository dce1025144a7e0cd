"""A run to which nothing happens, for the tests of this folder to compare theirs with."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults.standing import (
    SHEDDING,
    Found,
    answers,
    change_tables,
    found_in,
    prepare,
    prepare_with_tables,
    write_files,
)


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
def undisturbed(tmp_path_factory):
    place = tmp_path_factory.mktemp("undisturbed")
    folder = place / "in"
    folder.mkdir()
    write_files(folder)
    seen = {}
    with prepare(place / "db", folder) as db:
        db.run(on_epoch=lambda epoch: seen.update({epoch.number: answers(db)}))
        found = found_in(db)
        assert found.shed.keys() == set(SHEDDING), "otherwise nothing would show that the same rows are shed"
        return Undisturbed(place / "db", folder, seen, found)


@pytest.fixture(scope="package")
def undisturbed_with_tables(tmp_path_factory, undisturbed):
    """A run over the same files, and with tables that change between its epochs."""
    place = tmp_path_factory.mktemp("undisturbed-with-tables")
    seen = {}
    with prepare_with_tables(place / "db", undisturbed.folder) as db:

        def after_epoch(epoch):
            seen[epoch.number] = answers(db)
            change_tables(db, epoch.number)

        db.run(on_epoch=after_epoch)
        return Undisturbed(place / "db", undisturbed.folder, seen, found_in(db))
