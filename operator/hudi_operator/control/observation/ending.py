"""Observes a deleted table for `decide_ending`."""

import asyncio
from typing import Any

from hudi_jobs.contract import Location
from hudi_operator.api.resources import HudiTable, HudiTableClass, InvalidObject, ObjectMetadata
from hudi_operator.api.spec.table import DeletionPolicy
from hudi_operator.control.claims import Claims, OperatorIdentity
from hudi_operator.control.jobs.running import RunningJobs
from hudi_operator.control.observation.observer import Observer
from hudi_operator.control.snapshots.reader import Snapshots
from hudi_operator.control.snapshots.reading import Questions
from hudi_operator.kube.api import KubernetesApi
from hudi_operator.kube.keys import TableKey
from hudi_operator.planning.deletion.attempts import EndingObservation
from hudi_operator.planning.deletion.decide_ending import awaits_confirmation
from hudi_operator.planning.facts.operations.decisions import with_decisions
from hudi_operator.planning.model import (
    Blocker,
    BlockerReason,
    JobPhase,
    NamespaceObservation,
    Observation,
    TimelineSnapshot,
    TimelineTrouble,
    is_hidden,
)

_IS_IT_GONE = Questions(live=True)

FINALIZER = "hudi-operator.io/claim"
"""Holds a deleted table until its Jobs have ended and its claim is released."""

Document = dict[str, Any]


class EndingObserver:
    """Reads everything that the end of a table depends on, live."""

    def __init__(
        self,
        *,
        kube: KubernetesApi,
        observer: Observer,
        claims: Claims,
        snapshots: Snapshots,
        running: RunningJobs,
        identity: OperatorIdentity,
    ) -> None:
        self._kube = kube
        self._observer = observer
        self._claims = claims
        self._snapshots = snapshots
        self._running = running
        self._identity = identity

    async def observe(self, key: TableKey, document: Document, parsed: HudiTable | InvalidObject) -> EndingObservation:
        """Return an observation of a deleted table, even if its spec is invalid."""
        metadata, spec = parsed.metadata, document.get("spec") or {}
        policy = DeletionPolicy.DELETE if spec.get("deletionPolicy") == "Delete" else DeletionPolicy.RETAIN
        deletes = policy is DeletionPolicy.DELETE
        base_path = str(spec.get("basePath", ""))
        table_class, blockers = await self._class_and_blockers(parsed)
        name = table_class.metadata.name if table_class is not None else ""
        observed = await self._observer.jobs(metadata, parsed.status)
        at_rest = all(job.phase is JobPhase.OVER for job in observed)
        # Before removing data, the store tells who owns it; afterwards, whether it is gone.
        reads = awaits_confirmation(parsed.status) or (deletes and at_rest)
        operator = await self._identity.get()
        snapshot = await self._snapshot(metadata, base_path, table_class, blockers) if reads else None
        if isinstance(parsed, HudiTable) and snapshot is not None:
            # The owner of the table may keep its data from removal, and a person may decide that meanwhile.
            seen = Observation(
                table=parsed,
                table_class=table_class,
                blockers=blockers,
                snapshot=snapshot,
                jobs=(),
                operator=operator,
                related=await self._observer.related_to(key, parsed),
            )
            parsed = with_decisions(seen, now=self._kube.now()).table
        return EndingObservation(
            metadata=metadata,
            status=parsed.status,
            policy=policy,
            base_path=base_path,
            table=parsed if isinstance(parsed, HudiTable) else None,
            table_class=table_class,
            blockers=blockers,
            namespace=await self._namespace(key) if deletes else NamespaceObservation(),
            claim_held=deletes and await self._claims.holds(metadata, base_path),
            namespace_terminating=deletes and await self._kube.namespace_is_terminating(document),
            jobs=observed,
            snapshot=snapshot,
            operator=operator,
            running_in_class=self._running.in_class(name, without=key),
            running_in_namespace=self._running.in_namespace(name, without=key),
        )

    async def _namespace(self, key: TableKey) -> NamespaceObservation | None:
        return await self._observer.namespaces.get(key.namespace, since=asyncio.get_running_loop().time())

    async def _class_and_blockers(
        self, parsed: HudiTable | InvalidObject
    ) -> tuple[HudiTableClass | None, tuple[Blocker, ...]]:
        if isinstance(parsed, InvalidObject):
            return None, (
                Blocker(reason=BlockerReason.INVALID_SPEC, message=f"the spec is not valid: {parsed.message}."),
            )
        return await self._observer.class_and_blockers(parsed, since=asyncio.get_running_loop().time())

    async def _snapshot(
        self,
        metadata: ObjectMetadata,
        base_path: str,
        table_class: HudiTableClass | None,
        blockers: tuple[Blocker, ...],
    ) -> TimelineSnapshot:
        location = Location.parse_or_none(base_path)
        if (
            table_class is None or location is None or is_hidden(blockers)
        ):  # without a class, the wrong store might be read
            return TimelineSnapshot.forbidden(blockers)
        if await self._claims.is_taken(metadata, base_path):
            message = "The folder is claimed by another table."
            return TimelineSnapshot(trouble=TimelineTrouble.NOT_OBSERVED, message=message)
        store, namespace = table_class.spec.object_store, metadata.namespace
        return await self._snapshots.read(location, store, namespace=namespace, questions=_IS_IT_GONE)
