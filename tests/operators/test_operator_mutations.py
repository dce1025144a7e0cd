"""The checks of the operators with state can fail: each planted bug is found by the check the operator passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from panes.delta.delta import WEIGHT, Delta
from panes.delta.rows import with_column
from panes.operators import (
    anti_join,
    join,
    lookup,
    release_on_time,
    rows_window,
    set_operation_by_count,
    set_operation_by_lifetime,
)
from panes.operators.anti_join import AntiJoin
from panes.operators.distinct_star import DistinctStar
from panes.operators.join import Join
from panes.operators.lookup import Lookup
from panes.operators.semi_join import SemiJoin
from panes.operators.set_operation_by_count import SetOperationByCount
from panes.operators.temporal_filter import TemporalFilter
from panes.operators.tools import multiplicities
from panes.operators.tools.numbered_values import NumberedValues
from panes.plan import windows
from panes.state.buffers import keyed_versions
from panes.state.buffers.calendar import Calendar
from panes.state.buffers.chunked import ChunkedBuffer
from panes.state.buffers.lent import Lent
from panes.state.buffers.timer_queue import TimerQueue
from tests.operators.test_distinct_star import check_distinct_star
from tests.operators.test_join import check_join
from tests.operators.test_lookup import check_lookup
from tests.operators.test_semi_and_anti_join import check_anti_join, check_semi_join
from tests.operators.test_set_operations import check_distinct, check_set_operation
from tests.operators.test_temporal_filter import (
    check_offset,
    check_rows_sliding_in_time,
    check_temporal_filter,
)

Check = Callable[[st.DataObject], None]


@dataclass(frozen=True)
class Mutation:
    bug: str
    check: Check
    owner: Any
    name: str
    replacement: Callable[[Any], Any]
    """Makes the wrong thing of the right one."""


def nothing_matches(_: Any) -> Any:
    return lambda _self, _needles, _names: iter(())


def forgotten(_: Any) -> Any:
    return lambda *_, **__: 0


def nothing_kept(_: Any) -> Any:
    return lambda *_: []


def found_nothing(original: Any) -> Any:
    return lambda self, *args, **kwargs: original(self, *args, **kwargs).slice(0, 0)


def one_row_less(original: Any) -> Any:
    def spoiled(*args: Any) -> pa.Table:
        table = original(*args)
        return table.slice(0, max(table.num_rows - 1, 0))

    return spoiled


def only_of_lists(original: Any) -> Any:
    def spoiled(self: Any, state: ChunkedBuffer, columns: Any, **kwargs: Any) -> Any:
        codes, found = original(self, state, columns, **kwargs)
        return (
            (codes[:0], [column[:0] for column in found]) if isinstance(state, Calendar) else (codes, found)
        )

    return spoiled


def as_of_the_end(_: Any) -> Any:
    return lambda self, needles, names: self._lender.matches(needles, names)


def no_delta_meets_delta(_: Any) -> Any:
    none = np.zeros(0, dtype=np.int64)
    return lambda _self, _left, right: (none, right, none)


def everything_passes(_: Any) -> Any:
    return lambda _predicate, table: pa.array(np.ones(table.num_rows, dtype=np.bool_))


def nulls_are_equal(original: Any) -> Any:
    return lambda *args, **kwargs: original(*args, **{**kwargs, "nulls_equal": True})


def last_in_first_out(original: Any) -> Any:
    def spoiled(*args: Any) -> Any:
        code, ts, exp, weight = original(*args)
        return code, ts, exp[::-1], weight

    return spoiled


def nothing_found(_: Any) -> Any:
    none = np.zeros(0, dtype=np.int64)
    return lambda *_: (none, none)


def no_pairs(_: Any) -> Any:
    return lambda self, _left, _right, _since, clock: Delta(self._matched.edge.columns.empty_table(), clock)


def left_as_it_is(_: Any) -> Any:
    def spoiled(self: AntiJoin, left: Delta, *_: Any) -> pa.Table:
        return with_column(left.table, WEIGHT, left.weight).select(self.output.columns.names)

    return spoiled


def twice(original: Any) -> Any:
    return lambda rows: pa.concat_tables([original(rows), original(rows)])


def an_instant_late(original: Any) -> Any:
    return lambda self, rows, times: original(self, rows, times - 1)


def nothing_taken_back(_: Any) -> Any:
    return lambda found, _rows: (pairs.part(pairs.weight > 0) for pairs in found)


def of_nobody(original: Any) -> Any:
    return lambda *rows: original(*rows).slice(1)


def never_ends(original: Any) -> Any:
    return lambda self, at: (original(self, at)[0], np.full(len(at), np.iinfo(np.int64).max))


def at_once(original: Any) -> Any:
    return lambda self, at: (np.full(len(at), np.iinfo(np.int64).min), original(self, at)[1])


def between_slides(_: Any) -> Any:
    return lambda instants, *_: instants


WITH_WEAK_INPUTS = partial(check_set_operation, name="except by lifetimes", strict=False)
EXCEPT = [partial(check_set_operation, name=f"except by {how}") for how in ("counting", "lifetimes")]

MUTATIONS = [
    Mutation("a join does not look at its state", check_join, ChunkedBuffer, "matches", nothing_matches),
    Mutation("rows of one span do not meet", check_join, Join, "_match", no_delta_meets_delta),
    Mutation("a join forgets what it saw", check_join, Join, "_remember", forgotten),
    Mutation("a residual is not looked at", check_join, join, "mask_of", everything_passes),
    Mutation("NULL equals NULL in a join", check_join, Join, "__init__", nulls_are_equal),
    Mutation("a duplicate never takes over", check_distinct_star, DistinctStar, "_continue", one_row_less),
    Mutation("δ* forgets what it shows", check_distinct_star, DistinctStar, "_kept", nothing_kept),
    Mutation(
        "younger duplicates are not kept", check_distinct_star, NumberedValues, "found_in", nothing_found
    ),
    Mutation("δ forgets who leaves", check_distinct, SetOperationByCount, "_schedule", forgotten),
    Mutation("δ forgets its counts", check_distinct, SetOperationByCount, "_note_counts", forgotten),
    Mutation(
        "counts are not read",
        EXCEPT[0],
        set_operation_by_count,
        "_left_right",
        lambda _: lambda c: (c >> 32, c * 0),
    ),
    Mutation("a difference never re-admits", WITH_WEAK_INPUTS, TimerQueue, "due", found_nothing),
    Mutation("what was given is not known", EXCEPT[1], NumberedValues, "stored", only_of_lists),
    Mutation(
        "rows end in the wrong order", EXCEPT[1], set_operation_by_lifetime, "rows_of", last_in_first_out
    ),
    Mutation(
        "an intersection ends too late",
        partial(check_set_operation, name="intersect"),
        multiplicities,
        "_digits",
        lambda original: lambda sums, count: [number + (number > 1) for number in original(sums, count)],
    ),
    Mutation("a semi-join reads what the span left", check_semi_join, Lent, "matches", as_of_the_end),
    Mutation("rows meet the version before theirs", check_lookup, Lookup, "_pairs", an_instant_late),
    Mutation("a lookup forgets changes", check_lookup, Lookup, "_remember", forgotten),
    Mutation("versions take nothing back", check_lookup, lookup, "_netted", nothing_taken_back),
    Mutation("a merge loses a version", check_lookup, keyed_versions, "net_versions", of_nobody),
    Mutation("pairs are not looked at", check_semi_join, SemiJoin, "_matching", no_pairs),
    Mutation("rows that wait are lost", check_anti_join, TimerQueue, "insert", forgotten),
    Mutation("blocked rows are given", check_anti_join, AntiJoin, "_free", left_as_it_is),
    Mutation("a condition on now() never ends", check_temporal_filter, TemporalFilter, "_true", never_ends),
    Mutation("a condition on now() holds at once", check_temporal_filter, TemporalFilter, "_true", at_once),
    Mutation(
        "a condition on now() is tested between slides",
        check_temporal_filter,
        TemporalFilter,
        "_next",
        lambda _: lambda _self, instants: instants,
    ),
    Mutation(
        "a row is lost where others cancel",
        check_temporal_filter,
        release_on_time,
        "consolidate",
        lambda _: lambda delta: Delta(delta.table.slice(0, max(delta.rows - 1, 0)), delta.clock),
    ),
    Mutation("rows do not wait for their time", check_temporal_filter, TimerQueue, "due", found_nothing),
    Mutation(
        "a window with an offset begins at once",
        check_offset,
        windows,
        "_entered",
        lambda _: lambda _ts, seen, _offset: seen,
    ),
    Mutation("a window with an offset loses who waits", check_offset, TimerQueue, "insert", forgotten),
    Mutation("an offset is not rounded to the slide", check_offset, windows, "round_up", between_slides),
    Mutation(
        "a count window moves on between slides",
        check_rows_sliding_in_time,
        rows_window,
        "_at_slides",
        between_slides,
    ),
    Mutation(
        "a count window loses what comes at the slide",
        check_rows_sliding_in_time,
        TimerQueue,
        "insert",
        forgotten,
    ),
    Mutation("a waiting row is given twice", check_anti_join, anti_join, "_to_wait", twice),
]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.bug)
def test_a_planted_bug_is_found(mutation: Mutation, monkeypatch: pytest.MonkeyPatch):
    original = getattr(mutation.owner, mutation.name)
    monkeypatch.setattr(mutation.owner, mutation.name, mutation.replacement(original))

    @settings(
        deadline=None,
        max_examples=400,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        mutation.check(data)

    with pytest.raises(AssertionError):
        check()
