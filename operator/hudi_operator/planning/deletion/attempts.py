"""The observation of a table's end, and the Jobs of a deleted table: running Jobs, and attempts to remove its data."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

from hudi_jobs.contract import Outcome, Service
from hudi_operator.api.resources import HudiTable, HudiTableClass, ObjectMetadata
from hudi_operator.api.spec.table import DeletionPolicy
from hudi_operator.api.status.runs import ActiveJob, RunStatus
from hudi_operator.api.status.table_status import HISTORY_LENGTH, HudiTableStatus
from hudi_operator.planning.facts.runs.cost import with_cost
from hudi_operator.planning.facts.runs.outcomes import conclude
from hudi_operator.planning.facts.runs.tracking import adopted, is_of_run, refreshed
from hudi_operator.planning.model import (
    Blocker,
    JobObservation,
    JobPhase,
    NamespaceObservation,
    Suspension,
    TimelineSnapshot,
    suspension_of,
)
from hudi_operator.planning.model.times import format_time

SHORT_REQUEUE = 2.0
"""Seconds until the next reconcile of a table near its end."""


@dataclass(frozen=True, kw_only=True)
class EndingObservation:
    """The observation of a deleted resource in one reconcile.

    `table` is None if this version cannot parse the spec; `snapshot` is set if `awaits_confirmation` says so, and
    before the data is removed; `operator` is the operator's identity; `claim_held` and `namespace` were read live.
    `namespace` is None if the operator may not read it.
    """

    metadata: ObjectMetadata
    status: HudiTableStatus
    policy: DeletionPolicy
    base_path: str
    table: HudiTable | None
    table_class: HudiTableClass | None = None
    blockers: tuple[Blocker, ...] = ()
    claim_held: bool = True
    namespace: NamespaceObservation | None = field(default_factory=NamespaceObservation)
    namespace_terminating: bool = False
    jobs: tuple[JobObservation, ...] = ()
    snapshot: TimelineSnapshot | None = None
    running_in_class: int = 0
    running_in_namespace: int = 0
    operator: str = ""

    @property
    def entry_taken(self) -> str | None:
        """None: the driver that removes a table drops only entries with the mark of the table."""
        return None

    @property
    def suspended_by(self) -> Suspension | None:
        """What suspends the table, or None."""
        spec = self.table.spec if self.table is not None else None
        return suspension_of(self.metadata, spec, self.namespace.suspension if self.namespace is not None else None)


_ACTIVE_SHOWN = 8


@dataclass(frozen=True, kw_only=True)
class Attempts:
    """The running Jobs, observed and as status entries; the newly ended attempts, and the past attempts."""

    live: tuple[JobObservation, ...] = ()
    active: tuple[ActiveJob, ...] = ()
    finished: tuple[RunStatus, ...] = ()
    history: tuple[RunStatus, ...] = ()

    @property
    def failures(self) -> int:
        """Consecutive failed attempts; a run that has removed the data resets the count."""
        attempts = [run for run in self.history if run.service is Service.DELETION]
        return 0 if attempts and attempts[0].outcome is not Outcome.FAILED else len(attempts)

    @classmethod
    def of(cls, seen: EndingObservation, *, now: datetime) -> Self:
        """Compare the remembered Jobs with the existing Jobs."""
        remembered = {job.name: job for job in seen.status.active_jobs}
        found = {job.name: job for job in seen.jobs if job.name in remembered and is_of_run(job, remembered[job.name])}
        live = {job.name: job for job in seen.jobs if job.phase is not JobPhase.OVER}
        # An intent without a Job is carried out later.
        ended = [
            job
            for name, job in remembered.items()
            if job.service is Service.DELETION and name not in live and (name in found or job.uid is not None)
        ]
        finished = tuple(_concluded(seen, job, found.get(job.name), now=now) for job in ended)
        history = seen.status.history
        for run in finished:
            history = with_newest(run, history)
        active = [
            refreshed(remembered[name], job) if name in remembered else adopted(job) for name, job in live.items()
        ]
        return cls(live=tuple(live.values()), active=tuple(active[:_ACTIVE_SHOWN]), finished=finished, history=history)


def last_attempt(history: tuple[RunStatus, ...]) -> RunStatus | None:
    """Return the newest attempt to remove the data."""
    return next((run for run in history if run.service is Service.DELETION), None)


def with_newest(run: RunStatus, history: tuple[RunStatus, ...]) -> tuple[RunStatus, ...]:
    """Return the history with another run."""
    return (run, *history)[:HISTORY_LENGTH]


def _concluded(seen: EndingObservation, job: ActiveJob, observed: JobObservation | None, *, now: datetime) -> RunStatus:
    run = _conclude(job, observed, now=now)
    snapshot = TimelineSnapshot()
    return with_cost(run, job, observed, snapshot, table=seen.table, table_class=seen.table_class, now=now)


def _conclude(job: ActiveJob, observed: JobObservation | None, *, now: datetime) -> RunStatus:
    result = observed.result if observed is not None else None
    run = conclude(job, observed=observed, snapshot=TimelineSnapshot(), now=now)
    if run is not None and (result is None or result.outcome is not Outcome.SUCCEEDED):
        return run
    # Success is a missing timeline; the next reconcile confirms it.
    return RunStatus(
        job=job.name,
        service=Service.DELETION,
        outcome=Outcome.SUCCEEDED,
        message=(result.message if result is not None else "")[:1000],
        started_at=job.started_at,
        finished_at=format_time(now),
    )
