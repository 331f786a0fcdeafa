"""A table with its Jobs and its timeline, played by dice: runs end, die, vanish, and writes to the status are lost."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

from tests.planning.world import (
    IMAGE,
    NOW,
    OPERATOR,
    UID,
    as_declared,
    at,
    failed,
    job,
    observe,
    outcome,
    reporting,
    story,
    table,
)

from hudi_jobs.contract import FailureReason, JobOutcome, Outcome, RunMode, Service
from hudi_operator.api.status.table import ActiveJob, HudiTableStatus, RunStatus, ServicesStatus
from hudi_operator.planning.decide import decide
from hudi_operator.planning.model import (
    CreateJob,
    JobObservation,
    JobPhase,
    LaunchJob,
    Mark,
    Observation,
    Plan,
    StopJob,
    TimelineSnapshot,
    TimelineTrouble,
)
from hudi_operator.planning.outcome.refusal import refused
from hudi_operator.planning.outcome.status.build import build_status
from hudi_operator.timeline import CleanSummary
from hudi_operator.timeline.rules.counters import COMMITS

_ACTIONS: dict[Service | None, str] = {
    Service.INGESTION: "deltacommit",
    Service.COMPACTION: "compaction",
    Service.CLUSTERING: "clustering",
}
_OURS = {"table_uid": UID, "operator": OPERATOR}
_COMPLETED_AS = {**_ACTIONS, Service.COMPACTION: "commit", Service.CLUSTERING: "replacecommit"}


@dataclass
class Run:
    """What one Job really does, whatever is known of it."""

    decided: ActiveJob
    observed: JobObservation
    instant: str | None = None
    completed: bool = False


@dataclass
class Simulation:
    """One table. Everything that happens is drawn from `dice`."""

    dice: Random
    spec: dict[str, Any]
    now: datetime = NOW
    status: HudiTableStatus = field(default_factory=HudiTableStatus)
    runs: dict[str, Run] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)
    marks: list[tuple[str, str]] = field(default_factory=list)
    plans: dict[str, str] = field(default_factory=dict)
    cleaned: CleanSummary | None = None
    annotations: dict[str, str] = field(default_factory=dict)
    generation: int = 1
    luck: float = 0.93
    """How likely each step of a run, and each write of the operator, goes well."""
    has_input: bool = False
    """Whether every ingestion finds something to write."""
    consumed: list[RunStatus] = field(default_factory=list)
    launched: list[ActiveJob] = field(default_factory=list)
    contents: dict[str, tuple[object, ...]] = field(default_factory=dict)
    """What the Job of each name was made from, of all that ever were."""

    def step(self) -> None:
        """Let one thing happen."""
        self.now += timedelta(seconds=self.dice.choice([1, 1, 5, 30, 200]))
        happenings = [self.reconcile, self.progress, self.disturb]
        (happening,) = self.dice.choices(happenings, weights=[8, 16, 1])
        happening()

    def calm(self, *, reconciles: int = 100) -> None:
        """Let everything go well, looking every quarter of an hour: no accidents, and no new input.

        Where there always is input, it continues coming.
        """
        self.luck, self.annotations = 1.0, {}
        self.spec["suspend"], self.generation = False, self.generation + 1
        for _ in range(reconciles):
            self.now += timedelta(minutes=15)
            self.reconcile()
            while self.living:
                self.progress()
                self.reconcile()

    @property
    def pending(self) -> set[str]:
        """The instants that are not completed."""
        completed = {name.partition("_")[0] for name in self.files if "_" in name}
        return {name.partition(".")[0] for name in self.files if "_" not in name} - completed

    @property
    def living(self) -> list[Run]:
        """The Jobs that are not over."""
        return [run for run in self.runs.values() if run.observed.phase is not JobPhase.OVER]

    def observation(self) -> Observation:
        """What the operator sees."""
        one = table(status=self.status, annotations=self.annotations, generation=self.generation, **self.spec)
        if self.luck < self.dice.random() < self.luck + 0.05:
            seen = TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="Down.")
        elif not self.files:
            seen = TimelineSnapshot()
        else:
            clusterings = {name.partition(".")[0] for name in self.files if ".clustering." in name}
            timeline = story(*sorted(self.files), clusterings=clusterings, clean=self.cleaned)
            marked = {time for _, time in self.marks}
            unmarked = tuple(one for one in timeline.completed if one.action in COMMITS and one.time not in marked)
            plans = [one for one in timeline.pending if one.time in self.plans]
            planned = tuple(Mark(instant=one, run=self.plans[one.time], **_OURS) for one in plans)
            runs = tuple(self.marks[-10:])
            seen = TimelineSnapshot(timeline=timeline, runs=runs, unmarked=unmarked[::-1], planned=planned)
        return observe(one, snapshot=as_declared(seen, one), jobs=tuple(run.observed for run in self.runs.values()))

    def reconcile(self) -> None:
        """Decide; the status may not be written, and the Job may not be created after it."""
        observation = self.observation()
        plan = decide(observation, default_image=IMAGE, now=self.now)
        self.check(plan)
        if self.dice.random() > self.luck:
            return  # somebody else wrote in between, or the operator died before it wrote
        self.store(observation, plan)
        for action in plan.actions:
            if self.dice.random() > self.luck:
                return  # the operator died before it acted
            if isinstance(action, StopJob):
                self.runs.pop(action.job.name, None)
            elif isinstance(action, LaunchJob | CreateJob) and self.dice.random() > self.luck:
                after = refused(plan, action.job, observation=observation, message="quota", now=self.now)
                self.store(observation, after, counted=len(plan.finished))
                return
            elif isinstance(action, LaunchJob | CreateJob):
                self.create(action)

    def check(self, plan: Plan) -> None:
        """What must hold for every decision."""
        launches = [action.job for action in plan.actions if isinstance(action, LaunchJob)]
        if self.spec.get("concurrency") is None:
            assert len(plan.active_jobs) <= 1
            assert not (launches and self.living)
        lanes = [one.service is Service.INGESTION for one in plan.active_jobs]
        assert len(lanes) == len(set(lanes)), "one ingestion and one table service at most"
        for one in launches:
            rivals = {run.decided.instant for run in self.living} - {None}
            assert one.instant not in rivals, "an instant is never given to two runs"
        assert plan.foreign == (), "what runs of ours did is never taken for foreign"
        names = [one.name for one in plan.active_jobs]
        assert {run.decided.name for run in self.living} <= set(names)
        assert len(names) == len(set(names))

    def store(self, observation: Observation, plan: Plan, *, counted: int = 0) -> None:
        """Write the status, as the API server gives it back."""
        after = build_status(observation, plan, now=self.now)
        self.status = HudiTableStatus.model_validate(after.to_document())
        self.consumed += plan.finished[counted:]

    def create(self, action: LaunchJob | CreateJob) -> None:
        """Create a Job, once."""
        decided = action.job
        content = (decided.generation, decided.started_at, decided.driver_memory, decided.instant, decided.run_mode)
        assert decided.name not in self.runs or isinstance(action, CreateJob), "a name is that of one run"
        assert self.contents.setdefault(decided.name, content) == content, "a name is that of one content"
        if decided.name not in self.runs:
            self.launched.append(decided)
            observed = job(
                decided.name,
                uid=f"uid-{decided.name}",
                service=decided.service,
                attempt=decided.attempt,
                created_at=self.now,
                phase=JobPhase.STARTING,
                base_instant=decided.base_instant,
                decided_at=decided.started_at,
                generation=decided.generation,
            )
            self.runs[decided.name] = Run(decided, observed)

    def progress(self) -> None:
        """Let one Job come further, or die."""
        if not self.living:
            return
        run = self.dice.choice(self.living)
        phase = run.observed.phase
        if phase is JobPhase.STARTING:
            run.observed = replace(run.observed, phase=JobPhase.RUNNING)
        elif self.dice.random() > self.luck:
            self.end(run, None)
        elif run.instant is None:
            self.begin(run)
        elif not run.completed and self.dice.random() < self.luck:
            self.complete(run)
        else:
            self.end(run, self.word(run))

    def begin(self, run: Run) -> None:
        """Request the instant and make it inflight, or find nothing to do."""
        service, decided = run.decided.service, run.decided
        idle = 0.2 if self.luck < 1 else float(service is Service.INGESTION and not self.has_input)
        if decided.instant is None and self.dice.random() < idle:
            self.end(run, outcome(Outcome.NOTHING_TO_DO))
            return
        if service is Service.INGESTION or service is Service.CLEANING:
            self.roll_back_writes()
        if service is Service.INGESTION and any(f"{time}.clustering.requested" in self.files for time in self.pending):
            self.end(run, failed(FailureReason.CONFLICT))  # with updates: Reject, all of its rows being updates
            return
        is_inflight = f"{decided.instant}.{_ACTIONS.get(service)}.inflight" in self.files
        if service is Service.CLUSTERING and is_inflight:
            self.files -= {name for name in self.files if name.startswith(f"{decided.instant}.")}
            run.instant = self.time()
        else:
            run.instant = decided.instant if decided.run_mode is RunMode.EXECUTE else self.time()
        if service is not Service.INGESTION and run.instant is not None:
            self.plans.setdefault(run.instant, decided.name)
        if service in _ACTIONS:
            self.files |= {f"{run.instant}.{_ACTIONS[service]}.{state}" for state in ("requested", "inflight")}

    def complete(self, run: Run) -> None:
        """Complete the instant of a run."""
        service = run.decided.service
        run.completed = True
        if service is Service.ARCHIVAL:
            self.archive()
            return
        self.files.add(f"{run.instant}_{self.time()}.{_COMPLETED_AS.get(service, 'clean')}")
        if service is Service.INGESTION:
            self.marks.append((run.decided.name, run.instant or ""))
        if service is Service.CLEANING:
            commits = sorted(name.partition("_")[0] for name in self.files if name.endswith("commit"))
            self.cleaned = CleanSummary(
                last_completed_commit=commits[-1] if commits else "",
                earliest_retained=commits[-3] if len(commits) > 2 else "",
            )

    def roll_back_writes(self) -> None:
        """Remove what dead writers have left, as Hudi does before it writes or cleans."""
        living = {run.instant for run in self.living}
        for name in sorted(self.files):
            time, _, rest = name.partition(".")
            is_over = time not in living and not any(one.startswith(f"{time}_") for one in self.files)
            if rest == "deltacommit.inflight" and is_over:
                self.files -= {name, f"{time}.deltacommit.requested"}

    def archive(self) -> None:
        """Move the oldest instants away."""
        oldest = {name.partition(".")[0].partition("_")[0] for name in sorted(self.files)[: len(self.files) // 4]}
        gone = oldest - self.pending
        self.files -= {name for name in self.files if name.partition(".")[0].partition("_")[0] in gone}

    def word(self, run: Run) -> JobOutcome | None:
        """What the driver reports."""
        if not run.completed:
            kind = self.dice.choice([Outcome.CONFLICT, Outcome.FENCED, Outcome.FAILED])
            reasons = [FailureReason.HUDI_ERROR, FailureReason.STORAGE_UNAVAILABLE, FailureReason.OUT_OF_MEMORY]
            reason = self.dice.choice(reasons)
            return outcome(kind, reason=reason if kind is Outcome.FAILED else None)
        instant = None if run.decided.service is Service.ARCHIVAL else run.instant
        return outcome(Outcome.SUCCEEDED, instant=instant)

    def end(self, run: Run, reported: JobOutcome | None) -> None:
        """End a Job with the driver's word, or without."""
        run.observed = reporting(run.observed, reported, phase=JobPhase.OVER, exit_code=0 if reported else 137)

    def disturb(self) -> None:
        """Let a person or the cluster do something."""
        event = self.dice.randrange(6)
        over = [name for name, run in self.runs.items() if run.observed.phase is JobPhase.OVER]
        remembered = {one.name for one in self.status.active_jobs}
        if event == 0 and set(over) - remembered:
            self.runs.pop(self.dice.choice(sorted(set(over) - remembered)))  # its time to live has passed
        elif event == 1:
            self.annotations = {"hudi-operator.io/requested-at": at(self.now)}
        elif event == 2:
            self.generation += 1
        elif event == 3:
            self.spec["suspend"] = not self.spec.get("suspend", False) and self.dice.random() < 0.3
        elif event == 4 and over and self.dice.random() < 0.3:
            self.runs.pop(self.dice.choice(over))  # somebody deleted it before it was seen to end
        elif event == 5 and self.dice.random() < 0.3:
            self.status = self.status.copy_with(services=ServicesStatus())  # an earlier operator wrote it

    def time(self) -> str:
        """A new instant time."""
        self.now += timedelta(seconds=1)
        return self.now.strftime("%Y%m%d%H%M%S") + "000"
