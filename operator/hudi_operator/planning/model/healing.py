"""Tells whether a failure can heal without a change of the spec or class and without a person.

A table is Stalled after a run that ended for a reason that cannot heal. The operator still retries the run by the
reason's own delay, because a person may have changed something that the operator does not watch.
"""

from collections.abc import Mapping
from typing import TypeAlias

from hudi_jobs.contract import FailureReason
from hudi_operator.planning.model.observation import PodTrouble
from hudi_operator.planning.model.reasons import Retry, RunTrouble
from hudi_operator.planning.model.advice import AnyReason
from hudi_operator.planning.model.registry import Entry, entry_of

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
