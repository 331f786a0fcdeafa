"""The controller of savepoints: writes their status, and removes their finalizer when no work is left.

A run of the table creates and removes the savepoint, and the table's decision plans that run. This controller decides
only about the resource: its status and finalizer.
"""

from collections.abc import Callable
from typing import Any

import structlog

from hudi_operator.api.resources import (
    SAVEPOINT_FINALIZER,
    HudiSavepoint,
    HudiTable,
    InvalidObject,
    parse_savepoint,
    parse_table,
)
from hudi_operator.control.observation.related import rank_of_savepoint
from hudi_operator.control.parts import Parts, hold
from hudi_operator.kube.api import KubernetesApi, remove_finalizer
from hudi_operator.kube.errors import NotFound
from hudi_operator.kube.events import EventType
from hudi_operator.kube.keys import SAVEPOINT, table_key, table_named_by
from hudi_operator.kube.objects import ObjectKey
from hudi_operator.planning.model.reasons import SavepointReason
from hudi_operator.planning.outcome.status.savepoint_status import SavepointStep, decide_savepoint
from hudi_operator.runtime.controller import Controller, Reconcile, Trigger, concerns_what_it_refers_to

_log = structlog.get_logger(__name__)
Document = dict[str, Any]


class SavepointReconciler:
    """Maintains status and finalizer of savepoints; `wake` requeues a table that could not notice a change."""

    def __init__(self, kube: KubernetesApi, *, wake: Callable[[ObjectKey], None]) -> None:
        self._kube = kube
        self._wake = wake

    async def reconcile(self, key: ObjectKey, _trigger: Trigger) -> float | None:
        """Write a savepoint's status from its table; return the seconds until the next look, None if it is gone."""
        document = await self._kube.get(key)
        if document is None:
            return None
        parsed = parse_savepoint(document)
        step = decide_savepoint(parsed, await self._table(key, parsed), now=self._kube.now())
        try:
            return await self._carry_out(key, document, step)
        except NotFound:
            return None

    async def _table(self, key: ObjectKey, named: HudiSavepoint | InvalidObject) -> HudiTable | InvalidObject | None:
        if isinstance(named, InvalidObject):
            return None
        document = await self._kube.get(table_key(key.namespace, named.spec.table_ref.name))
        return None if document is None else parse_table(document)

    async def _carry_out(self, key: ObjectKey, document: Document, step: SavepointStep) -> float | None:
        if step.released is not None:
            await self._release(key, document, step.released, step)
            return None
        if step.hold:
            document = await hold(self._kube, SAVEPOINT, document, SAVEPOINT_FINALIZER, wake=self._wake)
        if step.status is None:
            return None  # deleted; another controller's finalizer keeps it
        await self._kube.replace_status(SAVEPOINT, document, step.status.to_document())
        return step.requeue

    async def _release(self, key: ObjectKey, document: Document, message: str, step: SavepointStep) -> None:
        """Report the end of the savepoint, also in the log: a namespace being deleted accepts no Events."""
        _log.info("savepoint released", savepoint=str(key), left=step.is_left, text=message)
        kind = EventType.WARNING if step.is_left else EventType.NORMAL
        reason = SavepointReason.RETAINED if step.stays else SavepointReason.REMOVED
        await self._kube.create_event(document, kind=kind, reason=reason, message=message, once=True)
        await remove_finalizer(self._kube, SAVEPOINT, document, SAVEPOINT_FINALIZER)


def _connect(parts: Parts) -> Reconcile:
    return SavepointReconciler(parts.kube, wake=parts.alert).reconcile


SAVEPOINTS = Controller(
    kind=SAVEPOINT,
    connect=_connect,
    reference=table_named_by,
    dependents=concerns_what_it_refers_to,
    observed_as=parse_savepoint,
    rank=rank_of_savepoint,
    polled=True,
    finalizer=SAVEPOINT_FINALIZER,
)
