"""What is looked up once for many blocks is what each block would have found by itself."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa

from panes.plan.expressions import Call, Column, Literal
from panes.plan.types import BOOLEAN
from panes.sharing.common_cells import CommonCells
from panes.sharing.member_block import MemberBlock
from panes.sharing.predicates import predicate_of
from panes.sharing.value_cells import AttributeValues, ValueCells
from tests.sharing.drawn import VALUES, drawn


@drawn(40)
def test_a_common_cell_lies_in_the_cell_that_a_block_would_have_found(random: Random) -> None:
    type_, values = VALUES[random.choice(list(VALUES))]
    some = [ValueCells.of(random.sample(values, random.randint(1, len(values))), type_) for _ in range(3)]
    common = ValueCells.common(some)
    looked_up = AttributeValues.of(pa.array([*values, None], type_.arrow), type_)
    located = common.locate(looked_up)
    for cells in some:
        assert (cells.around(common)[located] == cells.locate(looked_up)).all()


@drawn(20)
def test_values_between_the_constants_too(random: Random) -> None:
    type_, _ = VALUES["k"]
    some = [ValueCells.of(random.sample(range(-9, 9, 2), random.randint(1, 6)), type_) for _ in range(4)]
    values = AttributeValues.of(pa.array(range(-12, 12), type_.arrow), type_)
    located = ValueCells.common(some).locate(values)
    for cells in some:
        assert (cells.around(ValueCells.common(some))[located] == cells.locate(values)).all()


def test_the_cells_of_one_block_are_its_own() -> None:
    type_, values = VALUES["i"]
    column = Column(type_, "s.i")
    asked = {
        number: predicate_of(Call(BOOLEAN, "lt", (column, Literal(type_, value))))
        for number, value in enumerate(values)
    }
    one, other = MemberBlock.of(asked), MemberBlock.of({0: asked[0]})
    assert CommonCells([one]).inside(one.attributes[0]) is None
    both = CommonCells([one, other])
    assert both.attributes == 1
    inside = both.inside(other.attributes[0])
    assert inside is not None
    assert set(np.unique(inside)) == set(range(len(other.attributes[0].cells)))
