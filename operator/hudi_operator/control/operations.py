"""The controller of operations: writes what their tables say of them, and lets them go when they are over.

An operation is a run of its table, which is decided with the table. What is decided here is the resource: its status,
its finalizer, and its end after `ttlAfterFinished`.
"""

from collections.abc import Callable
from typing import Any

import structlog

from hudi_operator.api.resources import (
    OPERATION_FINALIZER,
    HudiOperation,
    HudiTable,
    InvalidObject,
    parse_operation,
    parse_table,
)
from hudi_operator.control.holding import hold
from hudi_operator.control.keys import OPERATION, table_key, table_named_by
from hudi_operator.control.parts import Parts
from hudi_operator.kube.api import KubernetesApi, remove_finalizer
from hudi_operator.kube.errors import NotFound
from hudi_operator.kube.events import EventType
from hudi_operator.kube.kinds import ObjectKey
from hudi_operator.planning.status.operation_status import OperationStep, decide_operation
from hudi_operator.planning.status.transitions import Transition
from hudi_operator.runtime.controller import Controller, Reconcile, Trigger, concerns_what_it_refers_to

_log = structlog.get_logger(__name__)
Document = dict[str, Any]


class OperationReconciler:
    """Keeps status and finalizer of operations; `wake` has a table reconciled that could not know of a change."""

    def __init__(self, kube: KubernetesApi, *, wake: Callable[[ObjectKey], None]) -> None:
        self._kube = kube
        self._wake = wake

    async def reconcile(self, key: ObjectKey, _trigger: Trigger) -> float | None:
        """Write what the table says of an operation; return the seconds until the next look, None when it is gone."""
        document = await self._kube.get(key)
        if document is None:
            return None
        parsed = parse_operation(document)
        step = decide_operation(parsed, await self._table(key, parsed, document), now=self._kube.now())
        try:
            return await self._carry_out(key, document, step)
        except NotFound:
            return None

    async def _table(
        self, key: ObjectKey, named: HudiOperation | InvalidObject, document: Document
    ) -> HudiTable | InvalidObject | None:
        """Return the table that an operation names; of one that cannot be read, by the name that it gives."""
        found = table_named_by(document) if isinstance(named, InvalidObject) else None
        name = named.spec.table_ref.name if isinstance(named, HudiOperation) else found.name if found else None
        table = await self._kube.get(table_key(key.namespace, name)) if name else None
        return None if table is None else parse_table(table)

    async def _carry_out(self, key: ObjectKey, document: Document, step: OperationStep) -> float | None:
        if step.released is not None:
            _log.info("operation released", operation=str(key), text=step.released)
            await self._tell(document, step.notice)
            await remove_finalizer(self._kube, OPERATION, document, OPERATION_FINALIZER)
            return None
        if step.hold:
            document = await hold(self._kube, OPERATION, document, OPERATION_FINALIZER, wake=self._wake)
        if step.status is None:
            return None if not step.requeue else step.requeue
        document = await self._kube.replace_status(OPERATION, document, step.status.to_document())
        await self._tell(document, step.notice)
        if step.expires:
            await self._kube.delete(key, uid=document["metadata"]["uid"])
            _log.info("operation deleted after its time", operation=str(key))
        return step.requeue

    async def _tell(self, document: Document, notice: Transition | None) -> None:
        if notice is None:
            return
        kind = EventType.WARNING if notice.warning else EventType.NORMAL
        await self._kube.create_event(document, kind=kind, reason=notice.reason, message=notice.message, once=True)


def _connect(parts: Parts) -> Reconcile:
    return OperationReconciler(parts.kube, wake=parts.wake).reconcile


OPERATIONS = Controller(
    kind=OPERATION,
    connect=_connect,
    reference=table_named_by,
    dependents=concerns_what_it_refers_to,
    observed_as=parse_operation,
    polled=True,
    finalizer=OPERATION_FINALIZER,
)
