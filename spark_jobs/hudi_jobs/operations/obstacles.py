"""Collects the obstacles of an operation: a run stops at the first, a dry run reports all."""

from collections.abc import Iterator
from contextlib import contextmanager

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.operations.operation import LONGEST_OBSTACLE, MOST_OBSTACLES
from hudi_jobs.contract.wording import counted
from hudi_jobs.failures import TaskFailed
from hudi_jobs.operations.refusal import UNCHANGED


class Obstacles:
    """The refusals of a run; with `gathers` later checks run after a refusal."""

    def __init__(self, *, gathers: bool = False) -> None:
        self._gathers = gathers
        self._found: list[TaskFailed] = []

    @contextmanager
    def each(self) -> Iterator[None]:
        """Run a check; a refusal ends the run, or is collected in a dry run."""
        try:
            yield
        except TaskFailed as failure:
            if not self._gathers or failure.reason is not FailureReason.OPERATION_REFUSED:
                raise
            self._found.append(failure)

    def require_none(self) -> None:
        """Raise the first obstacle, if any: the next step needs a table without obstacles."""
        if self._found:
            raise self._found[0]

    def ended_by(self, failure: TaskFailed) -> None:
        """Record the failure that ended the run; other kinds of failure count only beside an obstacle."""
        is_obstacle = bool(self._found) or failure.reason is FailureReason.OPERATION_REFUSED
        if is_obstacle and failure not in self._found:
            self._found.append(failure)

    def named(self) -> tuple[str, ...]:
        """Return a sentence per obstacle, as many as an outcome holds."""
        sentences = list(dict.fromkeys(_bare(each) for each in self._found))
        return tuple(_cut(each) for each in sentences[:MOST_OBSTACLES])

    def failure(self, failure: TaskFailed) -> TaskFailed:
        """Return the run's failure: the first obstacle, and the number of further obstacles."""
        more = len(dict.fromkeys(map(_bare, self._found))) - 1
        if more < 1:
            return failure
        said = f"{_bare(self._found[0])} The report names {counted(more, 'more obstacle')}. {UNCHANGED}"
        return TaskFailed(FailureReason.OPERATION_REFUSED, said)


def _bare(failure: TaskFailed) -> str:
    return failure.message.removesuffix(UNCHANGED).rstrip()


def _cut(text: str) -> str:
    """Cut a text to the bytes that an outcome allows."""
    content = text.encode(errors="replace")
    if len(content) <= LONGEST_OBSTACLE:
        return content.decode()
    return f"{content[: LONGEST_OBSTACLE - 3].decode(errors='ignore')}..."
