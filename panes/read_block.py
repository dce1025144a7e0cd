"""Several reads as one: all of them are of one epoch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from panes.answers.answer import Answer
from panes.config import LATEST
from panes.errors import SqlError, WindowMoved
from panes.language import Parameters, parse
from panes.state.storage.epoch_log import BEFORE_ALL
from panes.statements.context import Context
from panes.statements.handlers import AS_OF, execute_all

T = TypeVar("T")


class ReadBlock:
    """What a block of reads asks for its answers: `db.read()` gives it.

    The epoch is held until the block ends: what it reads stays, however far the epochs go on meanwhile.
    """

    def __init__(self, context: Context, epoch: int, isolation: str) -> None:
        self._context = replace(context, epoch=epoch, isolation=isolation)
        self._epoch = epoch
        self._isolation = isolation
        self._is_over = False

    @property
    def epoch(self) -> int | None:
        """The epoch that all reads are of; None before the first one."""
        return None if self._epoch == BEFORE_ALL else self._epoch

    def invoke(self, name: str) -> Answer:
        """The answer of a registered query."""
        self._check()
        return self._context.reads.invoke(name, isolation=self._isolation, epoch=self._epoch)

    def sql(self, text: str, parameters: Parameters | None = None) -> Answer:
        """The answer of SELECT or INVOKE; of several, that of the last one. SELECT over tables alone sees them as
        queries of the epoch do."""
        self._check()
        statements = parse(text, parameters)
        if not statements or not all(type(statement) in AS_OF for statement in statements):
            raise SqlError("a block of reads takes SELECT and INVOKE; run other statements outside", sql=text)
        answer = execute_all(statements, self._context)
        assert isinstance(answer, Answer)
        return answer

    def _check(self) -> None:
        if self._is_over:
            raise WindowMoved("the block of reads has ended, and nothing is held for it; begin another one")

    def _end(self) -> None:
        self._is_over = True


@contextmanager
def read_block(context: Context, isolation: str | None) -> Iterator[ReadBlock]:
    """A block of reads as of the last epoch.

    Raises WindowMoved at its end when the level is `latest` and an epoch was committed meanwhile.
    """
    log, level = context.connection.log, context.reads.level(isolation)
    context.connection.check_open()
    with log.held(lambda: max(log.epochs, default=None)) as hold:
        epoch = BEFORE_ALL if hold is None else hold.epoch
        block = ReadBlock(context, epoch, level)
        try:
            yield block
            if level == LATEST and log.last != epoch:
                raise WindowMoved(_moved(epoch, log.last))
        finally:
            block._end()


def _moved(epoch: int, last: int) -> str:
    begun = "before the first epoch" if epoch == BEFORE_ALL else f"as of epoch {epoch}"
    return (
        f"the reads are {begun}, and epoch {last} was committed before they ended; db.read_again(function) runs "
        "them again, and isolation = 'snapshot' lets them be of their start"
    )
