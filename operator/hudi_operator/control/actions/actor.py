"""Carries out a plan's actions in the Kubernetes API. Every action is idempotent."""

import logging
from collections.abc import Iterable, Sequence
from typing import Any

import structlog
from pydantic import ValidationError

from hudi_jobs.contract import OperationKind, Service
from hudi_jobs.contract.operations.erase import EraseTask
from hudi_operator.api.resources import HudiOperation, HudiTable, ObjectMetadata, parse_operation
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.api.status.service_status import service_name
from hudi_operator.api.status.table_operations import NamedOperationJob
from hudi_operator.control.claims import Claims
from hudi_operator.control.jobs.running import controller_of
from hudi_operator.control.observation.derived import list_readings, root_of
from hudi_operator.control.observation.ending import FINALIZER
from hudi_operator.jobs.decided_job import JobRefused, Target, build_manifest
from hudi_operator.jobs.names import DECIDED_AT_ANNOTATION, MANAGED_BY, MANAGED_BY_LABEL, TABLE_UID_LABEL
from hudi_operator.jobs.requests.erasure import build_erase_task
from hudi_operator.jobs.resources import build_savepoint
from hudi_operator.kube.api import KubernetesApi, remove_finalizer
from hudi_operator.kube.errors import AlreadyExists, ApiUnavailable, Conflict, Forbidden, NotFound, Rejected
from hudi_operator.kube.events import EventType
from hudi_operator.kube.keys import SAVEPOINT, TABLE, operation_key, savepoint_key
from hudi_operator.kube.objects import JOB, POD, Document, ObjectKey, part, text
from hudi_operator.planning.model import (
    Action,
    CreateSavepoint,
    DeleteSavepoint,
    LaunchJob,
    PodReference,
    Release,
    RemoveExecutors,
    StopJob,
    lineage_of,
)
from hudi_operator.planning.model.reasons import TableEvent
from hudi_operator.telemetry.metrics import metrics

_log = structlog.get_logger(__name__)


class KeysLost(Exception):
    """The resource with the keys to erase is gone, or cannot be read; the message quotes nothing of it."""


async def erasure_of(
    kube: KubernetesApi,
    named: NamedOperationJob,
    table: HudiTable,
    table_class: HudiTableClassSpec,
    namespaces: Sequence[str | None],
) -> EraseTask | None:
    """Return the keys for a Job, with the tables that read this table; tables of other namespaces are only logged."""
    namespace = table.metadata.namespace
    found = await kube.get(operation_key(namespace, named.resource))
    resource = parse_operation(found) if found is not None else None
    if not isinstance(resource, HudiOperation) or resource.metadata.uid != named.uid:
        raise KeysLost(f"HudiOperation {named.resource} is gone or cannot be read, and no other place holds the keys")
    lineage = lineage_of(root_of(table), (await list_readings(kube, namespaces)).seen_from(namespace))
    if lineage.elsewhere and not resource.spec.cascades:
        _log.warning("tables of other namespaces are not erased", operation=named.resource, tables=lineage.elsewhere)
    try:
        return build_erase_task(resource, table, table_class, lineage.told_in(namespace))
    except ValidationError:  # which quotes the keys
        raise KeysLost(f"HudiOperation {named.resource} has a spec that cannot be passed to a run") from None


