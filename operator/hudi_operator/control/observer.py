"""Observation: everything that a decision needs to know of one table, read live."""

from datetime import UTC, datetime
from typing import Any

from hudi_operator.api.resources import (
    HudiTable,
    HudiTableClass,
    InvalidObject,
    ObjectMetadata,
    is_default_class,
    parse_table_class,
)
from hudi_operator.control.claims import Claims
from hudi_operator.control.job_view import observe_jobs
from hudi_operator.control.keys import TableKey
from hudi_operator.control.looks import TimelineLooks
from hudi_operator.control.running import RunningJobs
from hudi_operator.jobs.names import MANAGED_BY, MANAGED_BY_LABEL, TABLE_UID_LABEL
from hudi_operator.kube.client import KubernetesClient
from hudi_operator.planning.model import Blocked, JobObservation, Observation, Obstacle
from hudi_operator.planning.walls import obstacles_of


class Observer:
    """Reads the class, the claim, the Jobs and the timeline of a table."""

    def __init__(self, *, kube: KubernetesClient, claims: Claims, looks: TimelineLooks, running: RunningJobs) -> None:
        self._kube = kube
        self._claims = claims
        self._looks = looks
        self._running = running

    async def observe(self, key: TableKey, table: HudiTable) -> Observation:
        """Return one look at a table. Errors of the Kubernetes API are raised, those of the store are observed."""
        table_class, obstacles = await self._class_of(table)
        if table_class is not None:
            obstacles = obstacles_of(table, table_class)
        if not obstacles and (rival := await self._claims.ensure(table)) is not None:
            obstacles = (rival,)
        jobs = await self.jobs(table.metadata)
        store = table_class.spec.object_store if table_class else None
        # The look comes last: what a run that was seen to end has written is then in it.
        look = await self._looks.look(table.spec.base_path, store)
        name = table_class.metadata.name if table_class else ""
        return Observation(
            table=table,
            table_class=table_class,
            obstacles=obstacles,
            look=look,
            jobs=jobs,
            running_in_class=self._running.in_class(name, without=key),
            running_in_namespace=self._running.in_namespace(name, without=key),
        )

    async def jobs(self, metadata: ObjectMetadata) -> tuple[JobObservation, ...]:
        """Return the Jobs of a table, with the drivers' pods that outlive theirs."""
        selector = f"{MANAGED_BY_LABEL}={MANAGED_BY},{TABLE_UID_LABEL}={metadata.uid}"
        jobs = await self._kube.list_jobs(selector, metadata.namespace)
        pods = await self._kube.list_pods(metadata.namespace, selector)
        return observe_jobs(jobs, pods, now=datetime.now(UTC))

    async def _class_of(self, table: HudiTable) -> tuple[HudiTableClass | None, tuple[Obstacle, ...]]:
        name = table.spec.table_class_name
        document = await self._kube.get_class(name) if name is not None else await self._default_class()
        if document is None:
            missing = (
                f"HudiTableClass {name} does not exist: create it, or name another in spec.tableClassName."
                if name is not None
                else "No HudiTableClass is marked as the default: name one in spec.tableClassName."
            )
            return None, (Obstacle(reason=Blocked.CLASS_NOT_FOUND, message=missing),)
        parsed = parse_table_class(document)
        if isinstance(parsed, InvalidObject):
            message = f"HudiTableClass {parsed.metadata.name} is not valid for this operator: {parsed.message}."
            return None, (Obstacle(reason=Blocked.CLASS_INVALID, message=message),)
        return parsed, ()

    async def _default_class(self) -> dict[str, Any] | None:
        marked = [document for document in await self._kube.list_classes() if is_default_class(document)]
        return min(marked, key=lambda document: str(document["metadata"]["name"]), default=None)
