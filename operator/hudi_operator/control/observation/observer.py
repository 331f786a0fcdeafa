"""Observes everything that a decision about a table needs.

The trigger decides how much is read live. A poll reads the timeline, and Jobs only if the status lists some; a Job's or
pod's event reads Jobs and pods; any other trigger, and every action, reads everything live.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import structlog

from hudi_jobs.contract import ConcurrencyMode, Service
from hudi_operator.api.resources import HudiTable, HudiTableClass, InvalidObject, ObjectMetadata
from hudi_operator.api.spec.table import HudiTableSpec, ManagementPolicy
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.catalogs.registry import entries_of
from hudi_operator.control.claims import Claims, OperatorIdentity
from hudi_operator.control.jobs.event_words import NOT_ALLOWED, newest_words
from hudi_operator.control.jobs.job_view import observe_jobs
from hudi_operator.control.jobs.running import RunningJobs, own_jobs, own_pods
from hudi_operator.control.jobs.spending import Spending
from hudi_operator.control.observation.derived import Readings, derived_from
from hudi_operator.control.observation.recent import Namespaces, TableClasses
from hudi_operator.control.observation.related import RelatedObjects, remembered
from hudi_operator.control.snapshots.looks import SourceLooks
from hudi_operator.control.snapshots.reader import Snapshots
from hudi_operator.control.snapshots.reading import Questions
from hudi_operator.jobs.names import table_selector
from hudi_operator.kube.api import KubernetesApi
from hudi_operator.kube.errors import KubernetesError
from hudi_operator.kube.keys import TableKey
from hudi_operator.kube.objects import JOB, POD
from hudi_operator.planning.facts.operations.cascade import awaits_lineage
from hudi_operator.planning.facts.runs.shown_progress import leases_to_read
from hudi_operator.planning.facts.savepoints.requested import may_choose_again
from hudi_operator.planning.model import (
    Blocker,
    BlockerReason,
    Derived,
    DerivedTable,
    JobObservation,
    JobPhase,
    Observation,
    Related,
    Spent,
    TimelineSnapshot,
    is_hidden,
    keeps_figures,
)
from hudi_operator.planning.needs.looks import wants_look
from hudi_operator.planning.outcome.status.class_status import class_problem
from hudi_operator.planning.policy.class_policy import allows_base_path, policy_blockers
from hudi_operator.planning.policy.namespaces import asks_for_labels, namespace_blocker
from hudi_operator.runtime.controller import Trigger
from hudi_operator.services.clustering import small_file_limit
from hudi_operator.sources.look import SourceLook

_log = structlog.get_logger(__name__)

_REWRITE = frozenset({Service.SAVEPOINT, Service.OPERATION})


class Observer:
    """Reads the class, claim, Jobs and timeline of a table."""

    def __init__(
        self,
        *,
        kube: KubernetesApi,
        claims: Claims,
        snapshots: Snapshots,
        running: RunningJobs,
        spending: Spending,
        identity: OperatorIdentity,
        related: RelatedObjects | None = None,
        looks: SourceLooks | None = None,
        namespaces: Sequence[str] = (),
    ) -> None:
        self._kube = kube
        self._classes = TableClasses(kube)
        self.namespaces = Namespaces(kube)
        self._claims = claims
        self._snapshots = snapshots
        self._running = running
        self._spending = spending
        self._identity = identity
        self._related = related
        self._looks = looks
        self._readings = Readings(kube, namespaces)

    async def observe(
        self, key: TableKey, table: HudiTable, trigger: Trigger, *, since: float | None = None
    ) -> Observation:
        """Return an observation of a table. Raises Kubernetes API errors; store errors become part of the observation.

        `since` is the start of the reconcile, in seconds of the event loop: anything read since then counts as live.
        """
        await self._claims.load()
        live = trigger is Trigger.EVENT or not self._claims.remembers(table)
        now = asyncio.get_running_loop().time()
        read_since = (since or now) if live else None
        table_class, blockers = await self.class_and_blockers(table, since=read_since)
        if live and not is_hidden(blockers) and (rival := await self._claims.ensure(table)) is not None:
            blockers = (rival, *blockers)
        holds_claim = keeps_figures(blockers) and await self._holds_claim(table, live=live)
        entry_taken = await self._entry_taken(table, table_class, blockers, live=live)
        jobs_matter = trigger is not Trigger.POLL or live or table.status.active_jobs
        jobs = await self.jobs(table.metadata, table.status) if jobs_matter else ()
        related = await self.related_to(key, table)
        derived = await self._derived_from(table, since=read_since) if awaits_lineage(related) else None
        namespace = await self.namespaces.get(key.namespace, since=read_since)
        # The snapshot comes last, so that it includes the commits of any run seen to end.
        snapshot = await self._snapshot(table, table_class, blockers, whole=_has_ended(table.status, jobs))
        observation = Observation(
            table=table,
            table_class=table_class,
            blockers=blockers,
            snapshot=snapshot,
            jobs=jobs,
            spent_elsewhere=self._spent_elsewhere(key, table_class),
            operator=await self._identity.get(),
            related=related,
            derived=derived,
            namespace=namespace,
            holds_claim=holds_claim,
            entry_taken=entry_taken,
        )
        return self.with_places(key, replace(observation, look=await self._look(key, observation)))

    def with_places(self, key: TableKey, observation: Observation) -> Observation:
        """Return the observation with the places of the class that other tables have now.

        A limit of the class holds if nothing is awaited between this and the record of the decided Jobs.
        """
        name = observation.table_class.metadata.name if observation.table_class else ""
        return replace(
            observation,
            running_in_class=self._running.in_class(name, without=key),
            running_in_namespace=self._running.in_namespace(name, without=key),
            holders=self._running.holders(name, without=key),
        )

    def _spent_elsewhere(self, key: TableKey, table_class: HudiTableClass | None) -> Spent:
        """Return what table services of other tables used today, summed only for a class with a budget."""
        if table_class is None or table_class.spec.budgets.table_services.cpu_time_per_namespace_and_day is None:
            return Spent()
        today = self._kube.now().astimezone(UTC).date()
        return self._spending.elsewhere(table_class.metadata.name, today, without=key)

    async def _look(self, key: TableKey, observation: Observation) -> SourceLook | None:
        """Return the last look at the source, or a new look once everything allows the table and a run is due."""
        table, table_class = observation.table, observation.table_class
        if self._looks is None or table_class is None or observation.blockers:
            return None
        last = self._looks.last(key, table, table_class)
        if observation.snapshot.trouble is not None:
            return last
        if not wants_look(replace(observation, look=last), self._kube.now()):
            return last
        return await self._looks.look(key, table, table_class)

    async def _holds_claim(self, table: HudiTable, *, live: bool) -> bool:
        return await self._claims.holds(table.metadata, table.spec.base_path) if live else self._claims.remembers(table)

    async def _entry_taken(
        self, table: HudiTable, table_class: HudiTableClass | None, blockers: tuple[Blocker, ...], *, live: bool
    ) -> str | None:
        """Claim the catalog entries of a table that may start runs; return why another table keeps them."""
        if table_class is None or blockers:
            return None
        observes = table.spec.management_policy is ManagementPolicy.OBSERVE
        entries = () if observes else entries_of(table, table_class.spec)
        return await self._claims.ensure_entries(table, entries, live=live)

    async def _derived_from(self, table: HudiTable, *, since: float | None) -> Derived:
        """Return the tables that read from this table, directly or indirectly, with their classes."""
        namespace = table.metadata.namespace
        derived = await derived_from(self._kube, table, await self._readings.get(namespace, since=since))
        circle = derived.lineage.circle
        # the operation's message does not name tables of other namespaces
        if circle is not None and circle.namespace != namespace:
            names = (f"{namespace}/{table.metadata.name}", f"{circle.namespace}/{circle.name}")
            _log.warning("tables of two namespaces read each other, so no erasure cascades", tables=names)
        tables = [await self._with_class(one, since=since) for one in derived.tables]
        return replace(derived, tables=tuple(tables))

    async def _with_class(self, one: DerivedTable, *, since: float | None) -> DerivedTable:
        if one.table is None:
            return one
        table_class, blockers = await self.class_and_blockers(one.table, since=since)
        return replace(one, table_class=table_class, blockers=blockers)

    async def related_to(self, key: TableKey, table: HudiTable) -> Related:
        """Return the objects of other kinds that name a table."""
        if self._related is None:
            return Related()
        return Related.of(await self._related.of(key, remembered=remembered(key.namespace, table.status)))

    async def _snapshot(
        self, table: HudiTable, table_class: HudiTableClass | None, blockers: tuple[Blocker, ...], *, whole: bool
    ) -> TimelineSnapshot:
        location = table.spec.location
        if table_class is None or location is None or is_hidden(blockers):
            return TimelineSnapshot.forbidden(blockers)
        questions = _questions(table.spec, table.status, now=self._kube.now())
        return await self._snapshots.read(
            location,
            table_class.spec.object_store,
            namespace=table.metadata.namespace,
            questions=replace(questions, live=questions.live or whole),
        )

    async def jobs(self, metadata: ObjectMetadata, status: HudiTableStatus) -> tuple[JobObservation, ...]:
        """Return the table's own Jobs, including driver pods that outlive their Job."""
        selector, remembered = table_selector(metadata.uid), status.active_jobs
        jobs = await self._kube.list(JOB, metadata.namespace, label_selector=selector)
        pods = await self._kube.list(POD, metadata.namespace, label_selector=selector)
        own = own_jobs(jobs, table_uid=metadata.uid, remembered=remembered)
        own_of_jobs = own_pods(pods, jobs=own, remembered=remembered)
        name, now = f"{metadata.namespace}/{metadata.name}", self._kube.now()
        found = observe_jobs(own, own_of_jobs, table=name, now=now)
        words = {job.asks: await self._words(metadata.namespace, job) for job in found if job.asks}
        return observe_jobs(own, own_of_jobs, table=name, now=now, words=words) if words else found

    async def _words(self, namespace: str, job: JobObservation) -> str:
        """Return what Events say a Job waits for; without them the status says less, and nothing else changes."""
        try:
            events = await self._kube.warnings_about(namespace, job.asks)
        except KubernetesError as error:
            _log.warning("events not read", namespace=namespace, error=str(error))
            return ""
        return NOT_ALLOWED if events is None else newest_words(events, since=job.asks_since)

    async def default_class_name(self) -> str:
        """Return the name of the default class; empty without one."""
        found = await self._classes.get(None)
        return found.metadata.name if found is not None else ""

    async def class_and_blockers(
        self, table: HudiTable, *, since: float | None
    ) -> tuple[HudiTableClass | None, tuple[Blocker, ...]]:
        """Return the class of a table and its blockers, read at `since` or later.

        Without `since`, they are at most a minute old. The class is None if none can be used.
        """
        name, namespace = table.spec.table_class_name, table.metadata.namespace
        parsed = await self._classes.get(name, since=since)
        if parsed is None:
            missing = (
                f"HudiTableClass {name} does not exist: create it, or name another in spec.tableClassName."
                if name is not None
                else "No HudiTableClass is marked as the default: name a class in spec.tableClassName."
            )
            return None, (Blocker(reason=BlockerReason.CLASS_NOT_FOUND, message=missing, keeps_figures=True),)
        problem = class_problem(parsed)
        if problem is not None or isinstance(parsed, InvalidObject):
            message = f"HudiTableClass {parsed.metadata.name} is not valid for this operator: {problem}."
            return None, (Blocker(reason=BlockerReason.CLASS_INVALID, message=message, keeps_figures=True),)
        known = await self.namespaces.get(namespace, since=since) if asks_for_labels(parsed, namespace) else None
        labels = known.labels if known is not None else None
        if (stranger := namespace_blocker(parsed, namespace, labels)) is not None:
            return parsed, (replace(stranger, keeps_figures=allows_base_path(table, parsed)),)
        return parsed, policy_blockers(table, parsed)


