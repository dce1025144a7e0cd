"""When drop boxes are set and lifted, decided after each epoch from how long epochs take.

What tells of load? The CPU time of operators leaves out what Spark does. The seconds of epochs for each second of
event time are about one in any steady state, because an epoch takes in what came while the last one ran. But an
epoch takes a + u · e seconds, where e is the event time that it takes in, a what every epoch takes, and u what a
second of the streams takes. With u below 1 epochs settle at a / (1 - u) seconds, and answers are up to twice that
behind. So the load is what epochs of a fixed length would take of their time, a / length + u: that counts what is
there once per epoch, and is compared with what is allowed of the whole machine.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import fmean, median

from panes.optimizer.shedding.boxes import Boxes
from panes.optimizer.shedding.drop_boxes import drop_boxes
from panes.optimizer.shedding.posynomial import Box, Posynomial

LEAST = 0.01
"""The share that a box keeps at least: nothing could be estimated from nothing."""
_LENGTH_S = 1.0
"""How long epochs are to be, unless what every epoch takes is more than half of what is allowed of that."""
_UNKNOWN = 0.65
"""Which part of an epoch every one is taken to need, until epochs of different lengths tell."""
_LAG_S = 1.0
"""How much more than an epoch answers may be behind."""
_CATCH_UP_S = 10.0
"""In about how many seconds answers that are further behind are to be up to date again."""
_LOWEST = 0.8
"""As which part of itself what is allowed counts at least while answers are behind and boxes are set. Without
boxes, a pause of the machine or a backlog is no reason to shed."""
_WARM_UP = 3
"""The epochs at the beginning of a run that tell nothing: processes start, and code is compiled."""
_SURE = 2
"""How many epochs in a row, and seconds of the streams, must be above what is allowed. One is enough where many
more rows came than usual: a pause of the machine brings no rows."""
_SURGE = 1.5
"""By which factor more rows per second are many more than usual."""
_USUAL = 0.8
"""How much of the usual rate of rows is still what it was before an epoch."""
_CALM = 8
"""How many epochs, and seconds of the streams, must be below, before boxes are lifted."""
_CALM_AT_MOST, _CALM_IF_LOW = 128, 8
"""The most of them after lifts that came too early: where the load is just below what is allowed, and where it is
low."""
_MARGIN = 0.85
"""Which part of what is allowed boxes are set for, so that noise does not set them again."""
_IS_CALM, _IS_LOW = 0.5, 0.25
"""Below which part of what is allowed boxes are lifted, and the load is low, without what every epoch takes."""
_LONGER = 1.25
"""By which factor an epoch must be longer than another one to tell what the difference takes."""
_PART_OF_EPOCH = 0.4, 0.95
"""Which part of the shortest epoch is at least and at most what every epoch takes."""
_BESIDE = 2.0
"""How much all work for rows takes at most, for each second that operators are busy: Spark moves them, too."""
_KEPT = 0.8
"""How much of what every epoch takes is still what it was before an epoch."""
_STEP, _STEP_IF_LOW = 2.0, 4.0
"""By which factor a share grows at most when it is lifted, and where the load is low."""
_WORTH = 1.1
"""By which factor a share must grow at least, so that it is worth a change."""
_RECENT = 24
"""How many epochs are remembered."""


@dataclass(frozen=True)
class EpochLoad:
    """What an epoch tells of the load."""

    seconds: float
    """Wall time that it took."""
    event_seconds: float
    """Event time that it took in."""
    passed: float
    """Wall time since the epoch before it began: what came then is what it took in, if there was no backlog."""
    lag: float = 0.0
    """Wall time at its end, less the newest event time that it took in."""
    rows: float = 1.0
    """How many came."""
    busy: float = float("inf")
    """The CPU seconds that the operators of all queries took, divided by the number of cores."""

    @property
    def took_in(self) -> float:
        """The seconds of the streams that it has done: event time where that goes faster, as when a backlog is
        taken in, and else wall time, as that of some sources goes slower."""
        return max(self.event_seconds, self.passed)


@dataclass(frozen=True)
class Sheddable:
    """What boxes can change, by the cost model."""

    cost: Posynomial
    """CPU seconds per second of event time that rows take; what no box can change is a constant in it."""
    outputs: Mapping[Hashable, Posynomial]
    """Rows per second that the answers of queries are made of."""
    priorities: Mapping[Hashable, float] = field(default_factory=dict)


@dataclass
class Controller:
    """Decides what boxes keep; remembers a few epochs.

    Boxes are set as soon as two epochs in a row are above what is allowed, or one in which many more rows came
    than usual. They are lifted by steps, each after several calm epochs and after windows have filled with what
    the boxes keep now. When lifting was too early, it waits twice as long the next time.
    """

    fixed: float = 0.0
    """Seconds that every epoch takes, as far as is known."""
    problem: str = ""
    """Why the load is too high in spite of the boxes; empty when it is not."""
    _epochs: int = 0
    _recent: list[EpochLoad] = field(default_factory=list)
    """The epochs since boxes were changed."""
    _rate: float | None = None
    """The rows per second that usually come."""
    _is_surge: bool = False
    """Whether many more came in the last epoch."""
    _since: tuple[int, float] = 0, 0.0
    """How many epochs ago boxes were changed, and how much event time."""
    _delay: float = float("inf")
    """How far the source itself is behind: the least that was seen, so that a source that is always late, or plays
    back the past, does not look like load."""
    _calm: int = _CALM
    _was_lifted: bool = False

    def after(
        self,
        epoch: EpochLoad,
        shares: Mapping[Box, float],
        allowed: float,
        windows: float,
        sheddable: Callable[[], Sheddable],
    ) -> Mapping[Box, float] | None:
        """What boxes are to keep from the next epoch on; None when all stays as it is.

        `shares` is what they kept in the epoch that has ended, `allowed` the load that is allowed, as a share of
        the machine, and `windows` the seconds that the longest windows are long. `sheddable` takes some time, and
        is asked only when something may change.
        """
        self._observe(epoch)
        if self._epochs <= _WARM_UP or not shares:
            return None
        is_shed = any(share < 1 for share in shares.values())
        last = self._recent[-1:] if self._is_surge else self._last(_SURE)
        if last:
            behind = min(self._behind(one, allowed) for one in last) if is_shed else 0.0
            allowed_now = allowed * max(_LOWEST, 1 / (1 + behind / _CATCH_UP_S))
            if min(self.load([one], allowed) for one in last) > allowed_now:
                return self._set(shares, self.load(last, allowed), allowed, allowed_now, sheddable())
        if is_shed and self._is_calm(allowed, windows):
            return self._lifted(shares, self.load(self._last(_CALM), allowed), allowed, sheddable())
        return None

    def load(self, epochs: Sequence[EpochLoad], allowed: float) -> float:
        """The share of the machine that is needed, as some epochs tell it together."""
        took_in = sum(epoch.took_in for epoch in epochs)
        seconds = sum(min(max(0.0, epoch.seconds - self.fixed), _BESIDE * epoch.busy) for epoch in epochs)
        return self.fixed / self._length(allowed) + (seconds / took_in if took_in else 0.0)

    def _least_load(self, epochs: Sequence[EpochLoad], allowed: float) -> float:
        """The load, or less where epochs are short: what every epoch takes may be more of them than is known."""
        length = fmean(epoch.seconds for epoch in epochs)
        return min(self.load(epochs, allowed), length / self._length(allowed))

    def _last(self, least: int) -> list[EpochLoad]:
        """The last epochs, at least as many, which took in at least as many seconds; none when there are fewer."""
        took_in = 0.0
        for count, epoch in enumerate(reversed(self._recent), start=1):
            took_in += epoch.took_in
            if count >= least and took_in >= least:
                return self._recent[-count:]
        return []

    def _length(self, allowed: float) -> float:
        return max(_LENGTH_S, 2 * self.fixed / allowed)

    def _behind(self, epoch: EpochLoad, allowed: float) -> float:
        """By how many seconds answers were further behind than they may be, after an epoch."""
        return max(0.0, epoch.lag - self._delay - self._length(allowed) - _LAG_S)

    def _observe(self, epoch: EpochLoad) -> None:
        self._epochs += 1
        self._since = self._since[0] + 1, self._since[1] + epoch.took_in
        self._delay = min(self._delay, max(0.0, epoch.lag - epoch.seconds))
        self._recent = [*self._recent[1 - _RECENT :], epoch]
        rate = epoch.rows / epoch.took_in if epoch.took_in else 0.0
        usual = rate if self._rate is None else self._rate
        self._is_surge = rate > _SURGE * usual
        self._rate = _USUAL * usual + (1 - _USUAL) * rate
        if epoch.rows and self._epochs > _WARM_UP:
            found = _fixed([one for one in self._recent if one.rows], self.fixed)
            self.fixed = _KEPT * self.fixed + (1 - _KEPT) * found if self.fixed else found

    def _is_calm(self, allowed: float, windows: float) -> bool:
        epochs, seconds = self._since
        last = self._last(_CALM)
        if not last or seconds < windows or self._behind(last[-1], allowed):
            return False
        if self._is_below(_IS_LOW, last, allowed):
            return epochs >= min(self._calm, _CALM_IF_LOW)
        return epochs >= self._calm and self._is_below(_IS_CALM, self._recent, allowed)

    def _is_below(self, part: float, epochs: Sequence[EpochLoad], allowed: float) -> bool:
        """Whether the load, without what every epoch takes, is below a part of what is allowed."""
        once = self.fixed / self._length(allowed)
        return self._least_load(epochs, allowed) - once < part * (allowed - once)

    def _set(
        self,
        shares: Mapping[Box, float],
        load: float,
        allowed: float,
        allowed_now: float,
        sheddable: Sheddable,
    ) -> Mapping[Box, float] | None:
        boxes = self._solved(shares, load, allowed, _MARGIN * allowed_now, sheddable)
        kept = {box: _rounded(boxes.share(box)) for box in shares}
        self.problem = ""
        if not boxes.fits:
            self.problem = (
                f"the load is {100 * load:.0f} % where {100 * allowed:.0f} % are allowed, and what no drop box "
                f"can change takes more: boxes keep {100 * LEAST:g} %"
            )
        if kept == shares:
            return None
        if self._was_lifted:
            self._calm = min(2 * self._calm, _CALM_AT_MOST)
        self._changed(is_lifted=False)
        return kept

    def _lifted(
        self, shares: Mapping[Box, float], load: float, allowed: float, sheddable: Sheddable
    ) -> Mapping[Box, float] | None:
        boxes = self._solved(shares, load, allowed, _MARGIN * allowed, sheddable)
        self.problem = ""
        step = _STEP_IF_LOW if self._is_below(_IS_LOW, self._last(_CALM), allowed) else _STEP
        kept = {
            box: max(share, _rounded(min(boxes.share(box), step * share))) for box, share in shares.items()
        }
        if all(kept[box] < min(1.0, _WORTH * share) for box, share in shares.items() if share < 1):
            return None
        if self._was_lifted:
            self._calm = max(_CALM, self._calm // 2)
        self._changed(is_lifted=True)
        return kept

    def _changed(self, *, is_lifted: bool) -> None:
        self._was_lifted = is_lifted
        self._recent = []
        self._since = 0, 0.0

    def _solved(
        self,
        shares: Mapping[Box, float],
        load: float,
        allowed: float,
        target: float,
        sheddable: Sheddable,
    ) -> Boxes:
        """The boxes for a load, if the model is right about its shape: it is scaled to what was measured."""
        now, once = sheddable.cost.at(shares), self.fixed / self._length(allowed)
        scale = max(0.0, load - once) / now if now > 0 else 0.0
        return drop_boxes(
            sheddable.outputs, scale * sheddable.cost + once, target, sheddable.priorities, least=LEAST
        )


def _fixed(epochs: list[EpochLoad], before: float) -> float:
    """What every epoch takes: where a line through epochs of different lengths begins. Medians tell, since a pause
    of the machine makes an epoch long for no reason. While all have the same length, it is what it was. In any
    case it is a good part of the shortest, as no line tells it when the load has changed meanwhile, and at least
    what rows cannot have taken: what no operator was busy for will not go away when rows are dropped."""
    lengths = sorted((epoch.took_in, epoch.seconds) for epoch in epochs)
    slopes = [
        (longer[1] - shorter[1]) / (longer[0] - shorter[0])
        for shorter, longer in combinations(lengths, 2)
        if longer[0] > _LONGER * shorter[0]
    ]
    shortest = min(epoch.seconds for epoch in epochs)
    found = before or _UNKNOWN * shortest
    if len(slopes) >= len(epochs):
        slope = max(0.0, median(slopes))
        found = median(seconds - slope * took_in for took_in, seconds in lengths)
    idle = median(epoch.seconds - _BESIDE * epoch.busy for epoch in epochs)
    return min(max(found, idle, _PART_OF_EPOCH[0] * shortest), _PART_OF_EPOCH[1] * shortest)


def _rounded(share: float) -> float:
    """A share of four digits, above zero."""
    return max(LEAST, float(f"{share:.4g}"))
