"""The end of a table in the Kubernetes API: what `decide_ending` asks for, each step safe to do again."""

import asyncio
import logging
from typing import Any

import structlog

from hudi_operator.api.resources import HudiTable, HudiTableClass, InvalidObject, ObjectMetadata
from hudi_operator.api.table_spec import DeletionPolicy, ExecutionMode
from hudi_operator.api.table_status import HudiTableStatus, service_name
from hudi_operator.control.actor import Actor, JobRefused
from hudi_operator.control.claims import Claims
from hudi_operator.control.identity import OperatorIdentity
from hudi_operator.control.keys import TABLE, TableKey
from hudi_operator.control.look_reading import Questions
from hudi_operator.control.looks import TimelineLooks
from hudi_operator.control.observer import Observer
from hudi_operator.control.running import RunningJobs
from hudi_operator.control.status_writer import StatusWriter
from hudi_operator.kube.api import KubernetesApi, remove_finalizer
from hudi_operator.kube.events import EventType
from hudi_operator.kube.kinds import JOB, ObjectKey
from hudi_operator.planning.deletion.decide import awaits_confirmation, decide_ending, refused_ending
from hudi_operator.planning.deletion.model import Ending, EndingObservation, EndingPlan
from hudi_operator.planning.model import (
    Blocked,
    JobObservation,
    JobPhase,
    LaunchJob,
    Observation,
    Obstacle,
    TimelineLook,
    TimelineTrouble,
    is_hidden,
)
from hudi_operator.telemetry.metrics import metrics

_IS_IT_GONE = Questions(live=True)

FINALIZER = "hudi-operator.io/claim"
"""Holds a deleted table until its Jobs have ended and its claim is released."""

_log = structlog.get_logger(__name__)
Document = dict[str, Any]


