"""The registered queries of a database: their plans, and the groups that they form."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from math import gcd

from panes.answer_ways import AnswerWays, fact_of_shape
from panes.answers.answer_index import AnswerIndex
from panes.catalog import Catalog, GroupRecord, QueryRecord
from panes.catalog.plan_history import ChosenPlan
from panes.clock import Clock
from panes.config import AUTO, DEADLINE, EAGER, LAZY, NONE, SETTINGS, Value
from panes.errors import CatalogError, SettingError
from panes.language import bind, parse
from panes.language import statements as st
from panes.optimizer.answer_costs import AnswerCosts
from panes.optimizer.choose_answers import choose_answers
from panes.optimizer.cost import PlanCost, plan_cost
from panes.optimizer.optimizer import Rewritten, rewritten
from panes.optimizer.planning import rules_in
from panes.optimizer.shedding.row_costs import RowCosts
from panes.optimizer.statistics import Statistics
from panes.optimizer.utilization import Utilization, percent, utilization
from panes.plan.begin_end import is_begin_end
from panes.plan.durations import duration_text
from panes.plan.nodes import JoinSynopsis, Node, Synopsis
from panes.plan.now import moves_without_tuples
from panes.plan.own_calls import own_calls
from panes.plan.sheddable import why_not_sheddable
from panes.possible_answers import all_sharable, possible_answers, sharable
from panes.query_settings import ChosenAnswers, QuerySettings
from panes.sharing.describe_pairs import describe_pairs
from panes.sharing.group import Group
from panes.sharing.joined_aggregate import joined_aggregate_of
from panes.sharing.pair_reading import pair_reading_of
from panes.sharing.windowed_aggregate import windowed_aggregate_of
from panes.stages.explain import Explained
from panes.stages.measure_log import PIN, MeasureLog
from panes.stages.physical_plan import PhysicalInput, PhysicalPlan
from panes.state.storage.epoch_log import EpochRecord
from panes.stored_plans import StoredPlans, sheds
from panes.synopses.definition import Definition, panes_text, window_of
from panes.synopses.join_definition import pane_of
from panes.synopses.synopsis_of import Reader
from panes.why_not_refreshed import is_refreshed


class Registered:
    """Plans are made once per query and process; groups follow the catalog from epoch to epoch."""

    def __init__(
        self,
        catalog: Catalog,
        row_count: Callable[[str], int],
        statistics: Callable[[], Statistics],
        clock: Clock,
        is_followed: Callable[[int], bool],
    ) -> None:
        """`row_count` gives how many rows a table has, by name; `statistics` what is known when it is asked;
        `is_followed` whether somebody follows the changes of a query, by the id under which it was registered."""
        self._catalog = catalog
        self._plans: dict[int, Rewritten] = {}
        self._physical = StoredPlans(catalog, row_count, statistics, clock)
        self._statistics = statistics
        self._ways = AnswerWays(catalog, self._physical, statistics)
        self._is_followed = is_followed
        self._groups: dict[int, Group] = {}
        self._left: list[int] = []
        """The ids that altered queries had."""

    # Registering.

    def add(self, statement: st.CreateQuery, planned: Rewritten) -> None:
        """Registers a query; it begins with the next epoch."""
        given = statement.given
        settings = _fitting(planned.plan, self._catalog.query_settings(given), given)
        answers = self._answers(planned, settings, given)
        if answers.mode == EAGER:
            # What cannot run is refused before it is registered.
            self._physical.under(settings, planned)
        with self._catalog.transaction():
            record = self._catalog.register(
                statement.name,
                statement.query.sql,
                _number(self._catalog.setting("shards")),
                settings,
                self._template(planned.plan, settings, answers),
                tuple(given),
                answers,
                _synopsis(planned.plan, settings),
                _computes(planned.plan, settings),
            )
            self._begin(record, planned)

    def _template(self, plan: Node, settings: QuerySettings, answers: ChosenAnswers) -> str | None:
        """The key of what a query has in common with those that it may share a plan with; None when it shares
        none. One that is to be kept up to date, or asked of the history, has no part in the store of others."""
        as_chosen = settings._replace(answers=LAZY) if answers.mode == LAZY else settings
        found = sharable(plan, as_chosen, self._catalog)
        if found is None or answers.mode == settings.answers == NONE:
            return None
        if not found.has_store or answers.mode == LAZY:
            return found.key
        if settings.answers == EAGER:
            return None
        # Where there are enough others, this one has no part in their store because that is cheaper.
        is_enough = self._catalog.alike(found.key) + 1 >= int(self._catalog.setting("share_from"))
        return None if is_enough else found.key

    def _answers(
        self, planned: Rewritten, settings: QuerySettings, given: Container[str], origin: int | None = None
    ) -> ChosenAnswers:
        """How the answer of a query is to be had. Raises SettingError where the statement of the query asks for a
        way that it cannot have; where the settings of the database do, there is another one. `origin` is the id
        under which it was registered, if it was."""
        plan = planned.plan
        _fitting(plan, settings, ("expiration",))
        facts = possible_answers(plan, settings, self._catalog)
        reason = None if settings.answers == AUTO else facts.why_not(settings.answers)
        if reason is not None and "answers" in given:
            hint = "leave it out, and what is possible is chosen"
            raise SettingError(f"the query cannot have answers = {settings.answers!r}: {reason}; {hint}")
        if is_refreshed(plan, settings):
            return ChosenAnswers(LAZY, "it is refreshed by deadline, from a synopsis")
        costs = self._ways.costs(planned, settings, origin) if settings.answers == AUTO else None
        if costs is not None:
            # Whoever follows a query that is altered goes on with what it computes then.
            is_own = origin is not None and self._is_followed(origin)
            has_followers = is_own or self._are_followed(fact_of_shape(plan))
            facts = replace(facts, costs=costs, has_followers=has_followers)
        return choose_answers(settings.answers, facts)

    def _are_followed(self, shape: str) -> bool:
        """Whether somebody follows the changes of a query of that shape."""
        followed = (record for record in self._catalog.queries() if self._is_followed(record.origin))
        return any(fact_of_shape(self.plan_of(record)) == shape for record in followed)

    def answer_costs(self, record: QueryRecord) -> AnswerCosts | None:
        """What each way costs to have the answer of a registered query, where it is left open which; None while
        nobody knows how often it is invoked, and where there is no choice."""
        is_open = record.settings.answers == AUTO and record.error is None
        if not is_open or is_refreshed(self.plan_of(record), record.settings):
            return None
        is_member = record.group is not None and record.answers.mode == LAZY
        return self._ways.costs(self._planned(record), record.settings, record.origin, is_member=is_member)

    def cannot_be_kept(self, record: QueryRecord) -> bool:
        """Whether no operators can keep the answer of a query up to date."""
        return is_begin_end(self.plan_of(record))

    def is_followed(self, record: QueryRecord) -> bool:
        """Whether somebody follows the changes of a query."""
        return self._is_followed(record.origin)

    def switch_answers(self, record: QueryRecord, answers: ChosenAnswers) -> QueryRecord:
        """Lets a query have its answer in another way: it begins anew with the next epoch, under another id, and
        is answered from the history until then."""
        planned = self._planned(record)
        with self._catalog.transaction():
            if answers.mode == EAGER:
                self._physical.under(record.settings, planned)
            template = self._template(planned.plan, record.settings, answers)
            synopsis = _synopsis(planned.plan, record.settings)
            computes = _computes(planned.plan, record.settings)
            after = self._catalog.replace_query(record, template, answers, synopsis, computes)
            self._begin(after, planned)
        self._left.append(record.id)
        return after

    def _begin(self, record: QueryRecord, planned: Rewritten) -> None:
        """Makes the physical plan of a query that is new under its id."""
        # A transaction that was undone may have left something under the number.
        self._forget(record.id)
        self._plans[record.id] = planned
        if not record.answers.is_asked_anew:
            self.physical_plan(record)

    def alter(self, plans: Sequence[tuple[QueryRecord, Rewritten]]) -> None:
        """Lets queries that compute something else now, each with its new plan, begin anew with the next epoch.

        The catalog has their texts and settings already, in the transaction that this is a part of.
        """
        for old, planned in plans:
            record = self._catalog.query(old.name)
            answers = self._answers(planned, record.settings, record.given, record.origin)
            template = self._template(planned.plan, record.settings, answers)
            synopsis = _synopsis(planned.plan, record.settings)
            computes = _computes(planned.plan, record.settings)
            self._begin(self._catalog.replace_query(old, template, answers, synopsis, computes), planned)
        # An epoch that is being prepared may still ask for them.
        self._left += [old.id for old, _ in plans]

    def drop(self, name: str) -> QueryRecord:
        """Ends a query; gives what it was."""
        record = self._catalog.drop_query(name)
        self._forget(record.id)
        self._physical.forget(record.plan_number)
        return record

    def _forget(self, number: int) -> None:
        self._plans.pop(number, None)
        self._physical.forget(number)

    def suspend(self, failures: Mapping[int, str]) -> None:
        """Takes what failed out of the epochs that follow: a query, or a plan that queries share.

        Which of the queries that share a plan is to blame shows when each runs by itself. When a plan fails that
        was to replace another, the query goes on with the one that it has.
        """
        queries = self._catalog.queries_by_plan() if failures else {}
        for number, error in failures.items():
            running = queries.get(number, number)
            if self._catalog.fail_plan(number, error):
                self._physical.forget(number)
            elif self._catalog.query_groups.has(running):
                self._catalog.query_groups.dissolve(running, self._without_group(running))
            else:
                self._catalog.suspend(running, error)

    def suspend_query(self, record: QueryRecord, error: str) -> None:
        """Takes a query out of the epochs that follow. Those that share a plan with it go on."""
        self._catalog.suspend(record.id, error)

    def _without_group(self, group: int) -> dict[int, ChosenAnswers]:
        """How the answers of the queries of a group are had when each is by itself."""
        members = [record for record in self._catalog.queries() if record.group == group]
        reason = "what it shared with other queries failed"
        return {
            record.id: ChosenAnswers(NONE if is_begin_end(self.plan_of(record)) else EAGER, reason)
            for record in members
        }

    def resume(self, name: str) -> None:
        """Lets a suspended query begin anew with the next epoch, over what its streams keep."""
        record = self._catalog.resume(name)
        self._physical.forget(record.id)
        self._physical.forget(record.plan_number)

    def set_shards(self, name: str, shards: Value) -> None:
        """Spreads a query, and those that share its plan, over another number of shards from the next epoch on."""
        record = self._catalog.query(name)
        if record.answers.is_asked_anew:
            raise CatalogError(
                f"query {record.name!r} is asked of the history when it is invoked ({record.answers.reason}): "
                "it is not spread over shards"
            )
        self._catalog.set_shards(name, _number(shards))

    def names_of_plans(self) -> dict[int, str]:
        """The same as `names`, by the numbers of the plans that run."""
        numbers = {record.running: record.plan_number for record in self._catalog.queries()}
        return {numbers[running]: name for running, name in self.names().items()}

    def names(self) -> dict[int, str]:
        """What runs is called: queries on their own, and the plans that others share, with how many do. Of queries
        that are equal it is the first one."""
        names: dict[int, str] = {}
        members: dict[int, int] = {}
        for record in self._catalog.queries():
            if record.group is None:
                names.setdefault(record.id, record.name)
            else:
                members[record.group] = members.get(record.group, 0) + 1
        return names | {group: f"shared by {count} queries ({group})" for group, count in members.items()}

    # Plans.

    def plan_of(self, record: QueryRecord) -> Node:
        """The optimized logical plan of a query."""
        return self._planned(record).plan

    def _planned(self, record: QueryRecord) -> Rewritten:
        if record.id not in self._plans:
            (query,) = parse(record.sql)
            assert isinstance(query, st.SelectQuery), record.sql
            rules_off = rules_in(record.settings.rules_off)
            self._plans[record.id] = rewritten(bind(query, self._catalog), rules_off)
        return self._plans[record.id]

    def physical_plan(self, record: QueryRecord) -> PhysicalPlan:
        """What runs a query: its own plan, or that of the group whose plan it shares."""
        # What a group needs is put together of all of its queries, so only where there is no plan yet.
        found = self._physical.numbered(record.plan_number)
        return found or self._physical.made(record, self._to_run(record))

    def _to_run(self, record: QueryRecord, runs: Node | None = None) -> Rewritten:
        """The logical plan of a query, or that of its group, which follows the one that runs."""
        planned = self._planned(record)
        if record.group is None:
            return planned
        group = self.group(record.group, planned.plan)
        return replace(planned, plan=group.plan(str(self._catalog.setting("synopsis")), runs))

    def successor(self, number: int) -> PhysicalPlan:
        """The plan of that number, which is to replace the one of a query."""
        found = self._physical.numbered(number)
        assert found is not None, f"plan {number} is in the catalog as long as it is to begin"
        return found

    def synopsis(self, group: GroupRecord) -> Synopsis | JoinSynopsis | None:
        """The synopsis that the queries of a group share; None when they share something else."""
        found = self._physical.numbered(group.plan_number)
        plan = None if found is None else found.plan
        return plan if isinstance(plan, (Synopsis, JoinSynopsis)) else None

    def newest_plan(self, record: QueryRecord) -> PhysicalPlan:
        """The plan that runs a query after the switch that is under way, if one is."""
        number = self._catalog.newest_plan(record)
        return self.physical_plan(record) if number == record.plan_number else self.successor(number)

    def chosen_now(self, record: QueryRecord) -> PhysicalPlan:
        """The plan that a query of its own would get now, under its settings."""
        return self._physical.chosen_now(record, self._planned(record))

    def replace_plan(self, record: QueryRecord, plan: PhysicalPlan, chosen: ChosenPlan) -> None:
        """Lets a query go on with another plan, which the next epoch begins."""
        self._physical.replace(record, plan, chosen)

    def group(self, number: int, plan: Node) -> Group:
        """The group of that number; `plan` is that of one of its queries."""
        if number not in self._groups:
            groups = self._catalog.query_groups
            key, is_synopsis = groups.template_of(number), groups.is_synopsis(number)
            self._groups[number] = Group.of(plan, key, is_synopsis=is_synopsis)
        return self._groups[number]

    def begin_group_anew(self, number: int, member: QueryRecord, epoch: int, reason: str) -> None:
        """Lets the queries of a group go on with a plan that has what all of them need, from an epoch on; `member`
        is one of them."""
        runs = self.physical_plan(member).plan
        self._physical.begin_group_anew(number, member, self._to_run(member, runs), epoch, reason)

    def keep_groups(self, numbers: Set[int]) -> None:
        """Lets go of all other groups, and of what queries were before they were altered."""
        while self._left:
            self._forget(self._left.pop())
        for number in self._groups.keys() - numbers:
            del self._groups[number]

    def keep_plans(self, numbers: Set[int]) -> None:
        """Lets go of all other physical plans."""
        self._physical.keep(numbers)

    # Shedding.

    def why_not_shed(self, record: QueryRecord) -> str | None:
        """Why no rows are dropped for a query that was registered under a setting that lets others shed; None when
        they may be, or when it was registered not to."""
        return why_not_sheddable(self.plan_of(record)) if record.settings.shed == AUTO else None

    def not_shed(self) -> dict[str, str]:
        """The queries that do not shed though they were registered under a setting that lets others, with why."""
        reasons = {record.name: self.why_not_shed(record) for record in self._catalog.queries()}
        return {name: reason for name, reason in reasons.items() if reason is not None}

    def kept_now(self, record: QueryRecord, latest: EpochRecord | None) -> Mapping[str, float]:
        """The shares that the drop boxes of a query keep of the newest rows, by stream, where they ever kept less
        than everything of what its windows hold."""
        boxes = {} if latest is None else latest.boxes.get(record.running, {})
        streams = self._catalog.base_streams() if boxes else ()
        return {stream.name: boxes[stream.number].share for stream in streams if stream.number in boxes}

    # Explaining.

    def explained(self, name: str, latest: EpochRecord | None, measures: MeasureLog | None) -> Explained:
        """What runs a registered query, with what its steps did if `measures` are to be shown."""
        record = self._catalog.query(name)
        plan = self.plan_of(record)
        if record.answers.is_asked_anew:
            return Explained(plan, answers=record.answers, ways=self._ways_of(record))
        number = record.plan_number
        pin = None if latest is None else latest.pins.get(PIN)
        shown = Explained(
            self.physical_plan(record),
            1 if record.settings.is_alone else record.shards,
            sum(other.group == record.group for other in self._catalog.queries()) if record.group else 0,
            self._shared_with_others(number),
            None if measures is None else measures.of_query(pin, number),
            number=number,
            query=None if record.group is None else plan,
            kept=self.kept_now(record, latest),
            expiration=record.settings.expiration,
            index=AnswerIndex.of(record.settings),
            answers=record.answers,
            ways=self._ways_of(record),
            equals=self._catalog.equal_queries(record),
            refresh=self._refresh_of(record),
            store=self._store(record),
            stream_indexes=self._stream_indexes(record),
            synopsis_after=self._synopsis_after(record),
        )
        costs = self._costs()
        return self._with_cost(shown, costs.pop(number), costs.values())

    def _ways_of(self, record: QueryRecord) -> str:
        """What the rates are and what each way costs, in words; nothing while that is not known."""
        costs = self.answer_costs(record)
        return "" if costs is None else str(costs)

    def _refresh_of(self, record: QueryRecord) -> str:
        """By which deadline the answer of a query is refreshed, in words; nothing when it is at every slide."""
        pane_us = self.refreshed_panes(record)
        reader = _reader_of_panes(self.plan_of(record))
        if pane_us is None or reader is None:
            return ""
        updates = reader.slide_us // pane_us
        return (
            f"after at most {updates} {'update' if updates == 1 else 'updates'} of the synopsis, every "
            f"{duration_text(pane_us)}; schedule {self._catalog.setting('schedule')!r}"
        )

    def refreshed_panes(self, record: QueryRecord) -> int | None:
        """The length of the panes of the synopsis that a query is refreshed from by deadline; None when it is
        computed at every slide."""
        if record.group is None or record.settings.refresh != DEADLINE:
            return None
        plan = self.physical_plan(record).stages[-1].plan
        reader = _reader_of_panes(self.plan_of(record))
        if not isinstance(plan, (Synopsis, JoinSynopsis)) or reader is None:
            return None
        pane_us = pane_of(plan) if isinstance(plan, JoinSynopsis) else window_of(plan).slide_us or 0
        # A synopsis with longer panes begins anew with the next epoch.
        return gcd(pane_us, *reader.lengths)

    def _synopsis_after(self, record: QueryRecord) -> str:
        """The synopsis that the next epoch begins in the place of the one that runs, because its queries need more
        of it, in words; nothing when the one that runs has all."""
        plan = self.physical_plan(record).plan
        if record.group is None or not isinstance(plan, Synopsis):
            return ""
        members = [other for other in self._catalog.queries() if other.group == record.group]
        found = [windowed_aggregate_of(self.plan_of(member)) for member in members]
        readers = [reading.reader for reading in found if reading is not None]
        known = Definition.from_node(plan, readers[0].source)
        if all(known.covers(reader) for reader in readers):
            return ""
        form = str(self._catalog.setting("synopsis"))
        after = Definition.of(readers, known).node(form, len(readers))
        return f"begins anew with the next epoch: {panes_text(after)}"

    def _store(self, record: QueryRecord) -> str:
        """What is kept for the queries of a group, in words; nothing where the plan says it."""
        if record.group is None or pair_reading_of(self.plan_of(record)) is None:
            return ""
        members = [other for other in self._catalog.queries() if other.group == record.group]
        return describe_pairs([self.plan_of(member) for member in members])

    def _stream_indexes(self, record: QueryRecord) -> tuple[str, ...]:
        """The indexes in which the queries of a group are with those of other groups, in words."""
        if record.group is None:
            return ()
        queries: dict[str, Counter[int]] = {}
        for other in self._catalog.queries():
            if other.group is not None:
                for stream in self.physical_plan(other).matched_streams:
                    queries.setdefault(stream, Counter())[other.group] += 1
        return tuple(
            f"index of {stream}: {sum(groups.values()):,} queries of {len(groups):,} groups; a value is looked up "
            "once for all"
            for stream, groups in sorted(queries.items())
            if record.group in groups and len(groups) > 1
        )

    def explained_plan(self, planned: Rewritten) -> Explained:
        """What would run a query that is not registered, under the settings of now."""
        settings = _fitting(planned.plan, self._catalog.query_settings(), ())
        answers = self._answers(planned, settings, ())
        if answers.is_asked_anew:
            return Explained(planned.plan, answers=answers)
        template = sharable(planned.plan, settings, self._catalog) if answers.mode == LAZY else None
        if template is not None:
            planned = replace(planned, plan=template.plan)
        physical = self._physical.under(settings, planned)
        shards = 1 if settings.is_alone else _number(self._catalog.setting("shards"))
        shown = Explained(
            physical,
            shards,
            0 if template is None else self._catalog.alike(template.key) + 1,
            query=None if template is None else template.example,
            expiration=settings.expiration,
            answers=answers,
        )
        return self._with_cost(shown, self._cost(physical, shown.shards), self._costs().values())

    def utilization(self) -> Utilization:
        """How busy all queries that run keep the cluster."""
        return utilization(self._costs().values(), self._catalog.marks.cores)

    def cost_of_rows(self, without: Set[int]) -> float:
        """What rows cost, in CPU seconds per second of event time: to read all streams, and to run all plans but
        those of these numbers."""
        statistics, costs = RowCosts(self._statistics().facts), []
        for number, (plan, shards) in self._running_plans().items():
            cost = plan_cost(plan, statistics, shards=shards or self._catalog.marks.cores or 1)
            costs.append(PlanCost({}, ingest=cost.ingest) if number in without else cost)
        return utilization(costs, self._catalog.marks.cores).busy

    def _with_cost(self, shown: Explained, mine: PlanCost, others: Iterable[PlanCost]) -> Explained:
        together = utilization([mine, *others], self._catalog.marks.cores)
        own = utilization([mine], self._catalog.marks.cores)
        text = f"{together}; this query {percent(own.share)}"
        return replace(shown, expected={**mine.steps, **mine.shuffles}, utilization=(text,))

    def _costs(self) -> dict[int, PlanCost]:
        """What the plans that run are expected to cost."""
        return {number: self._cost(plan, shards) for number, (plan, shards) in self._running_plans().items()}

    def _cost(self, plan: PhysicalPlan, shards: int | None) -> PlanCost:
        return plan_cost(plan, self._statistics(), shards=shards or self._catalog.marks.cores or 1)

    def _running_plans(self) -> dict[int, tuple[PhysicalPlan, int | None]]:
        """The plans that epochs run, with the number of shards of each."""
        plans: dict[int, tuple[PhysicalPlan, int | None]] = {}
        for record in self._catalog.queries():
            if record.plan_number not in plans and not record.answers.is_asked_anew:
                plans[record.plan_number] = self.physical_plan(record), record.shards
        return plans

    def _shared_with_others(self, number: int) -> Mapping[str, int]:
        """For each thing that is computed before a shuffle, how many other plans compute it too."""
        plans = self._running_plans()
        mine = {(source.stream, source.table) for source in _inputs(plans.pop(number)[0])}
        found: Counter[str] = Counter()
        for plan, _ in plans.values():
            # The same steps over another stream or table compute something else.
            inputs = (source for source in _inputs(plan) if (source.stream, source.table) in mine)
            found.update({digest for source in inputs for digest in source.fragment.digests})
        return found


def _inputs(plan: PhysicalPlan) -> Iterator[PhysicalInput]:
    return (source for stage in plan.stages for source in stage.inputs)


def _reader_of_panes(plan: Node) -> Reader | None:
    """What a query needs of a synopsis, over one stream or over a join; None when it is read from none."""
    reading = windowed_aggregate_of(plan) or joined_aggregate_of(plan)
    return None if reading is None else reading.reader


def _fitting(plan: Node, settings: QuerySettings, given: Container[str]) -> QuerySettings:
    """The settings with an expiration that the plan can have.

    With 'input_triggered' nothing happens without a tuple, so it does not go with what enters or leaves by time
    alone. Raises SettingError when the statement of the query asks for both.
    """
    if not settings.is_input_triggered or not moves_without_tuples(plan):
        return settings
    if "expiration" in given:
        raise SettingError(
            "expiration = 'input_triggered' goes by the tuples that come, and rows of a window with OFFSET or of "
            "a condition on now() come and go without one; leave it out, or choose another"
        )
    return settings._replace(expiration=str(SETTINGS["expiration"].default))


def _synopsis(plan: Node, settings: QuerySettings) -> str | None:
    """The key of the synopsis that a query could be computed from; None when there can be none."""
    found = (template.key for template in all_sharable(plan, settings) if template.source is not None)
    return next(found, None)


def _computes(plan: Node, settings: QuerySettings) -> str | None:
    """What is the same, in every process, for queries with equal plans; None where a query has something of its
    own: drop boxes, or a function of a user, which fails for one query when it fails."""
    is_its_own = bool(own_calls(plan)) or sheds(plan, settings)
    return None if is_its_own else hashlib.sha256(repr(plan).encode()).hexdigest()


def _number(shards: Value) -> int | None:
    """The number of shards that a setting says; None: as many as the cluster has cores."""
    return None if shards == AUTO else int(shards)
