"""What `db.run()` returns: how much came, and what of it was left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from panes.ingest.likely_unit import likely_unit
from panes.plan.stream import Stream
from panes.state.storage.epoch_log import NOTHING, EpochRecord, StreamProgress


@dataclass(frozen=True)
class RunReport:
    """What a run has taken in; `str` gives it in one line.

    `rows` counts all rows that came, `late` those that came later than SLACK allows, and `rejected` those that
    could not be used, each by stream where there are any; `bad_files` counts the files that could not be read.
    `suspended` are the queries that failed during the run, with the reason.
    """

    rows: int = 0
    epochs: int = 0
    late: Mapping[str, int] = field(default_factory=dict)
    rejected: Mapping[str, int] = field(default_factory=dict)
    bad_files: Mapping[str, int] = field(default_factory=dict)
    suspended: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    """What looks like a mistake though nothing was left out, a sentence each."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing was left out and nothing looks like a mistake."""
        return not (self.late or self.rejected or self.bad_files or self.suspended or self.warnings)

    def __str__(self) -> str:
        return "; ".join([f"{_count(self.rows, 'row')} in {_count(self.epochs, 'epoch')}", *self._left_out()])

    def __repr__(self) -> str:
        return f"<RunReport: {self}>"

    @property
    def problem(self) -> str:
        """What was left out and where to find it, in one line; empty when the run `is_complete`."""
        parts = list(self._left_out())
        looks = [
            f"db.{method}({stream!r})"
            for method, found in (
                ("late_rows", self.late),
                ("bad_rows", self.rejected),
                ("bad_files", self.bad_files),
            )
            for stream in found
        ]
        looks += [f"ALTER QUERY {name} RESUME" for name in self.suspended]
        return "; ".join(parts) + (f" (see {', '.join(looks)})" if looks else "")

    def _left_out(self) -> Iterable[str]:
        for found, one, many in (
            (self.late, "late row", "late rows"),
            (self.rejected, "rejected row", "rejected rows"),
            (self.bad_files, "bad file", "bad files"),
        ):
            if found:
                each = ", ".join(f"{_count(n, one, many)} of {stream}" for stream, n in found.items())
                yield each
        if self.suspended:
            yield f"suspended: {', '.join(self.suspended)}"
        yield from self.warnings


def run_report(
    before: EpochRecord | None,
    after: EpochRecord | None,
    streams: Iterable[Stream],
    failed_before: Iterable[str],
    failed: Mapping[str, str],
) -> RunReport:
    """The report of a run between two committed epochs; `failed` are the queries suspended after it, by name."""
    first, last = before or NOTHING, after or NOTHING
    rows, warnings = 0, []
    late: dict[str, int] = {}
    rejected: dict[str, int] = {}
    bad_files: dict[str, int] = {}
    for stream in streams:
        old = first.streams.get(stream.number, StreamProgress())
        new = last.streams.get(stream.number, StreamProgress())
        rows += new.rows - old.rows
        for found, more in (
            (late, new.late - old.late),
            (rejected, new.bad - old.bad),
            (bad_files, new.bad_files - old.bad_files),
        ):
            if more:
                found[stream.name] = more
        if new.rows > old.rows and (problem := likely_unit(stream, new.max_ts)):
            warnings.append(problem)
    known = set(failed_before)
    suspended = {name: reason for name, reason in failed.items() if name not in known}
    return RunReport(rows, last.epoch - first.epoch, late, rejected, bad_files, suspended, tuple(warnings))


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