def _has_ended(status: HudiTableStatus, jobs: Iterable[JobObservation]) -> bool:
    """Whether a run listed as active in the status has ended.

    The run may have changed `hoodie.properties`, which an incremental read does not see: Hudi names the metadata table
    there only after creating it.
    """
    going = {job.name for job in jobs if job.phase is not JobPhase.OVER}
    return any(job.name not in going for job in status.active_jobs)


def _questions(spec: HudiTableSpec, status: HudiTableStatus, *, now: datetime) -> Questions:
    checked = status.timeline.verified_up_to if status.timeline else None
    is_serialized = spec.concurrency.mode is ConcurrencyMode.SERIALIZED
    return Questions(
        # A savepoint has the time of its commit, so an old savepoint only appears in a full listing. An operation
        # rewrites the whole timeline.
        live=any(job.service in _REWRITE for job in status.active_jobs) or may_choose_again(status),
        checked_up_to=checked if is_serialized and spec.management_policy is not ManagementPolicy.OBSERVE else None,
        progress=spec.continues or any(job.live is not None for job in status.active_jobs),
        operation=any(job.operation is not None and not job.operation.dry_run for job in status.active_jobs),
        catalog=spec.catalog is not None,
        small_file_limit=small_file_limit(spec),
        runs=tuple(one.last_run.job for _, one in status.services if one is not None and one.last_run is not None),
        leases=leases_to_read(status.active_jobs, now=now),
        is_running=bool(status.active_jobs),
    )
