"""A restore and a rollback: they need a commit that still has its files, or the latest commit."""

from collections.abc import Mapping
from typing import Any

from hudi_jobs.contract import OperationKind
from hudi_operator.api.resources import HudiOperation, HudiTable
from hudi_operator.api.status.savepoints import SavepointState, TableSavepoint
from hudi_operator.api.status.table_operations import NamedOperationJob
from hudi_operator.planning.facts.operations.operation_kind import (
    Answer,
    OperationDefinition,
    fails,
    waits,
    waits_for_table,
)
from hudi_operator.planning.facts.savepoints.rules import last_completed, refusal_of
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.reasons import OperationReason, SavepointReason
from hudi_operator.timeline import Timeline


def _admit(resource: HudiOperation, observation: Observation) -> Answer | str:
    timeline = observation.snapshot.timeline
    if timeline is None:
        return waits_for_table(observation)
    restore = resource.spec.restore
    instant: Answer | str = resource.spec.instant or ""
    if restore is not None and restore.savepoint is not None:
        instant = _of_savepoint(restore.savepoint, observation)
    if isinstance(instant, Answer):
        return instant
    refused = _refused(resource.spec.kind, instant, timeline)
    if refused is not None and refused.reason == SavepointReason.INSTANT_CLEANED and resource.spec.dry_run:
        return instant  # its driver finds that too, and every other obstacle
    return refused or instant


def _of_savepoint(name: str, observation: Observation) -> Answer | str:
    entries = observation.table.status.savepoints
    entry = next((one for one in entries if one.resource == name), None)
    if entry is not None and entry.instant is not None and _is_there(entry, observation.snapshot.timeline):
        return entry.instant
    said = f" {entry.message}" if entry is not None else ""
    return waits(OperationReason.SAVEPOINT_NOT_FOUND, f"The table has no savepoint of HudiSavepoint {name} now.{said}")


def _is_there(entry: TableSavepoint, timeline: Timeline | None) -> bool:
    """Whether a savepoint keeps its commit; a savepoint to be removed does so until its Job is at work."""
    if entry.state is SavepointState.KEPT:
        return True
    is_to_go = entry.state is SavepointState.REMOVING and entry.reason != SavepointReason.AT_WORK
    return is_to_go and timeline is not None and _is_kept(entry.instant or "", timeline)


def _refused(kind: OperationKind, instant: str, timeline: Timeline) -> Answer | None:
    """Return why the table cannot go back to a commit, or why it is not the latest."""
    found = refusal_of(instant, timeline)
    # No later clean has removed the files of a savepoint, whatever the last clean says of other files.
    if found is not None and not (found[0] is SavepointReason.INSTANT_CLEANED and _is_kept(instant, timeline)):
        return fails(found[0], f"{found[1]} Nothing was changed.")
    newest = last_completed(timeline)
    if kind is OperationKind.ROLLBACK and newest is not None and instant != newest:
        message = f"The latest commit is {newest}, not {instant}. Nothing was changed."
        return fails(OperationReason.NOT_LATEST, message)
    return None


def _is_kept(instant: str, timeline: Timeline) -> bool:
    return instant in timeline.counters.savepoints


def _remember_restore(resource: HudiOperation, _: HudiTable) -> Mapping[str, Any]:
    restore = resource.spec.restore
    return restore.model_dump(include={"newer_savepoints", "reingest"}) if restore is not None else {}


def _remember_rollback(resource: HudiOperation, _: HudiTable) -> Mapping[str, Any]:
    rollback = resource.spec.rollback
    return rollback.model_dump(include={"reingest"}) if rollback is not None else {}


def _restore_to(job: NamedOperationJob) -> str:
    return f"restore to {job.instant}"


def _rollback_of(job: NamedOperationJob) -> str:
    return f"rollback of {job.instant}"


RESTORE = OperationDefinition(admit=_admit, remember=_remember_restore, wording=_restore_to, needs_instant=True)
ROLLBACK = OperationDefinition(admit=_admit, remember=_remember_rollback, wording=_rollback_of, needs_instant=True)
