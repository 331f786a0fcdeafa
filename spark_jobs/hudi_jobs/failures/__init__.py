"""Task failures: a class that the operator acts on, and a sentence for a person."""

from hudi_jobs.contract import FailureReason


class TaskFailed(Exception):
    """The task failed; `message` is a sentence with the remedy."""

    def __init__(self, reason: FailureReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class DriverStopping(Exception):
    """The pod is being stopped, so no new work begins."""
