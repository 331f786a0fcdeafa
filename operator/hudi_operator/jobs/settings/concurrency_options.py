"""Hudi's options for a table's writers: alone, or together with others under a shared lock."""

from hudi_jobs.contract import ConcurrencyMode
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.spec.concurrency import Lock
from hudi_operator.api.spec.table_class import HudiTableClassSpec

_TRANSACTION = "org.apache.hudi.client.transaction"

# Every process judges other writers' heartbeats by its own settings, and the operator waits this long (interval times
# misses) before it takes over a dead run's work: a shorter time would end living writers.
_HEARTBEAT = {
    "hoodie.client.heartbeat.interval_in_ms": "60000",
    "hoodie.client.heartbeat.tolerable.misses": "2",
}

_ALONE = {
    "hoodie.write.concurrency.mode": "SINGLE_WRITER",
    "hoodie.clean.failed.writes.policy": "EAGER",
}

_BESIDE_OTHERS = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.clean.failed.writes.policy": "LAZY",
    # If a writer and a table service touch the same files, the service gives way and is planned again.
    "hoodie.write.lock.conflict.resolution.strategy": f"{_TRANSACTION}.PreferWriterConflictResolutionStrategy",
    # Also give way to a writer that has only announced itself.
    "hoodie.clustering.fail.on.pending.ingestion.during.conflict.resolution": "true",
}


def lock_of(table: HudiTable, table_class: HudiTableClassSpec | None) -> Lock | None:
    """Return the lock shared by a table's writers: its own, or its class's."""
    return table.spec.concurrency.lock or (table_class.lock if table_class else None)


def lock_key_of(table: HudiTable, table_class: HudiTableClassSpec | None) -> str:
    """Return the name of a table's lock, prefixed with the namespace unless the class allows shared keys.

    A namespace contains no dot, so no table can name the lock of another namespace.
    """
    prefix, given = f"{table.metadata.namespace}.", table.spec.concurrency.lock_key
    if given is None:
        return f"{prefix}{table.table_name}"
    shares = table_class is not None and table_class.allow_shared_lock_keys
    return given if shares or given.startswith(prefix) else f"{prefix}{given}"


def concurrency_options(table: HudiTable, lock: Lock | None, *, lock_key: str) -> dict[str, str]:
    """Return the options for the table's concurrency mode.

    An optimistic table without a lock gets no job, so here only the lock's own options are missing.
    """
    if table.spec.concurrency.mode is ConcurrencyMode.SERIALIZED:
        return {**_HEARTBEAT, **_ALONE}
    return {**_HEARTBEAT, **_BESIDE_OTHERS, **(_zookeeper(lock, lock_key) if lock else {})}


def _zookeeper(lock: Lock, key: str) -> dict[str, str]:
    prefix = "hoodie.write.lock.zookeeper"
    return {
        "hoodie.write.lock.provider": f"{_TRANSACTION}.lock.ZookeeperBasedLockProvider",
        # The port belongs in the url: Hudi has a key for it, but does not read that key.
        f"{prefix}.url": lock.zookeeper.connect,
        f"{prefix}.base_path": lock.zookeeper.base_path,
        f"{prefix}.lock_key": key,
    }
