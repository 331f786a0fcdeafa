"""Puts the operator together and runs it: the one module that imports everything."""

import asyncio
import signal

import structlog

from hudi_operator.control.looks import TimelineLooks
from hudi_operator.control.reconciler import Reconciler
from hudi_operator.control.settings import Settings
from hudi_operator.handlers.process import OperatorProcess, OperatorStopped
from hudi_operator.kube.client import KubernetesClient
from hudi_operator.kube.errors import KubernetesError

_log = structlog.get_logger(__name__)


async def serve(settings: Settings) -> int:
    """Run the operator until a signal; return the exit code of the process."""
    if settings.extra:
        _log.warning("unknown settings", names=sorted(settings.extra))
    try:
        kube = await KubernetesClient.connect(
            operator_namespace=settings.operator_namespace, instance=settings.instance
        )
    except KubernetesError as error:
        _log.error("cannot start", error=str(error))
        return 1
    async with kube:
        looks = TimelineLooks(threads=settings.workers)
        reconciler = Reconciler(kube=kube, looks=looks, settings=settings)
        process = OperatorProcess(settings=settings, kube=kube, reconcile=reconciler.reconcile)
        _log.info("operator starts", workers=settings.workers, namespaces=list(settings.watch_namespaces) or "all")
        try:
            await process.run(take_signals=lambda: _stop_on_signals(process))
        except OperatorStopped as error:
            _log.error("operator stops", error=str(error), exc_info=error)
            return 1
        finally:
            looks.close()
    _log.info("operator stopped")
    return 0


def _stop_on_signals(process: OperatorProcess) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, process.stop)
