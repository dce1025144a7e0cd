"""What a join is answered from the store is what SQL gives over its windows, for queries that come and go."""

from __future__ import annotations

import os
from random import Random

import pyarrow as pa

from panes.delta.consolidate import AT
from panes.delta.delta import WEIGHT
from panes.history.retention import Retained
from panes.testing import Oracle, counted, same_rows
from tests.properties.running import connection
from tests.properties.streams import Arrivals
from tests.sharing.drawn import drawn
from tests.sharing.drawn_joins import Joined
from tests.sharing.shared_pairs import Member, SharedPairs, reading_of

CASES = int(os.environ.get("PANES_JOIN_CASES", "20"))
"""Sets of queries that are drawn."""


@drawn(CASES)
def test_joins_are_answered_as_sql_does_while_queries_come_and_go(random: Random) -> None:
    arrivals = Arrivals.drawn(random, 40, 5)
    if random.random() < 0.6:
        arrivals = arrivals.out_of_order(random)
    joined = Joined.drawn(random)
    retain = Retained(random.choice((None, None, 1000, 1000)))
    store = SharedPairs(reading_of(joined.query(random)).join, random.choice((1, 1, 3)), retain)
    oracle = Oracle(arrivals.streams, connection())
    for number, (came, since, clock) in enumerate(arrivals.spans()):
        new = drawn_members(random, joined, number)
        for query in random.sample(list(store.members), min(len(store.members), random.choice((0, 0, 1, 2)))):
            del store.members[query]
        store.run(came, since, new)
        if random.random() < 0.3:
            store.restart()
        for query in random.sample(list(store.members), min(2, len(store.members))):
            check(random, store, oracle, query, since, clock)


def drawn_members(random: Random, joined: Joined, epoch: int) -> dict[int, Member]:
    plans = [joined.query(random) for _ in range(random.randint(0 if epoch else 1, 3))]
    return {100 * epoch + n: Member.of(plan) for n, plan in enumerate(plans)}


def check(random: Random, store: SharedPairs, oracle: Oracle, query: int, since: int, clock: int) -> None:
    member = store.members[query]
    difference = same_rows(store.answer(query, clock), oracle.answer_at(member.plan, clock))
    assert difference is None, f"{member.plan} at {clock}: {difference}"
    begin = max(since, clock - 25)
    changes = store.changes(query, begin, clock)
    contents = counted(oracle.answer_at(member.plan, begin))
    at = changes.column(AT).to_numpy()
    instants = {random.randint(begin + 1, clock), clock}
    for now in range(begin + 1, clock + 1):
        mine = changes.filter(pa.array(at == now))
        for weight in (1, -1):
            part = mine.filter(pa.array(mine.column(WEIGHT).to_numpy() == weight)).drop_columns([AT, WEIGHT])
            contents.update({row: weight * count for row, count in counted(part).items()})
        if now in instants:
            assert +contents == counted(oracle.answer_at(member.plan, now)), f"{member.plan} at {now}"
