"""The reconciler: observe, decide, write the status, act, for one table at a time.

The status is written before anything is done, with the resourceVersion of the table that was read: a decision made on
an old view of the table fails there and is made anew.
"""

import asyncio
from datetime import UTC, datetime
from typing import Any

import structlog

from hudi_operator.api.resources import InvalidObject, ObjectMetadata, parse_table
from hudi_operator.api.table_status import HudiTableStatus
from hudi_operator.control.actor import Actor, JobRefused
from hudi_operator.control.claims import Claims
from hudi_operator.control.keys import TableKey
from hudi_operator.control.looks import TimelineLooks
from hudi_operator.control.observer import Observer
from hudi_operator.control.running import RunningJobs
from hudi_operator.control.settings import Settings
from hudi_operator.jobs.names import MANAGED_BY, MANAGED_BY_LABEL
from hudi_operator.kube.client import KubernetesClient
from hudi_operator.kube.errors import Conflict, NotFound
from hudi_operator.kube.events import EventType
from hudi_operator.planning.decide import decide
from hudi_operator.planning.model import JobPhase, Observation, Plan
from hudi_operator.planning.refusal import refused
from hudi_operator.planning.status import build_invalid_status, build_status
from hudi_operator.planning.transitions import transitions
from hudi_operator.telemetry.metrics import metrics

FINALIZER = "hudi-operator.io/claim"

_AFTER_CONFLICT_SECONDS = 0.2
_ENDING_LOOK_SECONDS = 2.0

_log = structlog.get_logger(__name__)
Document = dict[str, Any]


class Reconciler:
    """Brings tables to their declared shape; safe to call for different tables at once, never twice for one."""

    def __init__(self, *, kube: KubernetesClient, looks: TimelineLooks, settings: Settings) -> None:
        self._kube = kube
        self._settings = settings
        self._claims = Claims(kube)
        self._running = RunningJobs()
        self._seeding = asyncio.Lock()
        self._observer = Observer(kube=kube, claims=self._claims, looks=looks, running=self._running)
        self._actor = Actor(kube=kube, default_image=settings.spark_image)

    async def reconcile(self, key: TableKey) -> float | None:
        """Look at a table once and do what is due; return the seconds until the next look.

        None means that the table is gone. Errors of the Kubernetes API are raised and retried by the queue.
        """
        await self._count_running()
        document = await self._kube.get_table(key.namespace, key.name)
        if document is None:
            self._forget(key)
            return None
        try:
            return await self._reconcile(key, document)
        except Conflict:
            return _AFTER_CONFLICT_SECONDS
        except NotFound:
            if await self._kube.get_table(key.namespace, key.name) is None:
                return None
            raise

    async def _reconcile(self, key: TableKey, document: Document) -> float | None:
        parsed = parse_table(document)
        if parsed.metadata.deletion_timestamp is not None:
            return await self._finalize(key, document, parsed.metadata)
        document = await self._kube.add_finalizer(document, FINALIZER)
        if isinstance(parsed, InvalidObject):
            status = build_invalid_status(parsed, now=_now())
            await self._write(document, parsed.status, status)
            return self._settings.poll_seconds
        observation = await self._observer.observe(key, parsed)
        plan = decide(
            observation,
            default_image=self._settings.spark_image,
            poll_seconds=self._settings.poll_seconds,
            now=_now(),
        )
        self._record(key, observation, plan)
        document = await self._write(document, parsed.status, build_status(observation, plan, now=_now()))
        for run in plan.finished:
            metrics.run_finished(run)
            _log.info("run finished", **run.model_dump(mode="json", exclude_none=True))
        return await self._act(key, observation, plan, document)

    async def _act(self, key: TableKey, observation: Observation, plan: Plan, document: Document) -> float | None:
        for action in plan.actions:
            try:
                await self._actor.act(observation, action)
            except JobRefused as refusal:
                _log.warning("job refused", job=refusal.job.name, error=str(refusal))
                after = refused(plan, refusal.job, observation=observation, message=str(refusal), now=_now())
                self._record(key, observation, after)
                status = build_status(observation, after, now=_now())
                await self._write(document, HudiTableStatus.model_validate(document["status"]), status)
                return min(self._settings.poll_seconds, plan.next_look or self._settings.poll_seconds)
        return plan.next_look

    async def _write(self, document: Document, before: HudiTableStatus, after: HudiTableStatus) -> Document:
        """Write the status if it has changed, and post Events for what has changed in it."""
        written = await self._kube.replace_table_status(document, after.to_document())
        for transition in transitions(before, after):
            kind = EventType.WARNING if transition.warning else EventType.NORMAL
            await self._kube.create_event(written, kind=kind, reason=transition.reason, message=transition.message)
        return written

    async def _finalize(self, key: TableKey, document: Document, metadata: ObjectMetadata) -> float | None:
        """Stop the table's Jobs, then release its claim and let the resource go; the data stays."""
        if FINALIZER not in metadata.finalizers:
            return None
        jobs = await self._observer.jobs(metadata)
        for job in jobs:
            if job.phase is not JobPhase.OVER:
                await self._kube.delete_job(metadata.namespace, job.name, uid=job.uid)
        if any(job.phase is not JobPhase.OVER for job in jobs):
            return _ENDING_LOOK_SECONDS
        await self._claims.release(metadata)
        await self._kube.remove_finalizer(document, FINALIZER)
        self._forget(key)
        _log.info("table released", uid=metadata.uid)
        return None

    def _record(self, key: TableKey, observation: Observation, plan: Plan) -> None:
        name = observation.table_class.metadata.name if observation.table_class else ""
        self._running.record(key, class_name=name, jobs=len(plan.active_jobs))
        metrics.set_active_jobs(str(key), [job.service.value for job in plan.active_jobs])

    def _forget(self, key: TableKey) -> None:
        self._running.forget(key)
        metrics.set_active_jobs(str(key), ())

    async def _count_running(self) -> None:
        """Count the Jobs that are there when the process begins, so that limits hold across a restart."""
        async with self._seeding:
            if self._running.is_seeded:
                return
            namespaces = self._settings.watch_namespaces or (None,)
            selector = f"{MANAGED_BY_LABEL}={MANAGED_BY}"
            found = [job for namespace in namespaces for job in await self._kube.list_jobs(selector, namespace)]
            self._running.seed(found)


def _now() -> datetime:
    return datetime.now(UTC)
