"""Task failures: a class that the operator acts on, and a sentence for a person."""

from typing import Any

from hudi_jobs.contract import FailureReason


class TaskFailed(Exception):
    """The task failed; `message` is a sentence with the remedy."""

    def __init__(self, reason: FailureReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Unfinished(Exception):
    """A failed run, with what it reports nevertheless: fields of its `TaskResult`. `cause` is the failure itself."""

    def __init__(self, cause: Exception, **reported: Any) -> None:  # noqa: ANN401 - as for `copy_with`
        super().__init__(str(cause))
        self.cause = cause
        self.reported = reported


class DriverStopping(Exception):
    """The pod is being stopped, so no new work begins."""
