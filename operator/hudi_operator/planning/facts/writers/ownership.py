"""Tells who owns a table, and finds instants that this operator's runs may have made without their names.

Claims live in the operator's own cluster, so two operators do not see each other's. The record lives in the shared
store. While it names another operator, or a run that this operator did not start, no run starts until a person has
decided who continues.

Hudi runs services inside a writer without its metadata, and cannot put any on a clean. So the times of runs decide;
mistaking our own commit for another writer's stops a table for nothing, so doubt counts for ours.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from hudi_jobs.contract import OwnerRecord, Service
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.spec.table import ManagementPolicy
from hudi_operator.api.spec.table_services import ServiceMode
from hudi_operator.api.status.runs import ActiveJob, RunStatus
from hudi_operator.api.status.table_parts import OwnerStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.facts.runs.affected import Window, windows_of
from hudi_operator.planning.model import Mark, Observation, TimelineSnapshot
from hudi_operator.planning.model.times import instant_time, parse_time
from hudi_operator.timeline import Action, Instant, TimelineZone


@dataclass(frozen=True, kw_only=True)
class Ownership:
    """The meaning of the record: `elsewhere` says why no run may start, `remembered` is kept in the status."""

    elsewhere: str | None = None
    remembered: OwnerStatus | None = None


def check_ownership(
    observation: Observation, *, runs: Collection[RunStatus], active: Collection[ActiveJob]
) -> Ownership:
    """Return the table's ownership after this reconcile; an observed table may belong to anyone."""
    table, snapshot = observation.table, observation.snapshot
    if table.spec.management_policy is ManagementPolicy.OBSERVE:
        return Ownership()
    known = {run.job for run in runs} | {job.name for job in active} | {job.name for job in observation.jobs}
    take_over = taken_over_from(table.status)
    remembered = table.status.owner
    why = elsewhere(snapshot, operator=observation.operator, status=table.status, known=known, take_over=take_over)
    if why is not None or snapshot.trouble is not None or snapshot.owner_problem:
        return Ownership(elsewhere=why, remembered=remembered)
    record = snapshot.owner
    if record is None or record.operator != observation.operator:
        return Ownership()
    return Ownership(remembered=OwnerStatus(operator=record.operator, table=record.table, run=record.run))


def taken_over_from(status: HudiTableStatus) -> str | None:
    """Return the owner from whom a person has decided to take the table over."""
    return status.decisions.take_over if status.decisions is not None else None


def own_record(table: HudiTable) -> OwnerStatus | None:
    """Return the remembered owner record if it named this table."""
    owner = table.status.owner
    is_own = owner is not None and owner.table == f"{table.metadata.namespace}/{table.metadata.name}"
    return owner if is_own else None


def elsewhere(
    snapshot: TimelineSnapshot, *, operator: str, status: HudiTableStatus, known: Collection[str], take_over: str | None
) -> str | None:
    """Return the sentence on who owns the table and what to do, or None if this operator owns it.

    `known` are the runs this operator knows. An unknown run counts as foreign only if the status remembers the record's
    previous run: each reconcile sees everything, but the history is limited.
    """
    if snapshot.owner_problem:
        return snapshot.owner_problem
    record = snapshot.owner
    if record is None:
        return None
    if record.operator != operator:
        if take_over == record.operator:
            return None
        return (
            f"The table belongs to {record.table} of another operator, {record.operator}, and its run {record.run} "
            f"worked on the table at {record.renewed_at}. Nothing starts, because two operators would repeat each "
            "other's "
            "rows. When the other operator no longer works on the table, create a HudiOperation with takeOver: "
            f"{{owner: {record.operator!r}}}."
        )
    return _copy(record, status=status, known=known, take_over=take_over)


def is_ours(mark: Mark, observation: Observation) -> bool:
    """Tell whether a commit that names a run was made for this very table by this operator."""
    return (mark.operator, mark.table_uid) == (observation.operator, observation.table.metadata.uid)


def _copy(record: OwnerRecord, *, status: HudiTableStatus, known: Collection[str], take_over: str | None) -> str | None:
    """Detect a copy of this operator, such as one from a backup of its cluster, by a run it did not start."""
    before = status.owner
    if before is None or before.operator != record.operator:
        return None
    if record.run in {before.run, take_over} or record.run in known:
        return None
    return (
        f"The run {record.run} of {record.table} worked on the table at {record.renewed_at}, and this operator did not "
        "start it: a copy of this operator may run elsewhere, for example from a backup of its cluster. Nothing "
        "starts, because both would write the same rows. When only this operator runs, create a HudiOperation with "
        f"takeOver: {{owner: {record.run!r}}}."
    )


