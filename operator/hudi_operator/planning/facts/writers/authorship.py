"""Finds instants that this operator's runs may have made without leaving their names.

Hudi runs services inside a writer without its metadata, and cannot put any on a clean. So the times of runs decide;
mistaking our own commit for another writer's stops a table for nothing, so doubt counts for ours.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from hudi_jobs.contract import Service
from hudi_operator.api.spec.services import ServiceMode
from hudi_operator.api.status.run import RunStatus
from hudi_operator.api.status.table import ActiveJob
from hudi_operator.planning.facts.runs.windows import Window, windows_of
from hudi_operator.planning.facts.writers.ownership import is_ours
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.times import instant_time, parse_time
from hudi_operator.timeline import Action, Instant, TimelineZone


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
