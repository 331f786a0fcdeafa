"""Remembers which files a savepoint keeps from cleaning, as the newest clean reported."""

from datetime import datetime

from hudi_operator.api.status.table_savepoints import RetainedStatus, TableSavepoint
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.times import format_time, parse_time


def retained(entry: TableSavepoint, observation: Observation, *, now: datetime) -> RetainedStatus | None:
    """Return the retained files of an existing savepoint, if known."""
    known = (one.retained for one in observation.table.status.savepoints if one.instant == entry.instant)
    before = next((one for one in known if one is not None), None)
    results = [job.result for job in observation.jobs if job.result is not None]
    told = [
        RetainedStatus(**each.model_dump(exclude={"instant"}), as_of=format_time(min(ended, now)))
        for result in results
        if (ended := parse_time(result.finished_at)) is not None
        for each in result.held_back
        if each.instant == entry.instant
    ]
    every = [*told, *([before] if before is not None else [])]
    return max(every, key=lambda one: one.as_of or "", default=None)
