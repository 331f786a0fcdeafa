"""Reads the objects that refer to a table or that its status names, and ranks resources for reading.

The status is unvalidated: these functions never raise.
"""

import re
from collections.abc import AsyncIterator, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from hudi_operator.api.resources import OPERATION_FINALIZER, SAVEPOINT_FINALIZER
from hudi_operator.api.spec.operation_kinds.decisions import DECISION_FIELDS
from hudi_operator.api.status.operation_status import FINISHED
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.kube.api import ObjectApi
from hudi_operator.kube.keys import operation_key, savepoint_key
from hudi_operator.kube.objects import Kind, ObjectKey, field, items, text
from hudi_operator.planning.facts.savepoints.requested import ENDS, OVER
from hudi_operator.planning.model.observation import MOST_RELATED
from hudi_operator.planning.model.reasons import OperationReason
from hudi_operator.runtime.controller import Controller
from hudi_operator.runtime.informer import KnownObjects, is_held


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """An object named in a table's status; `is_over` means that no work is left for it."""

    key: ObjectKey
    uid: str
    is_over: bool = False


class RelatedObjects:
    """Reads the objects that refer to a table, of the kinds observed with it.

    They are read live, one by one. Objects named in the table's status are always read, whatever events have said: if
    an object is missing from the result, it is gone or refers to another table. Of the other objects, only as many are
    read as fit into `MOST_RELATED` unfinished objects per kind. So they cost nothing in most namespaces. A table
    without related objects costs no call: the event of its first object triggers a reconcile.
    """

    def __init__(self, *, kube: ObjectApi, known: KnownObjects, controllers: Iterable[Controller[Any]]) -> None:
        self._kube = kube
        self._known = known
        self._observed = {one.kind: one for one in controllers if one.observed_as is not None}

    async def of(self, table: ObjectKey, *, remembered: Collection[Remembered]) -> dict[str, tuple[object, ...]]:
        """Return the objects that refer to a table, by kind name; `remembered` are those in its status."""
        uids = frozenset(one.uid for one in remembered)
        found: dict[str, tuple[object, ...]] = {}
        for kind, controller in self._observed.items():
            own = [one for one in remembered if one.key.kind == kind]
            keys = (*dict.fromkeys(one.key for one in own), *self._others(kind, table, own))
            if keys:
                found[kind.name] = tuple([one async for one in self._read(controller, keys, table=table, uids=uids)])
        return found

    def _others(self, kind: Kind, table: ObjectKey, remembered: Iterable[Remembered]) -> list[ObjectKey]:
        """Return the objects missing from the table's status, most important first."""
        places = {one.key: one.is_over for one in remembered}
        named = (one for one in self._known.referring_to(table) if one.kind == kind and one not in places)
        ranked = [(rank, one) for one in named if (rank := self._known.rank(one)) is not None]
        taken = sum(not is_over for is_over in places.values())
        return [one for _, one in sorted(ranked, key=lambda each: each[0])][: max(0, MOST_RELATED - taken)]

    async def _read(
        self, controller: Controller[Any], keys: Iterable[ObjectKey], *, table: ObjectKey, uids: Collection[str]
    ) -> AsyncIterator[object]:
        read = controller.observed_as
        for key in keys:
            document = await self._kube.get(key)
            if document is None or read is None:
                continue
            named = controller.reference(document)
            # An object without a readable table reference still exists, and still belongs to the table.
            if named == table or (named is None and text(document, "metadata", "uid") in uids):
                yield read(document)


_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
"""The names that the API server accepts; no object has another name."""


def remembered(namespace: str, status: HudiTableStatus) -> tuple[Remembered, ...]:
    """Return the resources named in a table's status, each with its uid."""
    found = (*_operations(namespace, status), *_savepoints(namespace, status))
    return tuple(one for one in found if _NAME.fullmatch(one.key.name))


def _operations(namespace: str, status: HudiTableStatus) -> Iterator[Remembered]:
    for one in status.operations:
        yield Remembered(key=operation_key(namespace, one.resource), uid=one.uid, is_over=one.state in FINISHED)
    for job in status.active_jobs:
        if job.operation is not None:
            yield Remembered(key=operation_key(namespace, job.operation.resource), uid=job.operation.uid)


def _savepoints(namespace: str, status: HudiTableStatus) -> Iterator[Remembered]:
    for one in status.savepoints:
        if one.resource is not None and one.uid is not None:
            yield Remembered(key=savepoint_key(namespace, one.resource), uid=one.uid, is_over=one.state in OVER)
    for job in status.active_jobs:
        if (named := job.named_savepoint) is not None:
            yield Remembered(key=savepoint_key(namespace, named.resource), uid=named.uid)


def rank_of_operation(document: object) -> int | None:
    """Return a HudiOperation's read order: operations that hold their table first, then approved operations.

    An operation may wait for approval for ever. None for a finished operation.
    """
    if _is_let_go(document, OPERATION_FINALIZER):
        return 3
    ready = next((one for one in items(document, "status", "conditions") if text(one, "type") == "Ready"), None)
    reason = text(ready, "reason")
    if reason == OperationReason.NOT_VERIFIED:
        return 0
    if reason == OperationReason.CASCADING:
        return None  # done with its own table
    if text(ready, "status") == "True" or text(document, "status", "finishedAt") is not None:
        return None
    if any(field(document, "spec", one) is not None for one in DECISION_FIELDS.values()):
        return 0  # waits behind no operation
    return 1 if field(document, "spec", "approved") is True else 2


def rank_of_savepoint(document: object) -> int:
    """Return a HudiSavepoint's read order: deleted savepoints first, finished savepoints last."""
    if _is_let_go(document, SAVEPOINT_FINALIZER):
        return 2
    if text(document, "metadata", "deletionTimestamp") is not None:
        return 0
    is_told = field(document, "status", "observedGeneration") == field(document, "metadata", "generation")
    is_over = any(text(one, "reason") in ENDS for one in items(document, "status", "conditions"))
    return 2 if is_told and is_over else 1


def _is_let_go(document: object, finalizer: str) -> bool:
    """Whether a resource is deleted and only another controller's finalizer keeps it."""
    return text(document, "metadata", "deletionTimestamp") is not None and not is_held(document, finalizer)
