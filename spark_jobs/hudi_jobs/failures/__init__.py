"""How a task fails: with a class that the operator acts on and a sentence for a person."""

from hudi_jobs.contract import FailureReason


class TaskFailed(Exception):
    """A task cannot be done; `message` is a sentence that says what to do about it."""

    def __init__(self, reason: FailureReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class DriverStopping(Exception):
    """The pod has been asked to end, so no new work is begun."""
