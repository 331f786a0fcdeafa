"""Writes the report of an erasure to a file: requester, time, figures and proof, without any key."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.operations.erase import EraseTask
from hudi_jobs.contract.operations.told import ComparedPartition
from hudi_jobs.failures.classification import stage
from hudi_jobs.filesystem import located
from hudi_jobs.journal.erase_record import EraseRecord

_REPLACING = True


def write_report(
    context: TaskContext, asked: EraseTask, record: EraseRecord, partitions: Iterable[ComparedPartition]
) -> str | None:
    """Write the report to the requested path, over the report of an earlier run, and return the path."""
    path = asked.report_file
    if path is None:
        return None
    document = {
        "operation": record.resource,
        "requestedBy": None if asked.requested_by is None else asked.requested_by.model_dump(mode="json"),
        "uid": record.uid,
        "table": context.task.table.base_path,
        "run": context.run,
        "finishedAt": datetime.now(UTC).isoformat(timespec="seconds"),
        "report": record.report().model_dump(mode="json", by_alias=True, exclude_none=True),
        "partitions": [each.model_dump(mode="json", by_alias=True) for each in partitions],
    }
    with stage("The report cannot be written", otherwise=FailureReason.HUDI_ERROR):
        filesystem, place = located(context.spark, path)
        stream = filesystem.create(place, _REPLACING)
        try:
            stream.write(bytearray(json.dumps(document, indent=2).encode()))
        finally:
            stream.close()
    return path
