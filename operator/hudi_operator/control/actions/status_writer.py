"""Writes a table's status and posts Events about its changes."""

from collections.abc import Iterable
from typing import Any

import structlog

from hudi_operator.api.status.run import RunStatus
from hudi_operator.api.status.table import HudiTableStatus
from hudi_operator.control.keys import TABLE, table_key
from hudi_operator.kube.api import KubernetesApi
from hudi_operator.kube.errors import ApiUnavailable
from hudi_operator.kube.events import EventType
from hudi_operator.planning.outcome.status.transitions import Transition
from hudi_operator.telemetry.metrics import metrics

_log = structlog.get_logger(__name__)
Document = dict[str, Any]


class StatusWriter:
    """Writes the status of tables; the Events and metrics of a write follow once, even if its response is lost."""

    def __init__(self, kube: KubernetesApi) -> None:
        self._kube = kube

    async def write(
        self,
        document: Document,
        status: HudiTableStatus,
        *,
        finished: Iterable[RunStatus] = (),
        notices: Iterable[Transition] = (),
    ) -> Document:
        """Write a changed status, count the finished runs, and post the notices as Events.

        Returns the updated table. Raises `Conflict` when the table changed since it was read.
        """
        written = await self._replace(document, status.to_document())
        for run in finished:
            metrics.run_finished(run)
            _log.info("run finished", **run.model_dump(mode="json", exclude_none=True))
        for notice in notices:
            kind = EventType.WARNING if notice.warning else EventType.NORMAL
            await self._kube.create_event(written, kind=kind, reason=notice.reason, message=notice.message)
        return written

    async def _replace(self, document: Document, status: Document) -> Document:
        try:
            return await self._kube.replace_status(TABLE, document, status)
        except ApiUnavailable:
            # Perhaps only the response was lost. Then the Events and metrics of this write must follow now: there is no
            # second time.
            current = await self._kube.get(table_key(document["metadata"]["namespace"], document["metadata"]["name"]))
            if current is None or current.get("status") != status:
                raise
            return current