@dataclass(frozen=True, kw_only=True)
class Authorship:
    """The remembered runs: their instants, their names, and when they may have made unnamed instants.

    A clean never names its run: Hudi's client has no way to record it. So `cleanings` are the times of runs that may
    clean, and `others` those of all runs, in which Hudi may have run another service inside the writer.
    """

    instants: frozenset[str]
    names: frozenset[str]
    others: tuple[Window, ...]
    cleanings: tuple[Window, ...]
    is_lost: bool
    """Whether unremembered runs are seen, as after a restore of the cluster: they may have made any instant."""

    @classmethod
    def of(
        cls,
        observation: Observation,
        runs: Collection[RunStatus],
        active: tuple[ActiveJob, ...],
        windows: tuple[Window, ...],
    ) -> Self:
        """Gather what the status remembers of a table's runs."""
        names = frozenset((*(job.name for job in active), *(run.job for run in runs)))
        by_marks, by_runs = _windows_of_marks(observation), windows
        cleaning = _services_that_clean(observation, active)
        cleanings = windows_of(
            (run for run in runs if run.service in cleaning), (job for job in active if job.service in cleaning)
        )
        timeline = observation.snapshot.timeline
        if timeline is not None and timeline.properties.timezone is not TimelineZone.UTC:
            # The times of runs are in UTC. In another zone, anything completed while a Job existed may be its own.
            at_work = (*active, *observation.table.status.active_jobs)
            by_runs = cleanings = (Window.always(),) if at_work else ()
        return cls(
            instants=frozenset(run.instant for run in runs if run.instant is not None),
            names=names,
            others=(*by_runs, *by_marks),
            cleanings=(*cleanings, *by_marks) if Service.INGESTION in cleaning else cleanings,
            is_lost=_has_forgotten_jobs(observation, runs, names) or _has_forgotten_marks(observation, names),
        )

    def may_have_made(self, instant: Instant) -> bool:
        """Whether an instant that names no run may still be a run's."""
        windows = self.cleanings if instant.action is Action.CLEAN else self.others
        times = (instant.time, instant.completion)
        return self.is_lost or any(window.holds(time) for window in windows for time in times)


def _windows_of_marks(observation: Observation) -> tuple[Window, ...]:
    """Return when commits of ours were made, by the clock that also dated what Hudi did inside their writers."""
    ours = (one.instant for one in observation.snapshot.marks if is_ours(one, observation))
    times = ((instant_time(one.time), instant_time(one.completion)) for one in ours)
    return tuple(Window(start=start, end=end) for start, end in times if start is not None and end is not None)


def _has_forgotten_jobs(observation: Observation, runs: Collection[RunStatus], names: Collection[str]) -> bool:
    """Whether a Job has ended that is younger than the last remembered run of its service.

    For a service unknown to this version no last run is remembered, so any run counts.
    """
    ends: dict[Service | None, datetime] = {}
    for run in runs:
        ended = parse_time(run.finished_at)
        if ended is not None:
            ends[run.service] = max(ended, ends.get(run.service, ended))
    newest = max(ends.values(), default=None)
    forgotten = ((job, ends.get(job.service)) for job in observation.jobs if job.name not in names)
    known = ((job, newest if job.service is None else end) for job, end in forgotten)
    return any(end is None or job.created_at > end for job, end in known)


def _has_forgotten_marks(observation: Observation, names: Collection[str]) -> bool:
    """Whether an unremembered run has committed since the last reconcile."""
    known = observation.table.status.timeline
    verified = known.verified_up_to if known else None
    return verified is not None and any(
        one.run not in names and one.instant.completion > verified
        for one in observation.snapshot.marks
        if is_ours(one, observation)
    )


def _services_that_clean(observation: Observation, active: Collection[ActiveJob]) -> frozenset[Service | None]:
    """Return the services with runs that may clean; None stands for an unknown service.

    An operation cleans or erases. A run of another generation of the spec may have cleaned inline.
    """
    generation = observation.table.metadata.generation
    others = any(job.generation != generation for job in (*active, *observation.table.status.active_jobs))
    inline = observation.table.spec.cleaning.mode is ServiceMode.INLINE
    always = (Service.CLEANING, Service.OPERATION, None)
    return frozenset({*always, *((Service.INGESTION,) if inline or others else ())})
