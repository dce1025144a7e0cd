"""The versions of all tables: what epochs have applied, in segments under the home of the database.

tables/manifests/epoch-0000000041-9a7c1d02.json    what there is after an epoch that changed tables
tables/000003/versions-0000000041-9a7c1d02.arrow   what that epoch changed in table 3
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import pyarrow as pa

from panes.delta.rows import concat
from panes.language.statements import CreateTable
from panes.state.storage.epoch_log import EpochRecord
from panes.state.storage.heads import NO_HEAD, Head, numbered
from panes.state.storage.locations import Location, names_in, remove_files, remove_tree
from panes.state.storage.recently_used import RecentlyUsed
from panes.state.storage.segments import SegmentEntry
from panes.tables.combine_transactions import combine_transactions
from panes.tables.merge_versions import merge_versions
from panes.tables.table_manifest import FOLDER, PIN, TableEntry, TableManifest, path_of
from panes.tables.table_versions import Versions, read_versions, versions_of
from panes.tables.transaction import Transaction
from panes.tables.version_clocks import QueryClock, VersionClocks

_MANIFESTS_IN_MEMORY = 16
_OF_AN_EPOCH = re.compile(r"(?:epoch|versions|merged)-(\d{10})-.*")
_OF_A_TABLE = re.compile(r"\d{6}")


@dataclass(frozen=True)
class Taken:
    """The transactions that an attempt at an epoch applies, and what they come to."""

    applied: int
    """The number of the last one."""
    changes: Mapping[int, pa.Table]
    """The net change of each table that changes, by number, as rows of versions."""
    is_at_once: bool
    """Whether some of it takes effect at once, and not at an instant that AT TIMESTAMP names."""


@dataclass(frozen=True)
class AppliedVersions:
    """What an epoch has written of tables."""

    manifest: TableManifest
    new: Mapping[int, SegmentEntry]
    """What the epoch changed, by table."""


class VersionLog:
    """One thread writes, the one that runs epochs; any number may read."""

    def __init__(self, folder: Location) -> None:
        self.folder = folder
        self._is_resumed = False
        """Whether what an earlier process left undone has been done."""
        self._manifests: RecentlyUsed[Head, TableManifest] = RecentlyUsed(_MANIFESTS_IN_MEMORY)

    # Reading.

    def manifest(self, record: EpochRecord | None) -> TableManifest:
        """What there is after an epoch; None is before the first."""
        return self._at(NO_HEAD if record is None else Head.of(record.pins.get(PIN)))

    def _at(self, head: Head) -> TableManifest:
        return self._manifests.get(head, lambda: TableManifest.read(self.folder, head))

    def versions(self, table: CreateTable, manifest: TableManifest) -> Versions:
        """All versions of a table that a manifest has."""
        return read_versions(self.folder, manifest.of(table.number).segments, table.columns)

    def effective(self, taken: Taken | None, before: EpochRecord) -> Mapping[int, int]:
        """By stream, the instant at which the last change takes effect once an epoch has applied what it has
        taken."""
        if taken is None or not taken.is_at_once:
            return self.manifest(before).effective
        return {stream: progress.clock + 1 for stream, progress in before.streams.items()}

    # Writing, by the driver, before the commit of the epoch.

    def write(
        self,
        epoch: int,
        writer: str,
        before: EpochRecord,
        taken: Taken,
        tables: Sequence[CreateTable],
        horizons: Mapping[int, int],
        queries: Iterable[QueryClock] = (),
    ) -> AppliedVersions:
        """Applies transactions in an attempt at an epoch. `tables` are those that there are: of others nothing is
        kept. `horizons` has for each stream the instant before which nobody asks, `queries` the clocks of
        registered queries."""
        known = self.manifest(before)
        clocks = VersionClocks.before(epoch, before.streams, queries)
        entries: dict[int, TableEntry] = {}
        new: dict[int, SegmentEntry] = {}
        for table in tables:
            entry = known.of(table.number)
            change = taken.changes.get(table.number)
            if change is not None:
                folder = f"{table.number:06d}"
                # Before the new one is added: tasks read that one alone.
                merged = f"{folder}/{numbered('merged', epoch, writer)}"
                entry = merge_versions(self.folder, entry, table.columns, horizons, merged)
                name = f"{folder}/{numbered('versions', epoch, writer)}.arrow"
                new[table.number] = Versions(change, clocks).write(self.folder, name)
                entry = replace(entry, segments=(*entry.segments, new[table.number]))
            if entry.segments:
                entries[table.number] = entry
        kept = {segment.object for entry in entries.values() for segment in entry.segments}
        had = [segment.object for entry in known.tables.values() for segment in entry.segments]
        manifest = TableManifest(
            applied=taken.applied,
            tables=entries,
            effective=self.effective(taken, before),
            before=known.head,
            released=tuple(name for name in had if name not in kept),
        ).written(self.folder, epoch, writer)
        self._manifests.put(manifest.head, manifest)
        return AppliedVersions(manifest, new)

    # Removing, by the driver.

    def released(self, records: Sequence[EpochRecord]) -> list[Location]:
        """The files that only epochs need which are about to go: all of these but the last one.

        When it is asked first, those that earlier epochs have released are among them: their removal may have been
        cut short.
        """
        heads = list(dict.fromkeys(Head.of(record.pins.get(PIN)) for record in records))
        files: list[Location] = []
        for head in heads[int(self._is_resumed) :]:
            manifest = self._at(head)
            files += [self.folder / name for name in manifest.released]
            if manifest.before != NO_HEAD:
                files.append(path_of(self.folder, manifest.before.epoch, manifest.before.writer))
        self._is_resumed = True
        return files

    def forget_attempt(self, tables: Sequence[CreateTable], epoch: int, writer: str) -> None:
        """Removes what an attempt that failed has left."""
        for folder in (FOLDER, *(f"{table.number:06d}" for table in tables)):
            names = [name for name in names_in(self.folder / folder) if _is_of(name, epoch, writer)]
            remove_files(self.folder / folder / name for name in names)

    def forget_after(self, epoch: int, tables: Set[int]) -> None:
        """Removes what epochs after one have left, which were never committed, and what is left of tables that
        were dropped; `tables` are those that there are."""
        for folder in names_in(self.folder):
            if _OF_A_TABLE.fullmatch(folder) and int(folder) not in tables:
                remove_tree(self.folder / folder)
            elif folder == FOLDER or _OF_A_TABLE.fullmatch(folder):
                found = ((name, _OF_AN_EPOCH.fullmatch(name)) for name in names_in(self.folder / folder))
                left = [name for name, match in found if match and int(match[1]) > epoch]
                remove_files(self.folder / folder / name for name in left)

    def forget(self, table: int) -> None:
        """Removes everything of a table: it was dropped."""
        remove_tree(self.folder / f"{table:06d}")


def taken_of(transactions: Sequence[Transaction], epoch: int, tables: Set[int]) -> Taken | None:
    """What transactions come to, of the tables that there are; None when there is no transaction."""
    if not transactions:
        return None
    parts: dict[int, list[pa.Table]] = {}
    for transaction in combine_transactions(transactions):
        for table, change in transaction.changes.items():
            if table in tables and change.num_rows:
                parts.setdefault(table, []).append(versions_of(change, epoch, transaction.at))
    return Taken(
        transactions[-1].number,
        {table: concat(found) for table, found in parts.items()},
        any(transaction.at is None for transaction in transactions),
    )


def _is_of(name: str, epoch: int, writer: str) -> bool:
    return any(name.startswith(numbered(kind, epoch, writer)) for kind in ("epoch", "versions", "merged"))
