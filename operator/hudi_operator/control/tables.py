"""The controller of tables: observes, decides, writes the status and acts, for a single table at a time.

The status is written before any action, with the resourceVersion that was read: a decision on a stale table fails there
and is made again. Most reconciles are polls and end early: nothing is due by time, and the timeline has not changed
since the table was last read whole.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import structlog

from hudi_operator.api.resources import HudiTable, InvalidObject, parse_table
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.control.actions.actor import Actor
from hudi_operator.control.actions.pipeline import Pipeline, StatusWriter
from hudi_operator.control.claims import Claims, OperatorIdentity
from hudi_operator.control.jobs.failed_logs import FailedRunLogs
from hudi_operator.control.jobs.running import RunningJobs
from hudi_operator.control.jobs.spending import Spending
from hudi_operator.control.observation.ending import FINALIZER, EndingObserver
from hudi_operator.control.observation.observer import Observer
from hudi_operator.control.observation.related import RelatedObjects
from hudi_operator.control.parts import Parts
from hudi_operator.control.settings import Settings
from hudi_operator.control.snapshots.looks import SourceLooks
from hudi_operator.control.snapshots.polling import LastReconcile, Polling, age_of
from hudi_operator.control.snapshots.reader import Snapshots, fingerprint
from hudi_operator.jobs.names import MANAGED_BY, MANAGED_BY_LABEL, TABLE_LABEL, TABLE_UID_LABEL
from hudi_operator.kube.api import KubernetesApi, add_finalizer
from hudi_operator.kube.errors import Conflict, Forbidden, KubernetesError, NotFound
from hudi_operator.kube.events import EventType
from hudi_operator.kube.keys import (
    TABLE,
    TableKey,
    class_key,
    operation_key,
    savepoint_key,
    table_key,
)
from hudi_operator.kube.objects import JOB, POD, Kind, ObjectKey, text
from hudi_operator.planning.decide import decide, requeue_after
from hudi_operator.planning.deletion.decide_ending import decide_ending, refused_ending
from hudi_operator.planning.facts.operations.decisions import with_decisions
from hudi_operator.planning.facts.operations.declared import has_begun
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.reasons import TableEvent
from hudi_operator.planning.model.times import parse_time
from hudi_operator.planning.outcome.life import refused_step, step_of, with_logs
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.planning.outcome.status.build import build_invalid_status
from hudi_operator.planning.outcome.status.failed_logs import runs_with_wanted_log
from hudi_operator.planning.outcome.status.operation_status import moved_operations
from hudi_operator.planning.outcome.status.savepoint_status import moved_savepoints
from hudi_operator.planning.outcome.status.step import Step
from hudi_operator.planning.outcome.status.transitions import transitions
from hudi_operator.runtime.controller import Children, Controller, Reconcile, Trigger
from hudi_operator.telemetry.metrics import metrics
from hudi_operator.telemetry.table_series import TableFigures

_AFTER_CONFLICT_SECONDS = (0.1, 0.3, 1.0)

_log = structlog.get_logger(__name__)
Document = dict[str, Any]


class Reconciler:
    """Reconciles tables with their spec; safe for different tables concurrently, never twice for the same table."""

    wake: Callable[[ObjectKey], None]
    """Called with the key of an object to reconcile without an event: this table, or its savepoint."""

    def __init__(
        self,
        *,
        kube: KubernetesApi,
        snapshots: Snapshots,
        settings: Settings,
        related: RelatedObjects | None = None,
        looks: SourceLooks | None = None,
    ) -> None:
        self.wake = lambda _key: None
        self._kube = kube
        self._settings = settings
        self._snapshots = snapshots
        self._looks = looks
        self._logs = FailedRunLogs(kube) if settings.failed_run_logs else None
        self._status = StatusWriter(kube)
        self._claims = Claims(kube)
        self._running = RunningJobs(wake=self._wake)
        self._spending = Spending()
        self._seeding = asyncio.Lock()
        self._seeded = False
        self._polling = Polling(least=settings.poll_seconds, most=settings.max_poll_seconds)
        identity = OperatorIdentity(kube, namespace=settings.operator_namespace, given=settings.identity)
        self._observer = Observer(
            kube=kube,
            claims=self._claims,
            snapshots=snapshots,
            running=self._running,
            spending=self._spending,
            identity=identity,
            related=related,
            looks=looks,
            namespaces=settings.watch_namespaces,
        )
        actor = Actor(
            kube=kube,
            claims=self._claims,
            default_image=settings.spark_image,
            namespaces=settings.watch_namespaces,
        )
        self._pipeline = Pipeline(status=self._status, actor=actor, running=self._running, spending=self._spending)
        self._ending = EndingObserver(
            kube=kube,
            observer=self._observer,
            claims=self._claims,
            snapshots=snapshots,
            running=self._running,
            identity=identity,
        )

    async def reconcile(self, key: TableKey, trigger: Trigger) -> float | None:
        """Reconcile a table once: do what is due; return the seconds until the next reconcile.

        None means that the table is gone. Raises errors of the Kubernetes API, which the queue retries.
        """
        if trigger is Trigger.POLL and (last := await self._unchanged(key)) is not None:
            return min(self._polling.pause(key, now=_seconds()), last.whole_at - _seconds())
        await self._count_running()
        self._polling.begin_reconcile(key)
        for pause in _AFTER_CONFLICT_SECONDS:
            try:
                return await self._reconcile_key(key, trigger)
            except Conflict:
                await asyncio.sleep(self._polling.spread(pause))
        return await self._reconcile_key(key, trigger)

    async def _unchanged(self, key: TableKey) -> LastReconcile | None:
        """Return the last reconcile of a table if nothing is due by time and timeline and namespace are unchanged."""
        last = self._polling.quick(key, now=_seconds())
        if last is None or last.location is None or await self._namespace_changed(key, last):
            return None
        now = await self._snapshots.fingerprint(last.location, last.store, namespace=key.namespace)
        if now != last.fingerprint:
            return None
        metrics.found_unchanged()
        return last

    async def _namespace_changed(self, key: TableKey, last: LastReconcile) -> bool:
        """Whether the namespace has changed since the last reconcile; no event says so, so wake its other tables."""
        try:
            namespace = await self._observer.namespaces.get(key.namespace)
        except KubernetesError:  # without the API server, polls still read timelines
            return False
        if namespace == last.namespace:
            return False
        for table in self._polling.tables_in(key.namespace):
            if table != key:
                self._wake(table)
        return True

    async def _reconcile_key(self, key: TableKey, trigger: Trigger) -> float | None:
        document = await self._kube.get(key)
        if document is None:
            self._forget(key)
            return None
        try:
            return await self._reconcile(key, document, trigger)
        except NotFound:
            if await self._kube.get(key) is None:
                self._forget(key)
                return None
            raise

    async def _reconcile(self, key: TableKey, document: Document, trigger: Trigger) -> float | None:
        parsed = parse_table(document)
        if parsed.metadata.deletion_timestamp is not None and not await self._must_finish(document, parsed):
            return await self._end(key, document, parsed)
        document = await add_finalizer(self._kube, TABLE, document, FINALIZER)
        if parsed.unreadable:
            await self._tell_unreadable(key, document, parsed.unreadable)
        if isinstance(parsed, InvalidObject):
            after = build_invalid_status(parsed, now=self._kube.now())
            metrics.set_table(key.namespace, key.name, TableFigures(status=after))
            await self._status.write(document, after, notices=transitions(parsed.status, after))
            return self._polling.spread(self._settings.max_poll_seconds)
        plan = await self._decide(key, parsed, trigger)
        step = step_of(plan)

        def refuse(job: ActiveJob, message: str, written: HudiTableStatus) -> Step:
            return refused_step(plan, job, message=message, written=written, now=self._kube.now())

        done = await self._pipeline.carry_out(key, document, step, target=plan.observation, refuse=refuse)
        for one in moved_savepoints(parsed.status, done.status):
            self.wake(savepoint_key(key.namespace, one))
        for one in moved_operations(parsed.status, done.status):
            self.wake(operation_key(key.namespace, one))
        return self._remember(key, plan) if done is step else self._settings.poll_seconds

    async def _must_finish(self, document: Document, parsed: HudiTable | InvalidObject) -> bool:
        """Whether a deleted table continues like an existing table, because a begun operation must be finished.

        In a namespace being deleted no Job can start, so nothing is awaited.
        """
        if isinstance(parsed, InvalidObject) or FINALIZER not in parsed.metadata.finalizers:
            return False
        if not has_begun(parsed.status):
            return False
        return not await self._kube.namespace_is_terminating(document)

    async def _end(self, key: TableKey, document: Document, parsed: HudiTable | InvalidObject) -> float | None:
        """Take a deleted table a step closer to its end; return the seconds until the next step, None at the end."""
        if FINALIZER not in parsed.metadata.finalizers:
            return None
        seen = await self._ending.observe(key, document, parsed)

        def refuse(job: ActiveJob, message: str, written: HudiTableStatus) -> Step:
            return refused_ending(replace(seen, status=written), job, message=message, now=self._kube.now())

        step = decide_ending(seen, now=self._kube.now())
        done = await self._pipeline.carry_out(key, document, step, target=seen, refuse=refuse)
        if done.releases:
            self._forget(key)
        return done.requeue

    async def _tell_unreadable(self, key: TableKey, document: Document, parts: tuple[str, ...]) -> None:
        _log.warning("parts of the status cannot be read", table=str(key), parts=parts)
        message = (
            f"This version of the operator cannot read these parts of the status: {', '.join(parts)}. The operator "
            "ignores them and rebuilds them from the timeline and the Jobs; the rest is kept."
        )
        await self._kube.create_event(
            document, kind=EventType.WARNING, reason=TableEvent.STATUS_UNREADABLE, message=message
        )

    async def _decide(self, key: TableKey, table: HudiTable, trigger: Trigger) -> Plan:
        """Observe and decide; a decision with actions is based on live reads of this reconcile."""
        began = _seconds()
        observation = await self._observe(key, table, trigger, since=began)
        plan = self._plan(observation)
        if plan.actions and trigger is not Trigger.EVENT:
            observation = await self._observe(key, table, Trigger.EVENT, since=began)
            plan = self._plan(observation)
        # The status of this plan ends these runs, or its actions remove their pods: nobody asks for the logs again.
        if (runs := runs_with_wanted_log(plan)) and self._logs is not None:
            logs = await self._logs.read(key.namespace, runs)
            return with_logs(self._plan(self._observer.with_places(key, plan.observation)), logs)
        return plan

    async def _observe(self, key: TableKey, table: HudiTable, trigger: Trigger, *, since: float) -> Observation:
        """Observe a table with the decisions of people about it, which the status remembers from then on."""
        observation = await self._observer.observe(key, table, trigger, since=since)
        logs: Mapping[str, str] | None = {} if self._logs is not None else None
        return with_decisions(replace(observation, logs=logs), now=self._kube.now())

    def _plan(self, observation: Observation) -> Plan:
        return decide(observation, default_image=self._settings.spark_image, now=self._kube.now())

    def _remember(self, key: TableKey, plan: Plan) -> float:
        """Remember this reconcile; return the seconds until the next."""
        observation, now = plan.observation, _seconds()
        table, snapshot = observation.table, observation.snapshot
        newest = snapshot.timeline.instants[-1].time if snapshot.timeline and snapshot.timeline.instants else None
        since = parse_time(table.metadata.creation_timestamp) or self._kube.now()
        age = age_of(newest, now=self._kube.now()) if newest else self._kube.now() - since
        busy = bool(plan.actions or plan.finished)
        last = LastReconcile(
            location=table.spec.location,
            store=observation.table_class.spec.object_store if observation.table_class else None,
            # A damaged file may be repaired under its own name, which a read of the timeline alone does not show.
            fingerprint=fingerprint(snapshot.timeline) if snapshot.trouble is None and not snapshot.damaged else None,
            namespace=observation.namespace,
            moved_at=now if busy else now - age.total_seconds(),
            whole_at=now,
        )
        self._polling.end_reconcile(key, last, moved=busy)
        pause = self._polling.pause(key, now=now)
        whole = requeue_after(plan, poll=pause, spread=self._polling.spread)
        self._polling.reconcile_from(key, now + whole)
        return min(pause, whole)

    def _wake(self, key: TableKey) -> None:
        self._polling.begin_reconcile(key)
        self.wake(key)

    def _forget(self, key: TableKey) -> None:
        self._polling.forget(key)
        self._running.forget(key)
        self._spending.forget(key)
        if self._looks is not None:
            self._looks.forget(key)
        metrics.forget_table(key.namespace, key.name)

    async def _count_running(self) -> None:
        """Count Jobs and what services used today at the start of the process, so that limits hold across a restart."""
        async with self._seeding:
            if self._seeded:
                return
            selector = f"{MANAGED_BY_LABEL}={MANAGED_BY}"
            for namespace in self._settings.watch_namespaces or (None,):
                try:
                    tables = await self._tables_by_uid(namespace)
                except Forbidden:
                    if namespace is None:
                        raise
                    continue  # not served; its Jobs count from the first reconciles of their tables
                async for job in self._kube.each(JOB, namespace, label_selector=selector):
                    self._running.seed(job, tables)
            self._seeded = True

    async def _tables_by_uid(self, namespace: str | None) -> dict[str, TableKey]:
        keys: dict[str, TableKey] = {}
        default_class = await self._observer.default_class_name()
        async for document in self._kube.each(TABLE, namespace):
            metadata = document["metadata"]
            keys[metadata["uid"]] = table_key(metadata["namespace"], metadata["name"])
            self._spending.seed(keys[metadata["uid"]], document, default_class=default_class)
        return keys


def _seconds() -> float:
    return asyncio.get_running_loop().time()


def _connect(parts: Parts) -> Reconcile:
    related = RelatedObjects(kube=parts.kube, known=parts.known, controllers=parts.controllers)
    reconciler = Reconciler(
        kube=parts.kube, snapshots=parts.snapshots, settings=parts.settings, related=related, looks=parts.looks
    )
    reconciler.wake = parts.wake
    return reconciler.reconcile


def _class_of(table: object) -> ObjectKey:
    """Return the class of a table; the key without a name stands for the default class."""
    return class_key(text(table, "spec", "tableClassName") or "")


def _labelled(kind: Kind) -> Children:
    selector = f"{MANAGED_BY_LABEL}={MANAGED_BY}"
    return Children(kind=kind, label_selector=selector, uid_label=TABLE_UID_LABEL, name_label=TABLE_LABEL)


TABLES = Controller(
    kind=TABLE,
    connect=_connect,
    reference=_class_of,
    children=(_labelled(JOB), _labelled(POD)),
    polled=True,
    finalizer=FINALIZER,
)
