"""The controller of operations: writes their status from their tables, and releases them at their end.

An operation is a run of its table, and the table's decision plans that run. This controller decides only about the
resource: its status, its finalizer, its end after `ttlAfterFinished`, and the further operations of an erasure for the
tables that read its table.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import structlog

from hudi_operator.api.resources import (
    OPERATION_FINALIZER,
    OPERATION_UID_ANNOTATION,
    HudiOperation,
    HudiTable,
    InvalidObject,
    parse_operation,
)
from hudi_operator.api.status.operation_status import FINISHED
from hudi_operator.control.observation.derived import Readings, read_table, root_of
from hudi_operator.control.observation.related import rank_of_operation
from hudi_operator.control.parts import Parts, hold
from hudi_operator.jobs.resources import build_cascaded
from hudi_operator.kube.api import KubernetesApi, remove_finalizer
from hudi_operator.kube.errors import AlreadyExists, Forbidden, NotFound, Rejected
from hudi_operator.kube.events import EventType
from hudi_operator.kube.keys import OPERATION, operation_key, table_key, table_named_by
from hudi_operator.kube.objects import ObjectKey
from hudi_operator.planning.facts.operations.cascade import key_problem
from hudi_operator.planning.model import direct_readers, lineage_of
from hudi_operator.planning.model.reasons import OperationEvent
from hudi_operator.planning.outcome.status.cascade_status import CascadeSeen, cascade_tables
from hudi_operator.planning.outcome.status.operation_status import OperationStep, decide_operation, is_done_alone
from hudi_operator.planning.outcome.status.step import ENDING_SECONDS
from hudi_operator.planning.outcome.status.transitions import Transition
from hudi_operator.runtime.controller import Controller, Reconcile, Trigger, concerns_what_it_refers_to

_log = structlog.get_logger(__name__)
Document = dict[str, Any]


class OperationReconciler:
    """Maintains status and finalizer of operations; `wake` requeues a table that could not notice a change."""

    def __init__(
        self,
        kube: KubernetesApi,
        *,
        wake: Callable[[ObjectKey], None],
        namespaces: Sequence[str] = (),
        verifies_requesters: bool = False,
    ) -> None:
        self._kube = kube
        self._wake = wake
        self._readings = Readings(kube, namespaces)
        self._verifies_requesters = verifies_requesters

    async def reconcile(self, key: ObjectKey, _trigger: Trigger) -> float | None:
        """Write an operation's status from its table; return the seconds until the next look, None if it is gone."""
        began = asyncio.get_running_loop().time()
        document = await self._kube.get(key)
        if document is None:
            return None
        parsed = parse_operation(document)
        table = await self._table(key, parsed, document)
        seen, step = await self._decide(parsed, table, since=None)
        if seen is not None and step.status is not None and step.status.state in FINISHED:
            # A table that reads this table since the last listing must not be missed.
            seen, step = await self._decide(parsed, table, since=began)
            if seen is not None and seen.elsewhere:
                _log.warning("tables of other namespaces are not erased", operation=str(key), tables=seen.elsewhere)
        try:
            return await self._carry_out(key, document, step)
        except NotFound:
            return None

    async def _decide(
        self,
        operation: HudiOperation | InvalidObject,
        table: HudiTable | InvalidObject | None,
        *,
        since: float | None,
    ) -> tuple[CascadeSeen | None, OperationStep]:
        seen = await self._cascade(operation, table, since=since)
        now, verifies = self._kube.now(), self._verifies_requesters
        return seen, decide_operation(operation, table, now=now, seen=seen, verifies_requesters=verifies)

    async def _table(
        self, key: ObjectKey, named: HudiOperation | InvalidObject, document: Document
    ) -> HudiTable | InvalidObject | None:
        """Return the table that an operation names; for an unreadable operation, by the name in its document."""
        found = table_named_by(document) if isinstance(named, InvalidObject) else None
        name = named.spec.table_ref.name if isinstance(named, HudiOperation) else found.name if found else None
        return await read_table(self._kube, table_key(key.namespace, name)) if name else None

    async def _cascade(
        self,
        operation: HudiOperation | InvalidObject,
        table: HudiTable | InvalidObject | None,
        *,
        since: float | None,
    ) -> CascadeSeen | None:
        """Return the tables of an operation's cascade, and their existing operations.

        The tables are as of `since` or later, else at most a minute old. They are read singly only when their turn
        comes, so that a waiting operation costs little.
        """
        if not isinstance(operation, HudiOperation) or not operation.spec.cascades:
            return None
        if operation.status.state in FINISHED or operation.metadata.deletion_timestamp is not None:
            return None
        seen = CascadeSeen()
        if isinstance(table, HudiTable):
            root, readings = root_of(table), await self._readings.get(table.metadata.namespace, since=since)
            seen = CascadeSeen(readers=direct_readers(root, readings), elsewhere=lineage_of(root, readings).elsewhere)
        if not is_done_alone(operation, table):
            return seen
        namespace = operation.metadata.namespace
        tables = cascade_tables(operation, seen.readers)
        found = {one.operation: await self._kube.get(operation_key(namespace, one.operation)) for one in tables}
        there = {name: parse_operation(one) for name, one in found.items() if one is not None}
        unsuitable = {one.table: await self._problem(namespace, one.table, table) for one in tables}
        problems = {name: problem for name, problem in unsuitable.items() if problem is not None}
        return replace(seen, operations=there, unsuitable=problems)

    async def _problem(self, namespace: str, name: str, upstream: HudiTable | InvalidObject | None) -> str | None:
        """Return why the same keys cannot be erased from a table now."""
        reader = await read_table(self._kube, table_key(namespace, name))
        if not isinstance(reader, HudiTable):
            return "The HudiTable does not exist any more, or is not valid."
        return key_problem(reader, upstream) if isinstance(upstream, HudiTable) else None

    async def _create(self, document: Document, table: str) -> bool:
        """Create the operation for a table that reads this table, unless it exists; return whether it exists."""
        operation = parse_operation(document)
        if not isinstance(operation, HudiOperation):
            return False
        manifest = build_cascaded(operation, table)
        name = manifest["metadata"]["name"]
        try:
            await self._kube.create(OPERATION, operation.metadata.namespace, manifest)
        except AlreadyExists:
            return True
        except (Forbidden, Rejected) as error:
            said = _without_keys(str(error), operation)
            message = f"The Kubernetes API refused HudiOperation {name}, which erases from table {table}: {said}"
            await self._tell(document, Transition(warning=True, reason=OperationEvent.NOT_CREATED, message=message))
            _log.warning("operation not created", operation=name, error=said)
            return False
        _log.info("operation created", operation=name, table=table)
        return True

    async def _carry_out(self, key: ObjectKey, document: Document, step: OperationStep) -> float | None:
        if step.released is not None:
            _log.info("operation released", operation=str(key), text=step.released)
            await self._tell(document, step.notice)
            await remove_finalizer(self._kube, OPERATION, document, OPERATION_FINALIZER)
            return None
        if step.hold:
            # A copy keeps the uid that it came with: the table refuses the copy for that alone, and may not exist yet.
            note = {OPERATION_UID_ANNOTATION: document["metadata"]["uid"]}
            document = await hold(
                self._kube, OPERATION, document, OPERATION_FINALIZER, wake=self._wake, annotations=note
            )
        if step.status is None:
            return None if not step.requeue else step.requeue
        for one in step.deletes:  # before this operation shows its end: then nobody looks at them any more
            await self._kube.delete(operation_key(one.namespace, one.name), uid=one.uid)
            _log.info("operation of a table that reads this table deleted", operation=one.name)
        document = await self._kube.replace_status(OPERATION, document, step.status.to_document())
        await self._tell(document, step.notice)
        created = [await self._create(document, table) for table in step.creates]
        if step.status.state in FINISHED:
            self._wake_parent(document)
        if step.expires:
            await self._kube.delete(key, uid=document["metadata"]["uid"])
            _log.info("expired operation deleted", operation=str(key))
        return ENDING_SECONDS if created and all(created) else step.requeue

    def _wake_parent(self, document: Document) -> None:
        """Requeue the operation that created this operation."""
        for one in document["metadata"].get("ownerReferences") or ():
            if one.get("kind") == OPERATION.name and one.get("controller"):
                self._wake(operation_key(document["metadata"]["namespace"], str(one.get("name"))))

    async def _tell(self, document: Document, notice: Transition | None) -> None:
        if notice is None:
            return
        kind = EventType.WARNING if notice.warning else EventType.NORMAL
        await self._kube.create_event(document, kind=kind, reason=notice.reason, message=notice.message, once=True)


def _without_keys(text: str, operation: HudiOperation) -> str:
    """Return the API server's message, unless it quotes a key."""
    keys = operation.spec.erase.keys or () if operation.spec.erase is not None else ()
    quotes = any(value in text for key in keys for value in key.values())
    return "the reason quotes a key and is not shown; see the admission policies of the namespace." if quotes else text


def _connect(parts: Parts) -> Reconcile:
    settings = parts.settings
    return OperationReconciler(
        parts.kube,
        wake=parts.alert,
        namespaces=settings.watch_namespaces,
        verifies_requesters=settings.requester_policy,
    ).reconcile


OPERATIONS = Controller(
    kind=OPERATION,
    connect=_connect,
    reference=table_named_by,
    dependents=concerns_what_it_refers_to,
    observed_as=parse_operation,
    rank=rank_of_operation,
    polled=True,
    finalizer=OPERATION_FINALIZER,
)
