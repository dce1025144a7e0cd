"""The queries that share a plan, as tasks see them: the indexes of their predicates, in files.

An index of thousands of queries is not small. It is written when the set of queries changes, and a worker that has
read it keeps it for the epochs that follow.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from panes.sharing.query_index import QueryIndex
from panes.state.files import make_folder, write_bytes

_OPEN = 16
"""So many indexes a worker keeps."""

_open: OrderedDict[Path, Sequence[QueryIndex]] = OrderedDict()


@dataclass(frozen=True)
class Members:
    """The queries of a group: files with an index for each stream of the plan."""

    all: Path
    fresh: Path | None = None
    """Of those that begin in this epoch, if there are any."""
    retained_us: int | None = None
    """Of selections: for how long tuples are kept; None for ever."""


def write_indexes(path: Path, indexes: Sequence[QueryIndex]) -> None:
    """Stores indexes under a name that is theirs alone: workers never look at a file twice."""
    content = pickle.dumps([index.to_ship() for index in indexes], protocol=pickle.HIGHEST_PROTOCOL)
    make_folder(path.parent)
    write_bytes(path, content)


def read_indexes(path: Path) -> Sequence[QueryIndex]:
    """The indexes of a file, by scan number."""
    if path in _open:
        _open.move_to_end(path)
    else:
        _open[path] = pickle.loads(path.read_bytes())
        while len(_open) > _OPEN:
            _open.popitem(last=False)
    return _open[path]
