"""Takes the exclusive leases for a run's kind of work, and checks the lock that several writers share."""

import logging
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import ConcurrencyMode, FailureReason, Outcome, Service, Task, TaskResult
from hudi_jobs.contract.run_progress import INGESTION_LEASE, SERVICES_LEASE, RunPhase
from hudi_jobs.lease.leases import HeldElsewhere, Lease, LeaseKeeper, take
from hudi_jobs.lease.owner import require_ownership
from hudi_jobs.lease.stores import TableFile, open_table_files
from hudi_jobs.phases import Phase, reach
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.jvm import end_jvm
from hudi_jobs.statistics.renewal import renew_statistics

_PROVIDER = "hoodie.write.lock.provider"
_CONNECT = "hoodie.write.lock.zookeeper.url"
_SECONDS = 5.0
_PORT = 2181
_COMPLETED = frozenset({Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO})
_LOGGER = logging.getLogger(__name__)


def require_lock(options: Mapping[str, str]) -> None:
    """Raise `TaskFailed` when no ZooKeeper server of the table's lock answers.

    Hudi's lock provider would try for more than four minutes. Other providers are left to Hudi.
    """
    if not options.get(_PROVIDER, "").endswith("ZookeeperBasedLockProvider"):
        return
    servers = [server.strip() for server in options.get(_CONNECT, "").partition("/")[0].split(",") if server.strip()]
    failures = [failure for server in servers if (failure := _failure(server)) is not None]
    if len(failures) == len(servers):
        raise TaskFailed(
            FailureReason.LOCK_UNAVAILABLE,
            f"No ZooKeeper server of the table's lock answers: {'; '.join(failures) or 'none is named'}. Check that "
            "it runs and that the job's pod can reach it.",
        )


def _failure(server: str) -> str | None:
    host, _, port = server.rpartition(":") if ":" in server else (server, "", str(_PORT))
    try:
        with closing(socket.create_connection((host, int(port)), timeout=_SECONDS)) as connection:
            connection.settimeout(_SECONDS)
            connection.sendall(b"srvr")
            # A server that does not allow this word answers with a sentence, a server that hangs with nothing.
            return None if connection.recv(1) else f"{server} closed the connection"
    except (OSError, ValueError) as error:
        return f"{server} ({error})"


def with_lease(
    context: TaskContext, work: Callable[[Lease], TaskResult], *, before: Callable[[], None] = lambda: None
) -> TaskResult:
    """Run the work under the table's lease; return Fenced when another run holds or takes it.

    `before` runs under the lease before the table is claimed, for example to check that it is the declared table. If
    the context already holds the lease for another run, that run keeps and renews it. After successful work the
    table's statistics are renewed under the lease.
    """
    if context.held is not None:
        with _reporting(context, context.held):
            before()
            return _with_statistics(context, work(context.held))
    seconds = context.task.lease_seconds
    files = open_table_files(context.spark, context.task.table.base_path)
    with stage("The lease on the table cannot be taken", otherwise=FailureReason.HUDI_ERROR):
        stores = [TableFile(files, name) for name in _leases_of(context.task)]
        lease = take(stores, run=context.run, lease_seconds=seconds)
    if isinstance(lease, HeldElsewhere):
        return fenced(context, f"The lease on the table is held by {lease}; this run does not touch the table.")
    keeper = LeaseKeeper(lease, lease_seconds=seconds, end=end_jvm)
    try:
        with keeper, _reporting(context, lease):
            context.begin(RunPhase.CHECKING)
            before()
            context.meter.end()  # a continuous run begins no other phase
            with stage("The owner of the table cannot be recorded", otherwise=FailureReason.HUDI_ERROR):
                require_ownership(files, context.task, context.run)
            reach(Phase.MARKED)
            return _with_statistics(context, work(lease))
    except Exception:
        if not keeper.lost:
            raise
        return fenced(context, "This run was paused for longer than its lease, so it was stopped before a commit.")
    finally:
        _release(lease)


@contextmanager
def _reporting(context: TaskContext, lease: Lease) -> Iterator[None]:
    """Report the phases of a run in its lease, until the run ends."""
    try:
        with lease.reporting(context.meter.report, of_ingestion=context.task.service is Service.INGESTION):
            yield
    finally:
        context.meter.end()


def _with_statistics(context: TaskContext, result: TaskResult) -> TaskResult:
    """Renew the statistics of a table that still exists, and return the result."""
    if context.task.service is not Service.DELETION and result.outcome in _COMPLETED:
        renew_statistics(context)
    return result


def _leases_of(task: Task) -> tuple[str, ...]:
    """Return the leases that a task needs, in the order in which every run takes them.

    Two ingestions never run at once: Hudi's own lock does not keep them from reading the same files. In a serialized
    table only one run may write at all, and services of a formerly optimistic table still hold theirs.
    """
    if task.service is Service.INGESTION:
        serialized = task.concurrency is ConcurrencyMode.SERIALIZED
        return (INGESTION_LEASE, SERVICES_LEASE) if serialized else (INGESTION_LEASE,)
    alone = task.service in {Service.DELETION, Service.OPERATION}
    return (INGESTION_LEASE, SERVICES_LEASE) if alone else (SERVICES_LEASE,)


def _release(lease: Lease) -> None:
    """Release the lease. If the store fails, the next run waits until it expires."""
    try:
        lease.release()
    except Exception:
        _LOGGER.warning("the lease could not be released", exc_info=True)


def fenced(context: TaskContext, message: str) -> TaskResult:
    """Return the result of a run that leaves the table to another run."""
    return TaskResult(id=context.task.id, outcome=Outcome.FENCED, message=message)
