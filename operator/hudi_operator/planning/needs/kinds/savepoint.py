"""Decides whether a run for a HudiSavepoint is due, and what savepoints report once it is known what starts."""

from collections.abc import Iterable
from datetime import datetime

from hudi_jobs.contract import SavepointWork
from hudi_operator.api.resources import SAVEPOINTS, HudiSavepoint
from hudi_operator.api.status.table import ServicesStatus
from hudi_operator.api.status.table_savepoints import SavepointState, TableSavepoint
from hudi_operator.planning.facts.savepoints.assess import Savepoints
from hudi_operator.planning.facts.savepoints.declared import PATIENCE, expires_at
from hudi_operator.planning.facts.savepoints.retained import retained
from hudi_operator.planning.facts.savepoints.rules import newer_commits
from hudi_operator.planning.model import LaunchJob, Observation
from hudi_operator.planning.model.decision import Decision, Priority, Reason
from hudi_operator.planning.model.reasons import SavepointReason
from hudi_operator.planning.model.times import format_time, parse_time

ATTEMPTS = 5
"""The number of failed runs after which a removed resource waits no longer than `PATIENCE`."""

_MESSAGE_LIMIT = 512
_BLOCKS_LIMIT = 256


def evaluate(savepoints: Savepoints) -> Decision:
    """Return whether a run is due; it goes after a due ingestion and before the table services."""
    following = savepoints.following
    if following is None and savepoints.retry_at is not None:
        return Decision(
            due=False,
            reason=Reason.WAITING_FOR_RETRY,
            message=f"A run for a HudiSavepoint has failed; the next attempt is at {format_time(savepoints.retry_at)}.",
            at=savepoints.retry_at,
        )
    if following is None:
        return Decision(due=False, reason=Reason.NOT_REQUESTED, message="No HudiSavepoint waits for a run.")
    what = "made" if following.work is SavepointWork.MAKE else "removed"
    return Decision(
        due=True,
        reason=Reason.SAVEPOINT_ASKED,
        message=f"The savepoint of HudiSavepoint {following.resource} on commit {following.instant} is to be {what}.",
        priority=Priority.SAVEPOINT,
    )


def settled(
    savepoints: Savepoints,
    observation: Observation,
    services: ServicesStatus,
    *,
    launches: Iterable[LaunchJob] = (),
    blocked: str | None = None,
    now: datetime,
) -> tuple[TableSavepoint, ...]:
    """Return the status of the savepoints after the decision; `blocked` says why nothing may start.

    A launched savepoint records its commit before its Job exists, so that a retry takes the same commit.
    """
    launched = {one.job.named_savepoint.uid: one.job for one in launches if one.job.named_savepoint is not None}
    gone_since = {
        metadata.uid: parse_time(metadata.deletion_timestamp)
        for one in observation.related.get(SAVEPOINTS, ())
        if (metadata := getattr(one, "metadata", None)) is not None
    }
    after = []
    for entry in savepoints.entries:
        job = launched.get(entry.uid or "")
        if job is not None and job.named_savepoint is not None:
            message = f"Job {job.name} is about to be created."
            after.append(
                entry.copy_with(instant=job.named_savepoint.instant, reason=SavepointReason.AT_WORK, message=message)
            )
            continue
        told = _waiting(entry, services, blocked)
        after.append(_given_up(told, gone_since.get(entry.uid or ""), blocked=blocked, now=now))
    return tuple(_with_blocks(one, observation, services, now=now) for one in after)


def savepoints_change_at(observation: Observation, *, now: datetime) -> datetime | None:
    """Return when time alone changes something: a savepoint expires, or a resource has waited for `PATIENCE`."""
    found = [one for one in observation.related.get(SAVEPOINTS, ()) if isinstance(one, HudiSavepoint)]
    gone = (parse_time(one.metadata.deletion_timestamp) for one in found)
    moments = [*(since + PATIENCE for since in gone if since is not None), *filter(None, map(expires_at, found))]
    return min((moment for moment in moments if moment > now), default=None)


def _waiting(entry: TableSavepoint, services: ServicesStatus, blocked: str | None) -> TableSavepoint:
    """Add to the message of a waiting savepoint what its run waits for."""
    if entry.reason != SavepointReason.WAITING:
        return entry
    memory = services.savepoint
    why = blocked or (memory.message if memory is not None else None)
    return entry if why is None else entry.copy_with(message=f"{entry.message} {why}"[:_MESSAGE_LIMIT])


def _given_up(
    entry: TableSavepoint, gone_since: datetime | None, *, blocked: str | None, now: datetime
) -> TableSavepoint:
    """Release a resource if nothing can remove its savepoint: the savepoint stays in the table without an owner."""
    hopeless = blocked is not None or entry.failures >= ATTEMPTS
    waits = entry.state is SavepointState.REMOVING and entry.reason == SavepointReason.WAITING
    if not waits or not hopeless or gone_since is None or now - gone_since < PATIENCE:
        return entry
    minutes = int(PATIENCE.total_seconds() // 60)
    message = (
        f"The savepoint on {entry.instant} could not be removed for {minutes} minutes and stays in the table. "
        f"{entry.message}"
    )
    message = message[:_MESSAGE_LIMIT]
    return entry.copy_with(state=SavepointState.RETAINED, reason=SavepointReason.RETAINED, message=message)


def _with_blocks(
    entry: TableSavepoint, observation: Observation, services: ServicesStatus, *, now: datetime
) -> TableSavepoint:
    """Say what an existing savepoint keeps cleaning and archival from."""
    timeline = observation.snapshot.timeline
    if entry.state not in {SavepointState.KEPT, SavepointState.REMOVING} or entry.instant is None or timeline is None:
        return entry
    newer = newer_commits(entry.instant, timeline)
    archival = services.archival.blocked_by or ""
    stops = f" Archival: {archival}" if entry.instant in archival else ""
    blocks = f"Cleaning keeps its files{_although(newer)}.{stops}"
    kept = retained(entry, observation, now=now)
    return entry.copy_with(blocks=blocks[:_BLOCKS_LIMIT], retained=kept)


def _although(newer: int) -> str:
    """Return how many commits are newer, rounded down: each change of the message is written to the status."""
    if newer < 10:
        many = "1 commit is" if newer == 1 else f"{newer} commits are"
        return f", although {many} newer" if newer else ""
    step = 10 ** (len(str(newer)) - 1)
    return f", although at least {newer // step * step} commits are newer"
