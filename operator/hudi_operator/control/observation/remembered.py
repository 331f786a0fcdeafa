"""Finds the resources named in a table's status, and ranks resources for reading.

The status is unvalidated: these functions never raise.
"""

import re
from collections.abc import Iterator

from hudi_operator.api.resources import OPERATION_FINALIZER, SAVEPOINT_FINALIZER
from hudi_operator.api.spec.operation_kinds.decisions import DECISION_FIELDS
from hudi_operator.api.status.operation import FINISHED
from hudi_operator.api.status.table import HudiTableStatus
from hudi_operator.control.keys import operation_key, savepoint_key
from hudi_operator.control.observation.related import Remembered
from hudi_operator.kube.objects import field, items, text
from hudi_operator.planning.facts.savepoints.declared import ENDS, OVER
from hudi_operator.planning.model.reasons import OperationReason
from hudi_operator.runtime.informer import is_held

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
