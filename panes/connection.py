"""A connection to the directory of a database: what is opened in it, and whether it may still be used."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TextIO, TypeVar, cast

from panes.answers.cursors import Cursors
from panes.answers.cursors_copy import CursorsCopy, read_copy
from panes.answers.memory_cursors import MemoryCursors
from panes.answers.readers import Readers
from panes.catalog import Catalog
from panes.directory import is_in_use, lock_directory
from panes.errors import DatabaseClosed, EpochGone, ReadOnly, StateError
from panes.followed_catalog import FollowedCatalog
from panes.ingest.pushed_files import PushedFiles
from panes.ingest.rejected_log import RejectedLog
from panes.runtime.batch_files import source_name
from panes.stages.measure_log import MeasureLog
from panes.state.storage.catalog_copy import CatalogCopy, restore_catalog
from panes.state.storage.checkpoint import Checkpoint
from panes.state.storage.checkpoint_copy import PIN as CHECKPOINT_COPY
from panes.state.storage.checkpoint_copy import CheckpointCopy, restore_checkpoint
from panes.state.storage.epoch_log import NOTHING, EpochLog
from panes.state.storage.followed import FollowedLog
from panes.state.storage.home import home_of
from panes.state.storage.locations import names_in, remove_tree
from panes.state.storage.opening import CATALOG, check_opening, check_place
from panes.state.storage.records import missing
from panes.state.storage.terms import Term
from panes.tables.table_store import Tables

T = TypeVar("T")

_READERS = "readers.sqlite"
_MADE_AGAIN = (_READERS, f"{_READERS}-wal", f"{_READERS}-shm", "skipped.json")
"""Files of a working folder that are removed before they are made again from the home."""
_ATTEMPTS = 20
"""How many times a connection that only reads tries to read what another process keeps removing."""


class Connection:
    """The catalog, the epochs, the readers and the tables of a database.

    One connection at a time may change a database; it holds the directory's lock. Any number may read beside it.
    """

    def __init__(self, path: str | Path | None, state: str | Path | None, *, read_only: bool) -> None:
        """`path` None makes a temporary directory, which goes when the connection is closed; `state` stays."""
        self._is_temporary = path is None
        self._cursors_copy: CursorsCopy | None = None
        self.checkpoint_copy: CheckpointCopy | None = None
        """Where the home is elsewhere: what keeps there what Spark notes of each epoch."""
        self._is_closed = False
        self.is_read_only = read_only
        if path is not None:
            check_place(path)
        if read_only:
            self._open_to_read(path, state)
        else:
            self._open(path, state)
        self.measures = MeasureLog(self.home.location / "measures")

    def _open(self, path: str | Path | None, state: str | Path | None) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="panes-") if path is None else path).absolute()
        with ExitStack() as opened:
            self._lock: TextIO | None = opened.enter_context(lock_directory(self.path))
            self.home = home_of(self.path, state, is_fresh=not (self.path / CATALOG).exists())
            # A claim ends the term of a driver that runs: it is made once all has been read and found right. What
            # others commit from then on does not count, so all is read again.
            self._rehearse()
            term = Term.claim(self.home.location / "terms")
            if self.home.is_elsewhere:
                self._open_elsewhere(opened, term)
            else:
                self._open_here(opened)
            Checkpoint(self.path / "checkpoint").remove_unfinished()
            RejectedLog(self.home.location / "aside").forget_after(self.log.last)
            self.log.take(term)
            self.tables = Tables(self.home.location, self.log, self.catalog, term=term.name)
            self.tables.recover()
            opened.pop_all()  # all is well: they stay open

    def _rehearse(self) -> None:
        """Reads all that opening reads, and raises what opening would raise. Another driver may be at work there,
        and remove what is about to be read."""
        for attempt in range(1, _ATTEMPTS + 1):
            before = self._listed()
            with ExitStack() as opened:
                try:
                    if self.home.is_elsewhere:
                        self._read_elsewhere(opened)
                    else:
                        self._read_here(opened)
                    Tables(self.home.location, self.log, self.catalog, is_read_only=True).check()
                except (EpochGone, StateError, FileNotFoundError):
                    if attempt == _ATTEMPTS or before == self._listed():
                        raise
                else:
                    return

    def _listed(self) -> list[list[str]]:
        """The names of what drivers write while they work."""
        folders = ("epochs", "catalog", "readers", "checkpoint", "tables/accepted")
        return [sorted(names_in(self.home.location / folder)) for folder in folders]

    def _open_here(self, opened: ExitStack) -> None:
        """Opens what is in the directory, and checks that all of it belongs together."""
        cursors = self._read_here(opened)
        catalog, log = self.catalog, self.log
        catalog.marks.note_readers()
        self._note_committed()
        self.readers = Readers(log, self.path / "states", cursors, catalog.has_query, catalog.has_origin)

    def _read_here(self, opened: ExitStack) -> Cursors:
        catalog = self._open_catalog(opened)
        log = self.log = EpochLog(self.path / "epochs", catalog.database)
        cursors = Cursors(self.path / _READERS, catalog.database, must_exist=catalog.marks.has_readers)
        opened.enter_context(closing(cursors))
        check_opening(
            self.path, log, catalog.marks.last_begun, catalog.marks.last_committed, cursors.furthest()
        )
        return cursors

    def _open_elsewhere(self, opened: ExitStack, term: Term) -> None:
        """Makes the working folder again from the home, and the home that of this driver."""
        home = self.home.location
        cursors, told = self._read_elsewhere(opened)
        catalog, log = self.catalog, self.log
        PushedFiles(home, self.path).make_markers(_taken(self.path, catalog, (log.latest() or NOTHING).batch))
        copy = CatalogCopy(home / "catalog", term)
        copy.begin(catalog.content())
        catalog.copied_to(copy)
        self._cursors_copy = CursorsCopy(home / "readers", term.name, cursors)
        self._cursors_copy.begin(told)
        catalog.marks.note_readers()
        self.checkpoint_copy = CheckpointCopy(home / "checkpoint", self.path / "checkpoint", term.name)
        self.readers = Readers(log, home / "states", cursors, catalog.has_query, catalog.has_origin)

    def _read_elsewhere(self, opened: ExitStack) -> tuple[Cursors, int]:
        """Makes the working folder again from the home, whatever is left in it: another driver may have gone on
        since, from another folder. Gives the cursors of readers, and the last epoch of which callers were told."""
        home = self.home.location
        for name in _MADE_AGAIN:
            (self.path / name).unlink(missing_ok=True)
        has_copy = restore_catalog(home / "catalog", self.path / CATALOG)
        catalog = self._open_catalog(opened)
        log = self.log = EpochLog(home / "epochs", catalog.database, self.path / "skipped.json")
        latest = log.latest() or NOTHING
        if latest is not NOTHING and not has_copy:
            raise missing(home / "catalog")
        catalog.marks.note_epochs(latest.epoch)
        copied = read_copy(home / "readers", latest.epoch, must_exist=catalog.marks.has_readers)
        restore_checkpoint(
            home / "checkpoint",
            latest.pins.get(CHECKPOINT_COPY),
            self.path / "checkpoint",
            is_done=copied.told >= latest.epoch and latest.begun_batch <= latest.batch,
        )
        cursors = opened.enter_context(closing(Cursors(self.path / _READERS, catalog.database)))
        cursors.put(copied.places)
        check_opening(
            self.path, log, catalog.marks.last_begun, catalog.marks.last_committed, cursors.furthest()
        )
        return cursors, copied.told

    def _open_catalog(self, opened: ExitStack) -> Catalog:
        catalog = Catalog(self.path / CATALOG, database=self.home.database)
        self.catalog = opened.enter_context(closing(catalog))
        return catalog

    def _open_to_read(self, path: str | Path | None, state: str | Path | None) -> None:
        """Opens what is there, and nothing that would write; another process may be changing it."""
        if path is None or state is not None:
            raise ReadOnly(
                "read_only=True needs the directory of a database that is there, and takes no state="
            )
        self.path = Path(path).absolute()
        self._lock = None
        self.catalog = cast(Catalog, FollowedCatalog(self.path / CATALOG))
        self.home = home_of(self.path, None)
        home = self.home.location
        self.log = FollowedLog(home / "epochs", self.catalog.database)
        self.readers = Readers(
            self.log,
            home / "states",
            MemoryCursors(),
            lambda query, origin: self.catalog.has_query(query, origin),
            lambda origin: self.catalog.has_origin(origin),
        )
        self.tables = Tables(home, self.log, self.catalog, is_read_only=True)

    def _note_committed(self) -> None:
        """Notes in the catalog which epoch must be there when the database is opened again."""
        epochs = self.log.epochs
        if epochs:
            self.catalog.marks.note_committed(epochs[-1])

    def after_epoch(self, epoch: int) -> None:
        """Keeps how far readers have come, once the caller of the run was told of an epoch."""
        if self._cursors_copy is not None:
            self._cursors_copy.keep(epoch)

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    @property
    def is_in_use(self) -> bool:
        """Whether a connection that may write holds the directory."""
        return is_in_use(self.path)

    def check_open(self) -> None:
        """Raises unless it is open and its directory is there: neither removed, nor replaced by another one."""
        self.check_not_closed()
        if not self._is_there():
            raise StateError(
                f"the directory {self.path} is gone: it was removed or replaced while this connection was open; "
                "close it, and connect again to begin anew, or restore the directory from a copy first"
            )

    def _is_there(self) -> bool:
        if self._lock is None:
            return (self.path / CATALOG).exists()
        try:
            return os.path.samestat(os.stat(self.path / "lock"), os.fstat(self._lock.fileno()))
        except OSError:
            return False

    def check_not_closed(self) -> None:
        if self._is_closed:
            raise DatabaseClosed(f"{self.path} is closed; connect to it again")

    def check_writable(self) -> None:
        """Raises unless it is open and may change the database."""
        self.check_open()
        self.check_not_read_only()

    def check_not_read_only(self) -> None:
        if self.is_read_only:
            raise ReadOnly(
                f"{self.path} was opened with read_only=True; connect without it to change the database"
            )

    def read(self, read: Callable[[], T]) -> T:
        """Reads, and reads again when what was being read was removed by another process meanwhile."""
        if not self.is_read_only:
            return read()
        for _ in range(_ATTEMPTS):
            before = self.log.epochs[:1], self.catalog.base_streams()
            try:
                found = read()
            except (EpochGone, StateError, FileNotFoundError):
                if before == (self.log.epochs[:1], self.catalog.base_streams()):
                    raise
            else:
                if before[1] == self.catalog.base_streams():
                    return found
        raise EpochGone(
            f"the epochs of {self.path} are removed faster than they can be read; "
            "SET retain_epochs to a larger number"
        )

    def close(self) -> None:
        """Lets go of the directory; a temporary one is removed."""
        self._is_closed = True
        if self._cursors_copy is not None:
            self._cursors_copy.close()
        self.readers.close()
        if not self.is_read_only:
            # The folder may be gone; the mark only makes the next opening stricter.
            with suppress(StateError):
                self._note_committed()
        self.catalog.close()
        if self._lock is not None:
            self._lock.close()
        if self._is_temporary:
            remove_tree(self.path)


def _taken(folder: Path, catalog: Catalog, batch: int) -> dict[int, set[str]]:
    """The names of the pushed files that are in the epochs up to a micro-batch, by stream."""
    checkpoint = Checkpoint(folder / "checkpoint")
    return {
        stream.number: {
            str(entry["path"]).rpartition("/")[2]
            for entry in checkpoint.entries(
                source_name(stream), -1, checkpoint.log_offset(source_name(stream), batch)
            )
        }
        for stream in catalog.base_streams()
        if stream.source.kind == "PUSH" and batch >= 0
    }
