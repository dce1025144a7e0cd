"""The groups of queries that share a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from panes.catalog.marks import Marks
from panes.catalog.query_record import GroupRecord
from panes.catalog.settings_columns import SETTINGS_COLUMNS, SETTINGS_DEFINED, marks_for
from panes.query_settings import ChosenAnswers, QuerySettings
from panes.sqlite_file import SqliteFile

_SHARDS = "(shards, follows_cores) = (SELECT shards, follows_cores FROM groups WHERE id = group_id)"
"""What a query has that leaves its group."""


class QueryGroups:
    """The table of groups in the file of the catalog; `group_id` of the table of queries says who is in which."""

    SCHEMA = f"""CREATE TABLE groups (
  id INTEGER PRIMARY KEY, template TEXT NOT NULL, shards INTEGER, follows_cores INTEGER NOT NULL,
  {SETTINGS_DEFINED}, first_epoch INTEGER, plan_number INTEGER, plan_epoch INTEGER,
  UNIQUE (template, {SETTINGS_COLUMNS}));"""

    def __init__(self, file: SqliteFile, marks: Marks) -> None:
        self._file, self._marks = file, marks
        self._select, self._execute = file.select, file.execute

    def of(self, template: str, shards: int | None, settings: QuerySettings) -> int:
        """The group of a template and settings, which is made when there is none."""
        settings = settings.of_group
        of_key = f"(template, {SETTINGS_COLUMNS}) = ({marks_for((template, *settings))})"
        found = self._select(f"SELECT id FROM groups WHERE {of_key}", template, *settings)
        if found:
            return int(found[0][0])
        number = self._marks.take_number()
        values = (number, template, *settings, shards, shards is None)
        columns = f"id, template, {SETTINGS_COLUMNS}, shards, follows_cores"
        self._execute(f"INSERT INTO groups ({columns}) VALUES ({marks_for(values)})", *values)
        return number

    def has(self, number: int) -> bool:
        """Whether queries share a plan under that number."""
        return bool(self._select("SELECT 1 FROM groups WHERE id = ?", number))

    def template_of(self, group: int) -> str:
        """The key of what the queries of a group have in common."""
        ((template,),) = self._select("SELECT template FROM groups WHERE id = ?", group)
        return str(template)

    def is_synopsis(self, group: int) -> bool:
        """Whether the queries of a group share a synopsis."""
        alike = "SELECT 1 FROM queries, groups WHERE group_id = groups.id AND synopsis = groups.template"
        return bool(self._select(f"{alike} AND groups.id = ? LIMIT 1", group))

    def begun(self) -> list[GroupRecord]:
        """The groups that have begun."""
        columns = "id, shards, first_epoch, coalesce(plan_number, id), coalesce(plan_epoch, first_epoch)"
        rows = self._select(f"SELECT {columns} FROM groups WHERE first_epoch IS NOT NULL ORDER BY id")
        return [GroupRecord(*row) for row in rows]

    def begin(self, epoch: int) -> None:
        """Lets the groups begin with an epoch that no epoch has run yet."""
        self._execute("UPDATE groups SET first_epoch = ? WHERE first_epoch IS NULL", epoch)

    def set_plan(self, group: int, number: int, epoch: int) -> None:
        """Notes the number of the plan that runs a group from an epoch on."""
        self._execute("UPDATE groups SET plan_number = ?, plan_epoch = ? WHERE id = ?", number, epoch, group)

    def forget_unused(self) -> bool:
        """Takes the groups away that no query is in; False when there are none of those."""
        used = "SELECT group_id FROM queries WHERE group_id IS NOT NULL"
        return bool(self._execute(f"DELETE FROM groups WHERE id NOT IN ({used})"))

    def dissolve(self, group: int, answers: Mapping[int, ChosenAnswers]) -> None:
        """Lets the queries of a group go on without it: each begins anew, by itself, with the next epoch.

        `answers` says how the answer of each is had from then on.
        """
        alone = "group_id = NULL, template = NULL, synopsis = NULL, first_epoch = NULL, first_clock = NULL"
        with self._file.transaction():
            for query, chosen in answers.items():
                self._execute(
                    "UPDATE queries SET mode = ?, why_mode = ?, mode_since = ? WHERE id = ?", *chosen, query
                )
            self._execute(f"UPDATE queries SET {alone}, {_SHARDS} WHERE group_id = ?", group)

    def leave(self, queries: Iterable[int], answers: ChosenAnswers) -> None:
        """Lets some queries of a group, which no epoch has run yet, begin by themselves; `answers` says how their
        answers are had from then on."""
        alone = "group_id = NULL, template = NULL, synopsis = NULL, mode = ?, why_mode = ?, mode_since = ?"
        with self._file.transaction():
            for query in queries:
                self._execute(f"UPDATE queries SET {_SHARDS}, {alone} WHERE id = ?", *answers, query)
