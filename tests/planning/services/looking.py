"""A table over a folder of files, played step by step: an operator that looks, and a driver that reads."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from tests.planning.world import (
    IMAGE,
    NOW,
    again,
    as_declared,
    ended,
    minutes,
    observe,
    outcome,
    snapshot,
    table,
)

from hudi_jobs.contract import JobOutcome, Outcome
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.decide import decide, requeue_after
from hudi_operator.planning.model import LaunchJob, Observation, TimelineSnapshot
from hudi_operator.planning.needs.looks import wants_look
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.sources.look import LOOK_PAUSE, LookProblem, SourceLook

EVERY_MINUTE: dict[str, Any] = {"ingestion": {"schedule": {"every": "1m"}}}
NO_INPUT = outcome(Outcome.NOTHING_TO_DO, message="No new files.", more_input=False)


@dataclass
class World:
    """The state of the story: `files` is what the folder holds, `position` what the newest commit says was read.

    `jobs` counts all Jobs, `followers` those since the last run ended.
    """

    spec: dict[str, Any] = field(default_factory=lambda: dict(EVERY_MINUTE))
    files: tuple[str, ...] = ("a.csv",)
    hidden: int = 0
    problem: LookProblem | None = None
    looks_at_all: bool = True
    annotations: dict[str, str] = field(default_factory=dict)
    generation: int = 1
    image: str = IMAGE
    now: datetime = NOW
    status: HudiTableStatus = field(default_factory=HudiTableStatus)
    commits: list[tuple[str, str]] = field(default_factory=list)
    position: str = ""
    look: SourceLook | None = None
    looks: int = 0
    writes: int = 0
    jobs: int = 0
    followers: int = 0
    changes: dict[str, Any] = field(default_factory=dict)

    @property
    def ingestion(self) -> ServiceStatus:
        return self.status.services.ingestion

    @property
    def job(self) -> ActiveJob:
        (found,) = self.status.active_jobs
        return found

    @property
    def timeline(self) -> TimelineSnapshot:
        """The table as the operator reads it; no commit, no table."""
        if not self.commits:
            return snapshot()
        digest = f"digest of {self.position}"
        return snapshot(*reversed(self.commits), checkpoint=self.position, checkpoint_digest=digest)

    def observation(self, *jobs: Any) -> Observation:
        one = table(status=self.status, generation=self.generation, annotations=self.annotations, **self.spec)
        seen = as_declared(self.timeline, one)
        given = {"snapshot": seen, "jobs": jobs, **self.changes}
        return again(observe(one, **given), self.status)

    def reconcile(self, *jobs: Any, after: timedelta = timedelta()) -> Plan:
        """Observe, look where a look is wanted, decide, and store the status."""
        self.now += after
        seen = replace(self.observation(*jobs), look=self.look)
        is_early = self.look is not None and self.now - self.look.at < LOOK_PAUSE - timedelta(seconds=2)
        if self.looks_at_all and wants_look(seen, self.now) and not is_early:
            self.look = self._looked()
            self.looks += 1
            seen = replace(seen, look=self.look)
        plan = decide(seen, default_image=self.image, now=self.now)
        started = sum(isinstance(action, LaunchJob) for action in plan.actions)
        self.jobs, self.followers = self.jobs + started, self.followers + started
        self.writes += plan.status.to_document() != self.status.to_document()
        self.status = HudiTableStatus.model_validate(plan.status.to_document())
        return plan

    def _looked(self) -> SourceLook:
        if self.problem is not None:
            return SourceLook(at=self.now, problem=self.problem, message="The store refuses the operator.")
        listed = len(self.files) + self.hidden
        return SourceLook(at=self.now, digest=" ".join(sorted(self.files)), inputs=len(self.files), listed=listed)

    def rest(self, length: timedelta) -> None:
        """Reconcile whenever time alone may change something, for so long or until a Job starts."""
        until = self.now + length
        while True:
            plan = self.reconcile()
            pause = timedelta(seconds=requeue_after(plan, poll=3600.0))
            if plan.actions or self.now + pause > until:
                return
            self.now += pause

    def end_run(self, told: JobOutcome | None = NO_INPUT, *, commits: str | None = None, **changes: Any) -> Plan:
        """End the run at work half a minute later; `commits` is the position that its commit stores."""
        self.now += minutes(0.5)
        self.followers = 0
        if commits is not None:
            time = self.now.strftime("%Y%m%d%H%M%S") + "000"
            self.commits.append((self.job.name, time))
            self.position = commits
            if told is not None and told.results[0].outcome is Outcome.SUCCEEDED:
                (result,) = told.results
                told = told.copy_with(results=(result.copy_with(instant=time),))
        uid = self.job.uid or "job-uid"
        return self.reconcile(ended(self.job.name, uid=uid, outcome=told, **changes))

    def read_everything(self) -> None:
        """Have the files of the folder read by a run, and the operator rest until its next tick."""
        self.reconcile()
        self.end_run(
            outcome(Outcome.SUCCEEDED, message="Read.", more_input=False, backlog_bytes=0), commits=" ".join(self.files)
        )
        self.jobs = self.followers = self.looks = self.writes = 0

    def undo(self, number: int = 1) -> None:
        """Take the newest commits out of the timeline, as a restore does."""
        del self.commits[-number:]
        self.position = "before"
        self.commits = self.commits or [("earlier", "20260310100000000")]


def request_run(world: World) -> None:
    """Ask for a run of the table."""
    world.annotations = {"hudi-operator.io/requested-at": "now"}
