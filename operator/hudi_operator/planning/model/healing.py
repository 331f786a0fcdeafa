"""Tells whether a failure can heal by itself, or with other circumstances: the class, the Spark image, the operator.

A failure counts only under the circumstances in which its run was decided. When they change, the operator forgets the
failure, as after a change of the spec.

A table is Stalled after a run that ended for a reason that cannot heal. The operator still retries the run by the
reason's own delay, because a person may have changed something that the operator does not watch.
"""

import hashlib
from collections.abc import Mapping
from typing import TypeAlias

from hudi_jobs.contract import FailureReason
from hudi_operator import __version__
from hudi_operator.api.resources import HudiTableClass
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.planning.model.advice import AnyReason
from hudi_operator.planning.model.observation import PodTrouble
from hudi_operator.planning.model.reason_registry import Entry, entry_of
from hudi_operator.planning.model.reasons import Retry, RunTrouble


def circumstances_of(table_class: HudiTableClass | None, *, image: str) -> str | None:
    """Return a fingerprint of the circumstances, or None while the class is not known."""
    if table_class is None:
        return None
    metadata = table_class.metadata
    parts = (metadata.name, metadata.uid, str(metadata.generation), image, __version__)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def class_version_of(table_class: HudiTableClass) -> str:
    """Return a fingerprint of the spec of a class."""
    metadata = table_class.metadata
    return hashlib.sha256("\0".join((metadata.name, metadata.uid, str(metadata.generation))).encode()).hexdigest()[:16]


def have_changed(memory: ServiceStatus, *, generation: int, circumstances: str | None) -> bool:
    """Tell whether the remembered failures belong to another spec or to other circumstances.

    Failures that were counted while the class was unknown name no circumstances, and always count.
    """
    if memory.failures_generation != generation:
        return True
    return differ(memory.failures_circumstances, circumstances)


def differ(before: str | None, now: str | None) -> bool:
    """Tell whether two fingerprints are both known and differ."""
    return before is not None and now is not None and before != now


RunReason: TypeAlias = FailureReason | PodTrouble | RunTrouble
"""Why a run failed."""

HEALS: Mapping[RunReason, bool] = {
    FailureReason.INVALID_REQUEST: False,
    FailureReason.SOURCE_NOT_FOUND: True,
    FailureReason.SOURCE_UNREADABLE: True,
    FailureReason.SOURCE_UNAVAILABLE: True,
    FailureReason.SOURCE_ACCESS_DENIED: False,
    FailureReason.INPUT_LOST: False,
    FailureReason.UPSTREAM_UNSUPPORTED: False,
    FailureReason.UPSTREAM_REWOUND: False,
    FailureReason.UPSTREAM_ROWS_REMOVED: False,
    FailureReason.UPSTREAM_CLEANED: True,
    FailureReason.BAD_RECORDS: False,
    FailureReason.COLUMN_MISSING: False,
    FailureReason.RECORD_KEY_NULL: False,
    FailureReason.SCHEMA_INCOMPATIBLE: False,
    FailureReason.TRANSFORM_INVALID: False,
    FailureReason.STORAGE_ACCESS_DENIED: False,
    FailureReason.STORAGE_UNAVAILABLE: True,
    FailureReason.STORAGE_FULL: True,
    FailureReason.LOCK_UNAVAILABLE: True,
    FailureReason.CLOCK_BEHIND: True,
    FailureReason.TIMELINE_ZONE_UNKNOWN: False,
    FailureReason.FILE_SLICES_UNCERTAIN: False,
    FailureReason.TABLE_MISMATCH: False,
    FailureReason.ROWS_WOULD_CHANGE: False,
    FailureReason.CHECKPOINT_DAMAGED: False,
    FailureReason.OWNED_ELSEWHERE: False,
    FailureReason.PATH_OUTSIDE_TABLE: False,
    FailureReason.ROLLBACK_OF_SAVEPOINT: False,
    FailureReason.RESTORE_PENDING: True,
    FailureReason.SAVEPOINT_REFUSED: False,
    FailureReason.OPERATION_REFUSED: False,
    FailureReason.NOT_VERIFIED: False,
    FailureReason.NOT_ERASED: False,
    FailureReason.CATALOG_UNAVAILABLE: True,
    FailureReason.CATALOG_REFUSED: True,
    FailureReason.CATALOG_ENTRY_TAKEN: False,
    FailureReason.OUT_OF_MEMORY: True,
    FailureReason.CONFLICT: True,
    FailureReason.INTERRUPTED: True,
    FailureReason.DRIVER_ENDED: True,
    FailureReason.HUDI_ERROR: True,
    FailureReason.INTERNAL_ERROR: True,
    PodTrouble.IMAGE_PULL_FAILED: True,
    PodTrouble.UNSCHEDULABLE: True,
    PodTrouble.CONFIGURATION: False,
    PodTrouble.FORBIDDEN: True,
    PodTrouble.START_TIMEOUT: True,
    PodTrouble.EXECUTORS_WAITING: True,
    PodTrouble.NO_EXECUTORS: True,
    PodTrouble.WITHDRAWN: True,
    PodTrouble.INIT_FAILED: True,
    PodTrouble.OUT_OF_MEMORY: True,
    PodTrouble.EVICTED: True,
    PodTrouble.NODE_LOST: True,
    PodTrouble.DEADLINE_EXCEEDED: True,
    RunTrouble.NOT_CONFIRMED: True,
    RunTrouble.DRIVER_DIED: True,
    RunTrouble.JOB_LOST: True,
    RunTrouble.JOB_REFUSED: True,
    RunTrouble.NO_PROGRESS: True,
}
"""Whether a failed run can succeed later although nobody changes anything."""

_OF_RUNS: Mapping[str, Entry] = {reason.value: entry_of(reason) for reason in HEALS}
"""The registry entries of the reasons of failed runs, by their text in status."""


def can_heal(reason: AnyReason) -> bool:
    """Whether the failure can heal although nobody changes anything."""
    if isinstance(reason, FailureReason | PodTrouble | RunTrouble):
        return HEALS[reason]
    return entry_of(reason).retry not in {Retry.INTERVENTION, Retry.ON_CHANGE}


def run_can_heal(reason: str | None) -> bool:
    """Whether a run that failed for this reason in status can succeed later; an unknown reason can."""
    known = _OF_RUNS.get(reason or "")
    return known is None or can_heal(known.name)


def run_retry(reason: str | None) -> Retry:
    """Return when a run that failed for this reason is retried; an unknown reason costs the run's own budget."""
    known = _OF_RUNS.get(reason or "")
    return Retry.JOB if known is None else known.retry
