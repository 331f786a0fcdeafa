"""What tasks of one process that write to one table at the same time are told, beside the operator's options.

Outside of the process the table stays Serialized: the lease keeps every other run away. Inside it, Hudi's optimistic
concurrency control keeps batches and services apart by a lock of the JVM, as HoodieStreamer does for its own services.
"""

from hudi_jobs.contract import ConcurrencyMode, TableTask

_TRANSACTION = "org.apache.hudi.client.transaction"

IN_ONE_PROCESS = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.lock.provider": f"{_TRANSACTION}.lock.InProcessLockProvider",
    "hoodie.write.lock.conflict.resolution.strategy": (
        f"{_TRANSACTION}.SimpleConcurrentFileWritesConflictResolutionStrategy"
    ),
    # What one of them has under way is not for the other to roll back.
    "hoodie.clean.failed.writes.policy": "LAZY",
    # A batch that would change a file group of a pending clustering is refused before it writes, and repeated after it.
    "hoodie.clustering.updates.strategy": (
        "org.apache.hudi.client.clustering.update.strategy.SparkRejectUpdateStrategy"
    ),
    "hoodie.clustering.rollback.pending.replacecommit.on.conflict": "false",
}


def with_services_beside(task: TableTask) -> TableTask:
    """Return a continuous ingestion that lets services write beside its batches."""
    return task.model_copy(update={"hudi_options": {**task.hudi_options, **IN_ONE_PROCESS}})


def beside_batches(task: TableTask) -> TableTask:
    """Return a table service that runs beside the batches of an ingestion: it is not alone on the table."""
    options = {**task.hudi_options, **IN_ONE_PROCESS}
    return task.model_copy(update={"hudi_options": options, "concurrency": ConcurrencyMode.OPTIMISTIC})