class Actor:
    """Carries out actions in the Kubernetes API."""

    def __init__(
        self, *, kube: KubernetesApi, claims: Claims, default_image: str, namespaces: Sequence[str] = ()
    ) -> None:
        self._kube = kube
        self._claims = claims
        self._default_image = default_image
        self._namespaces: Sequence[str | None] = namespaces or (None,)

    async def act(self, target: Target, action: Action, document: dict[str, Any]) -> None:
        """Carry out an action on a stored table; raise `JobRefused` when a Job is rejected."""
        namespace = target.metadata.namespace
        if isinstance(action, StopJob):
            key = ObjectKey(JOB, namespace, action.job.name)
            await self._kube.delete(key, uid=action.uid, version=action.version)
            _log.info("job stopped", job=action.job.name, state=action.job.state)
        elif isinstance(action, RemoveExecutors):
            await self._remove_executors(namespace, action.job.name, action.pods)
        elif isinstance(action, Release):
            await self._release(target, action, document)
        elif isinstance(action, CreateSavepoint):
            await self._create_savepoint(target, action.name, document)
        elif isinstance(action, DeleteSavepoint):
            await self._kube.delete(savepoint_key(namespace, action.name), uid=action.uid)
            _log.info("scheduled savepoint deleted", savepoint=f"{namespace}/{action.name}")
        elif await self._create(target, action.job):
            due_at = action.due_at if isinstance(action, LaunchJob) else None
            delay = (self._kube.now() - due_at).total_seconds() if due_at else None
            metrics.job_launched(service_name(action.job.service), delay_seconds=delay)

    async def _create_savepoint(self, target: Target, name: str, document: dict[str, Any]) -> None:
        """Create a scheduled savepoint. The name contains the scheduled time, so AlreadyExists means it is done."""
        table = target.table
        if table is None:
            return
        try:
            await self._kube.create(SAVEPOINT, table.metadata.namespace, build_savepoint(table, name))
        except AlreadyExists:
            return
        except (Forbidden, Rejected, NotFound) as error:
            message = f"The Kubernetes API refused HudiSavepoint {name}, which spec.savepoints asks for: {error}"
            reason = TableEvent.SCHEDULE_REFUSED
            await self._kube.create_event(document, kind=EventType.WARNING, reason=reason, message=message, once=True)
            _log.warning("scheduled savepoint refused", savepoint=name, error=str(error))
            return
        _log.info("savepoint scheduled", savepoint=f"{table.metadata.namespace}/{name}")

    async def _release(self, target: Target, end: Release, document: dict[str, Any]) -> None:
        # Logged as well: no Event can be posted in a namespace that is being deleted.
        level = logging.WARNING if end.warning else logging.INFO
        _log.log(
            level,
            "table released",
            table=f"{target.metadata.namespace}/{target.metadata.name}",
            outcome=end.reason,
            text=end.message,
        )
        kind = EventType.WARNING if end.warning else EventType.NORMAL
        await self._kube.create_event(document, kind=kind, reason=end.reason, message=end.message, once=True)
        await self._claims.release(target.metadata)
        await remove_finalizer(self._kube, TABLE, document, FINALIZER)

    async def _remove_executors(self, namespace: str, run: str, pods: Iterable[PodReference]) -> None:
        """Delete executors; a refused deletion or a replaced pod is only logged, and the executor is still awaited."""
        for pod in pods:
            try:
                await self._kube.delete(ObjectKey(POD, namespace, pod.name), uid=pod.uid)
            except (Conflict, Forbidden) as error:
                _log.warning("executor not removed", job=run, pod=pod.name, error=str(error))
            else:
                _log.info("executor removed", job=run, pod=pod.name)

    async def _create(self, target: Target, job: ActiveJob) -> bool:
        """Create a Job; return False if it already existed."""
        metadata = target.metadata
        erase = await self._erasure(target, job)
        manifest = build_manifest(target, job, default_image=self._default_image, erase=erase)
        try:
            await self._kube.create(JOB, metadata.namespace, manifest)
        except AlreadyExists:
            await self._adopt(target, job)
            return False
        except (Forbidden, Rejected, NotFound) as error:
            raise JobRefused(job, str(error)) from error
        except ApiUnavailable:
            # Says nothing about the Job: perhaps only the response was lost. Otherwise the creation is retried.
            existing = await self._kube.get(ObjectKey(JOB, metadata.namespace, job.name))
            if existing is None or not (_is_ours(existing, metadata, job) and _is_of_run(existing, job)):
                raise
        _log.info("job created", job=job.name, service=job.service, attempt=job.attempt)
        return True

    async def _erasure(self, target: Target, job: ActiveJob) -> EraseTask | None:
        """Return the keys to erase, read from the operation's own resource: no status holds them."""
        named, table, table_class = job.operation, target.table, target.table_class
        if named is None or named.kind is not OperationKind.ERASE or table is None or table_class is None:
            return None
        try:
            return await erasure_of(self._kube, named, table, table_class.spec, self._namespaces)
        except KeysLost as error:
            raise JobRefused(job, str(error)) from None

    async def _adopt(self, target: Target, job: ActiveJob) -> None:
        """Accept an existing Job of this name if it belongs to this run: the response to its creation was lost."""
        metadata = target.metadata
        existing = await self._kube.get(ObjectKey(JOB, metadata.namespace, job.name))
        if existing is None:
            raise Conflict(f"Job {job.name} comes and goes")
        if not _is_ours(existing, metadata, job):
            raise JobRefused(job, f"another Job named {job.name} exists that is not this table's; remove it")
        if not _is_of_run(existing, job):
            raise Conflict(f"Job {job.name} is that of another run")


def _is_ours(existing: Document, table: ObjectMetadata, job: ActiveJob) -> bool:
    """Whether an existing Job belongs to the table. Jobs of a deleted table have no owner reference."""
    labels = part(existing, "metadata", "labels")
    labelled = labels.get(MANAGED_BY_LABEL) == MANAGED_BY and labels.get(TABLE_UID_LABEL) == table.uid
    goes = table.deletion_timestamp is not None
    without_owner = job.service is Service.DELETION or (goes and job.service is Service.OPERATION)
    return labelled and (without_owner or controller_of(existing) == ("HudiTable", table.uid))


def _is_of_run(existing: Document, job: ActiveJob) -> bool:
    return (text(existing, "metadata", "annotations", DECIDED_AT_ANNOTATION) or job.started_at) == job.started_at
