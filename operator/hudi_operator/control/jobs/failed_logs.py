"""Reads the ends of the logs of failed runs: a few at once, each once, and never for long."""

import asyncio
from collections.abc import Sequence

import structlog

from hudi_operator.api.status.runs import FAILED_LOG_BYTES
from hudi_operator.control.jobs.log_tail import log_tail
from hudi_operator.jobs.manifest import DRIVER_CONTAINER
from hudi_operator.kube.api import KubernetesApi
from hudi_operator.kube.errors import KubernetesError
from hudi_operator.planning.model import JobObservation

_LINES = 60
_MOST_BYTES = 1024 * 1024
"""More than the kubelet has for so many lines: runtimes break lines at 16 KiB, and the limit cuts the end."""

_AT_ONCE = 4
_LONGEST_SECONDS = 5.0
_PAUSE_SECONDS = 60.0
"""How long nothing is read after a read that took too long: a silent node delays one table a minute."""

_log = structlog.get_logger(__name__)


class FailedRunLogs:
    """Reads logs of drivers; without the right, the pod or an answer, a run has no log, and nothing else changes."""

    def __init__(self, kube: KubernetesApi) -> None:
        self._kube = kube
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._paused_until = 0.0

    async def read(self, namespace: str, runs: Sequence[JobObservation]) -> dict[str, str]:
        """Return the ends of the logs of runs, by the names of their Jobs."""
        found = await asyncio.gather(*(self._end(namespace, run) for run in runs))
        return {run.name: text for run, text in zip(runs, found, strict=True) if text}

    async def _end(self, namespace: str, run: JobObservation) -> str:
        now = asyncio.get_running_loop().time
        if now() < self._paused_until:
            return ""
        try:
            async with asyncio.timeout(_LONGEST_SECONDS), self._places:
                content = await self._kube.read_log(
                    namespace, run.pods[-1], DRIVER_CONTAINER, lines=_LINES, most_bytes=_MOST_BYTES
                )
        except TimeoutError:
            self._paused_until = now() + _PAUSE_SECONDS
            _log.warning("log of a failed run not read in time", job=run.name, namespace=namespace)
            return ""
        except KubernetesError as error:
            _log.warning("log of a failed run not read", job=run.name, namespace=namespace, error=str(error))
            return ""
        return log_tail(content, FAILED_LOG_BYTES)
