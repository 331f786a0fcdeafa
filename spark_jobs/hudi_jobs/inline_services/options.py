"""Hudi options for several writers in one process, in addition to the operator's options.

Outside the process the table stays Serialized: the lease keeps every other run away. Inside it, Hudi's optimistic
concurrency control separates batches and services with a lock of the JVM, as HoodieStreamer does for its own services.
"""

from typing import TypeVar

from hudi_jobs.contract import ConcurrencyMode, Task

T = TypeVar("T", bound=Task)
_TRANSACTION = "org.apache.hudi.client.transaction"

IN_ONE_PROCESS = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.lock.provider": f"{_TRANSACTION}.lock.InProcessLockProvider",
    "hoodie.write.lock.conflict.resolution.strategy": (
        f"{_TRANSACTION}.SimpleConcurrentFileWritesConflictResolutionStrategy"
    ),
    # One writer must not roll back another's pending work.
    "hoodie.clean.failed.writes.policy": "LAZY",
    # A batch that would change a file group of a pending clustering is refused before it writes, and repeated
    # afterwards.
    "hoodie.clustering.updates.strategy": (
        "org.apache.hudi.client.clustering.update.strategy.SparkRejectUpdateStrategy"
    ),
    "hoodie.clustering.rollback.pending.replacecommit.on.conflict": "false",
}


def with_inline_services(task: T) -> T:
    """Return the ingestion task with options that allow services beside its batches."""
    return task.copy_with(hudi_options={**task.hudi_options, **IN_ONE_PROCESS})


def as_inline_service(task: T) -> T:
    """Return the table service task with options for running beside the batches of an ingestion."""
    options = {**task.hudi_options, **IN_ONE_PROCESS}
    return task.copy_with(hudi_options=options, concurrency=ConcurrencyMode.OPTIMISTIC)
