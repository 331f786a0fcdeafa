"""The time during which a run has a table to itself, as far as services go."""

import logging
from collections.abc import Callable

from hudi_jobs.classification import stage
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, Outcome, PlannedServiceTask, TaskResult
from hudi_jobs.jvm import end_jvm
from hudi_jobs.lease.fence import Fence
from hudi_jobs.lease.marker import HeldElsewhere, Marker, take
from hudi_jobs.lease.stores import marker_store
from hudi_jobs.phases import Phase, reach

_LOGGER = logging.getLogger(__name__)


def while_held(context: TaskContext, work: Callable[[Marker], TaskResult]) -> TaskResult:
    """Do the work while the table's marker is ours; answer Fenced when it is, or becomes, another run's."""
    lease = (context.task.planned or PlannedServiceTask()).lease_seconds
    with stage("The marker of the table cannot be written", otherwise=FailureReason.HUDI_ERROR):
        marker = take(marker_store(context.spark, context.task.table.base_path), run=context.run, lease_seconds=lease)
    if isinstance(marker, HeldElsewhere):
        return fenced(context, f"The table is being worked on by {marker}; this run leaves it alone.")
    fence = Fence(marker, lease_seconds=lease, end=end_jvm)
    try:
        with fence:
            reach(Phase.MARKED)
            return work(marker)
    except Exception:
        if not fence.lost:
            raise
        return fenced(context, "This run stood still for longer than its lease, so it was ended before a commit.")
    finally:
        _release(marker)


def _release(marker: Marker) -> None:
    """Release the marker. Where the store does not let us, the next run waits for the lease."""
    try:
        marker.release()
    except Exception:
        _LOGGER.warning("the marker could not be released", exc_info=True)


def fenced(context: TaskContext, message: str) -> TaskResult:
    """Return the result of a run that leaves the table to another one."""
    return TaskResult(id=context.task.id, outcome=Outcome.FENCED, message=message)
