"""Whether every executor can do its part, found out before the first epoch.

A place that some machine does not see would show much later, in failures that name something else. So a small job
looks at everything that tasks rely on: the packages of the executors, the state location, and the local folders
that streams read. Executors that come later are not asked; their tasks say by themselves what they do not find.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import re
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import SparkSession

from panes.errors import EnvironmentMissing, SourceError, StateError
from panes.ingest.file_location import FileLocation
from panes.plan.stream import Stream
from panes.spark.spark_failures import SPARK_ERRORS, hosts_in
from panes.state.storage.files import make_folder, write_bytes
from panes.state.storage.locations import Location, remove_tree

_TASKS_PER_EXECUTOR = 2
_ROUNDS = 3
"""How many times tasks are sent out until each executor has had one."""
_NO_MODULE = re.compile(r"No module named '?([\w.]+)")
_MOUNT = "mount it under the same path on every machine"


@dataclass(frozen=True)
class _Looked:
    """What a task has found on its machine."""

    host: str
    process: int
    """The process that starts the workers of the executor."""
    versions: Mapping[str, str]
    wrote: str | None
    """The name of what it has written to the state location; None when it could not."""
    unreachable: str | None
    """Why the state location cannot be read or written."""
    unseen: Sequence[str]
    """The paths that it does not find, or must not read."""


@dataclass(frozen=True)
class _Look:
    """What a task looks at; it is shipped to the workers."""

    folder: Location
    """The folder of the probe, below the state location."""
    text: str
    """What the driver has written there."""
    paths: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in [number for batch in batches for number in batch.column(0).to_pylist()]:
            yield pa.RecordBatch.from_pydict({"looked": [json.dumps(asdict(self.at(number)))]})

    def at(self, number: int) -> _Looked:
        """What the task of that number finds."""
        wrote, unreachable = f"task-{number}-{uuid4().hex}", None
        try:
            if (self.folder / "driver").read_bytes() != self.text.encode():
                raise StateError("it holds something else there than on the driver's machine")
            write_bytes(self.folder / wrote, self.text.encode())
        except (OSError, StateError, pa.ArrowException) as error:
            unreachable = _sentence(error)
        unseen = [path for path in self.paths if not os.access(path, os.R_OK)]
        return _Looked(
            socket.gethostname(),
            os.getppid(),
            _versions(),
            wrote if unreachable is None else None,
            unreachable,
            unseen,
        )


def check_reachable(session: SparkSession, home: Location, streams: Sequence[Stream]) -> None:
    """Raises a PanesError that names the machine and the place, when an executor cannot do its part."""
    places = dict(_places(streams))
    folder, text = home / f"probe-{uuid4().hex}", uuid4().hex
    make_folder(folder)
    write_bytes(folder / "driver", text.encode())
    try:
        looked = _looked(session, _Look(folder, text, tuple(places)))
        _check_versions(looked)
        _check_home(home, folder, text, looked)
        _check_places(places, looked)
    finally:
        remove_tree(folder)


def _versions() -> dict[str, str]:
    """What must be the same on all machines: pickled plans and Arrow data pass between them."""
    return {
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "pyarrow": pa.__version__,
        # By name: this part does not depend on the whole package.
        "panes": importlib.import_module("panes").__version__,
    }


def _looked(session: SparkSession, look: _Look) -> list[_Looked]:
    found: list[_Looked] = []
    for _ in range(_ROUNDS):
        executors = _executors(session)
        tasks = _TASKS_PER_EXECUTOR * executors
        try:
            rows = session.range(0, tasks, 1, tasks).mapInArrow(look, "looked string").toArrow()
        except SPARK_ERRORS as error:
            missing = _NO_MODULE.search(str(error))
            if missing is None:
                raise
            raise EnvironmentMissing(
                f"{_executor(hosts_in(str(error)))} has no Python module {missing[1]}; install the packages "
                "of the driver on every machine, or ship them, as docs/running-on-spark.md shows"
            ) from error
        found += [_Looked(**json.loads(text)) for text in rows.column("looked").to_pylist()]
        if len({(looked.host, looked.process) for looked in found}) >= executors:
            break
    return found


def _executors(session: SparkSession) -> int:
    """How many executors there are; in local mode the driver is the only one."""
    jsc = session.sparkContext._jsc
    assert jsc is not None
    return max(1, len(jsc.sc().statusTracker().getExecutorInfos()) - 1)


def _places(streams: Sequence[Stream]) -> Iterator[tuple[str, str]]:
    """The local paths that the driver sees, each with the name of its stream: the place, and a file in it.

    The file tells the folder of the driver from one that only has the same name.
    """
    for stream in streams:
        if stream.source.kind != "FILES":
            continue
        location = FileLocation.of(str(stream.source.location))
        if not location.is_local:
            continue
        for path in location.matches()[:1]:
            yield str(path if path.is_dir() else path.parent), stream.name
        for path in location.files():
            yield str(path), stream.name
            break


def _check_versions(looked: Sequence[_Looked]) -> None:
    for name, ours in _versions().items():
        others = {found.versions[name]: found.host for found in looked if found.versions[name] != ours}
        for theirs in others:
            hosts = [found.host for found in looked if found.versions[name] == theirs]
            raise EnvironmentMissing(
                f"{_executor(hosts)} has {name} {theirs}, and the driver has {ours}; install the same version on "
                "every machine, as docs/running-on-spark.md shows"
            )


def _check_home(home: Location, folder: Location, text: str, looked: Sequence[_Looked]) -> None:
    todo = f"{_MOUNT}, or keep the states where all machines reach them: connect(state='s3://…')"
    unreachable = [found for found in looked if found.unreachable is not None]
    if unreachable:
        hosts = [found.host for found in unreachable]
        raise StateError(
            f"{_executor(hosts)} cannot use the state location {home}: {unreachable[0].unreachable}; {todo}"
        )
    unread = [found.host for found in looked if found.wrote and not _holds(folder / found.wrote, text)]
    if unread:
        raise StateError(
            f"the driver does not see what {_executor(unread)} writes to the state location {home}; {todo}"
        )


def _check_places(places: Mapping[str, str], looked: Sequence[_Looked]) -> None:
    for path, stream in places.items():
        hosts = [found.host for found in looked if path in found.unseen]
        # What the driver does not see by now either was removed, and concerns nobody.
        if hosts and os.access(path, os.R_OK):
            raise SourceError(
                f"stream {stream!r}: {_executor(hosts)} does not find {path}, or must not read it; {_MOUNT}, or "
                "put the files where all machines reach them, such as s3://…"
            )


def _holds(place: Location, text: str) -> bool:
    try:
        return place.read_bytes() == text.encode()
    except (OSError, pa.ArrowException):
        return False


def _executor(hosts: Iterable[str]) -> str:
    """The executor, or each of several, as the subject of a sentence."""
    found = sorted(set(hosts))
    if not found:
        return "an executor"
    return f"the executor on {found[0]}" if len(found) == 1 else f"each executor on {', '.join(found)}"


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).partition("; ")[0]