class Finalizer:
    """Brings deleted tables to their end."""

    def __init__(
        self,
        *,
        kube: KubernetesApi,
        observer: Observer,
        actor: Actor,
        claims: Claims,
        looks: TimelineLooks,
        running: RunningJobs,
        identity: OperatorIdentity,
    ) -> None:
        self._kube = kube
        self._observer = observer
        self._actor = actor
        self._claims = claims
        self._looks = looks
        self._running = running
        self._identity = identity
        self._now = kube.now
        self._status = StatusWriter(kube)

    async def finalize(self, key: TableKey, document: Document, parsed: HudiTable | InvalidObject) -> float | None:
        """Take a deleted table one step closer to its end; return the seconds until the next look, None at the end."""
        if FINALIZER not in parsed.metadata.finalizers:
            return None
        seen = await self._observe(key, document, parsed)
        plan = decide_ending(seen, now=self._now())
        if plan.ending is not None:
            await self._end(key, document, seen, plan.ending)
            return None
        self._record(key, seen, plan.status)
        document = await self._write(document, plan)
        for job in plan.stop:
            await self._stop(key, job)
        return await self._launch(key, document, seen, plan)

    async def _stop(self, key: TableKey, job: JobObservation) -> None:
        if job.executors:
            await self._actor.remove_executors(key.namespace, job.name, job.executors)
            return
        await self._kube.delete(ObjectKey(JOB, key.namespace, job.name), uid=job.uid)
        _log.info("job stopped", job=job.name, reason="the table is deleted")

    async def _observe(self, key: TableKey, document: Document, parsed: HudiTable | InvalidObject) -> EndingObservation:
        metadata, spec = parsed.metadata, document.get("spec") or {}
        policy = DeletionPolicy.DELETE if spec.get("deletionPolicy") == "Delete" else DeletionPolicy.RETAIN
        deletes = policy is DeletionPolicy.DELETE
        base_path = str(spec.get("basePath", ""))
        table_class, obstacles = await self._walls(parsed)
        name = table_class.metadata.name if table_class is not None else ""
        observed = await self._observer.jobs(metadata, parsed.status)
        at_rest = all(job.phase is JobPhase.OVER for job in observed)
        # Before the data is removed, the store says whose it is; after that, whether it is gone.
        looks = awaits_confirmation(parsed.status) or (deletes and at_rest)
        return EndingObservation(
            metadata=metadata,
            status=parsed.status,
            policy=policy,
            base_path=base_path,
            table=parsed if isinstance(parsed, HudiTable) else None,
            table_class=table_class,
            obstacles=obstacles,
            claim_held=deletes and await self._claims.holds(metadata, base_path),
            namespace_terminating=deletes and await self._kube.namespace_is_terminating(document),
            jobs=observed,
            look=await self._look(metadata, base_path, table_class, obstacles) if looks else None,
            operator=await self._identity.get(),
            running_in_class=self._running.in_class(name, without=key),
            running_in_namespace=self._running.in_namespace(name, without=key),
        )

    async def _walls(self, parsed: HudiTable | InvalidObject) -> tuple[HudiTableClass | None, tuple[Obstacle, ...]]:
        if isinstance(parsed, InvalidObject):
            return None, (Obstacle(reason=Blocked.INVALID_SPEC, message=f"the spec is not valid: {parsed.message}."),)
        return await self._observer.walls_of(parsed, since=asyncio.get_running_loop().time())

    async def _look(
        self,
        metadata: ObjectMetadata,
        base_path: str,
        table_class: HudiTableClass | None,
        obstacles: tuple[Obstacle, ...],
    ) -> TimelineLook:
        if table_class is None or is_hidden(obstacles):  # without a class another store might be asked
            return TimelineLook.forbidden(obstacles)
        if await self._claims.is_taken(metadata, base_path):
            message = "The folder is claimed by another table."
            return TimelineLook(trouble=TimelineTrouble.NOT_LOOKED_AT, message=message)
        store, namespace = table_class.spec.object_store, metadata.namespace
        return await self._looks.look(base_path, store, namespace=namespace, questions=_IS_IT_GONE)

    async def _launch(
        self, key: TableKey, document: Document, seen: EndingObservation, plan: EndingPlan
    ) -> float | None:
        if plan.launch is None or seen.table is None:
            return plan.next_look
        observation = Observation(
            table=_without_executors(seen.table),
            table_class=seen.table_class,
            obstacles=(),
            look=TimelineLook(),
            jobs=(),
            operator=seen.operator,
        )
        try:
            await self._actor.act(observation, LaunchJob(job=plan.launch))
        except JobRefused as refusal:
            _log.warning("job refused", job=refusal.job.name, error=str(refusal))
            after = refused_ending(seen, plan.launch, message=str(refusal), now=self._now())
            self._record(key, seen, after.status)
            await self._write(document, after)
            return after.next_look
        return plan.next_look

    async def _write(self, document: Document, plan: EndingPlan) -> Document:
        notices = () if plan.notice is None else (plan.notice,)
        return await self._status.write(document, plan.status, finished=plan.finished, notices=notices)

    async def _end(self, key: TableKey, document: Document, seen: EndingObservation, ending: Ending) -> None:
        # The log says it too: in a namespace that is being deleted no Event can be posted.
        level = logging.WARNING if ending.warning else logging.INFO
        _log.log(level, "table released", outcome=ending.event.value, path=seen.base_path, text=ending.message)
        kind = EventType.WARNING if ending.warning else EventType.NORMAL
        await self._kube.create_event(document, kind=kind, reason=ending.event, message=ending.message, once=True)
        await self._claims.release(seen.metadata)
        await remove_finalizer(self._kube, TABLE, document, FINALIZER)
        self._running.forget(key)
        metrics.set_active_jobs(str(key), ())

    def _record(self, key: TableKey, seen: EndingObservation, status: HudiTableStatus) -> None:
        name = seen.table_class.metadata.name if seen.table_class is not None else ""
        self._running.record(key, class_name=name, jobs=len(status.active_jobs))
        metrics.set_active_jobs(str(key), [service_name(job.service) for job in status.active_jobs])


def _without_executors(table: HudiTable) -> HudiTable:
    """Return a table whose run is one pod: removing files is one process's work."""
    execution = table.spec.execution.model_copy(update={"mode": ExecutionMode.LOCAL})
    return table.model_copy(update={"spec": table.spec.model_copy(update={"execution": execution})})
