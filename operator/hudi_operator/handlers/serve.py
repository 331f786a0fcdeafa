"""Assembles the operator and runs it: the only module that imports everything."""

import asyncio
import signal
import uuid

import structlog

from hudi_operator.control.controllers import CONTROLLERS
from hudi_operator.control.parts import Parts
from hudi_operator.control.settings import Settings, unknown_variables
from hudi_operator.control.snapshots.looks import SourceLooker
from hudi_operator.control.snapshots.pool import StorePool
from hudi_operator.control.snapshots.reader import SnapshotReader
from hudi_operator.handlers.process import OperatorProcess, OperatorStopped
from hudi_operator.kube.client import KubernetesClient
from hudi_operator.kube.errors import KubernetesError
from hudi_operator.runtime.controller import Trigger, reconcile_by_kind
from hudi_operator.runtime.informer import KnownObjects
from hudi_operator.runtime.leadership import Leadership, LeaseTimes

_log = structlog.get_logger(__name__)


async def serve(settings: Settings) -> int:
    """Run the operator until a signal; return the process's exit code."""
    if unknown := unknown_variables():
        _log.warning("unknown settings", names=unknown)
    try:
        kube = await KubernetesClient.connect(
            operator_namespace=settings.operator_namespace, instance=settings.instance
        )
    except KubernetesError as error:
        _log.error("cannot start", error=str(error))
        return 1
    async with kube:
        # A share of the workers: a hanging store must not take all of them.
        snapshots = SnapshotReader(StorePool(threads=max(2, settings.workers // 4)))
        process = _process(settings, kube, snapshots)
        _stop_on_signals(process)
        _log.info("operator starts", workers=settings.workers, namespaces=list(settings.watch_namespaces) or "all")
        try:
            await process.run()
        except OperatorStopped as error:
            _log.error("operator stops", error=str(error), exc_info=error)
            return 1
        finally:
            snapshots.close()
    _log.info("operator stopped")
    return 0


def _process(settings: Settings, kube: KubernetesClient, snapshots: SnapshotReader) -> OperatorProcess:
    known = KnownObjects(CONTROLLERS)
    parts = Parts(
        kube=kube,
        snapshots=snapshots,
        settings=settings,
        controllers=CONTROLLERS,
        known=known,
        wake=lambda key: process.queue.add(key, Trigger.POLL),
        alert=lambda key: process.queue.add(key, Trigger.EVENT),
        looks=SourceLooker(snapshots, now=kube.now, enabled=settings.list_sources),
    )
    process = OperatorProcess(
        settings=settings,
        kube=kube,
        controllers=CONTROLLERS,
        known=known,
        reconcile=reconcile_by_kind(CONTROLLERS, parts),
        leadership=_leadership(settings, kube),
    )
    return process


def _leadership(settings: Settings, kube: KubernetesClient) -> Leadership | None:
    if not settings.leader_election:
        return None
    times = LeaseTimes(
        lease=settings.lease_seconds,
        renew_deadline=settings.renew_deadline_seconds,
        retry=settings.lease_retry_seconds,
    )
    # A process restarted in the same pod has a new identity: it does not know the first one's decisions.
    identity = f"{settings.instance}_{uuid.uuid4().hex[:8]}"
    return Leadership(leases=kube, name=settings.lease_name, identity=identity, times=times)


def _stop_on_signals(process: OperatorProcess) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, process.stop)
