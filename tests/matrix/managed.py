"""The operator and its Jobs in this process: real reconciles, real decisions, and drivers that run what was decided."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from hudi_jobs.contract import Location, Outcome, Service
from hudi_jobs.driver import Driver
from hudi_operator.api.resources import OPERATIONS, HudiOperation, HudiTable, HudiTableClass
from hudi_operator.api.status.findings import Severity
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.control.snapshots.reader import SnapshotReader
from hudi_operator.control.snapshots.reading import NO_QUESTIONS
from hudi_operator.jobs.requests.request import build_request
from hudi_operator.planning.decide import decide
from hudi_operator.planning.facts.operations.decisions import with_decisions
from hudi_operator.planning.model import JobObservation, JobPhase, LaunchJob, Observation
from hudi_operator.planning.model.observation import Related
from hudi_operator.planning.outcome.findings.finding_registry import DEFINITIONS
from hudi_operator.planning.outcome.plan import Plan

IMAGE = "registry.example/hudi-spark:1"
OPERATOR = "cluster/hudi-operator"
_UNTIL_DONE = 60
_FAILURES = 3
_QUIET = 4
"""Reconciles, half an hour apart, at which nothing is started: longer than any retry waits."""
_SETTLED = frozenset({Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO})


@dataclass
class Managed:
    """One table under the operator. Its clock is this machine's and what `wait` has added."""

    spark: SparkSession
    spec: dict[str, Any]
    status: HudiTableStatus = field(default_factory=HudiTableStatus)
    jobs: list[JobObservation] = field(default_factory=list)
    ran: list[tuple[Service, Any]] = field(default_factory=list)
    ahead: timedelta = timedelta()
    decisions: list[HudiOperation] = field(default_factory=list)
    generation: int = 1

    def __post_init__(self) -> None:
        self._snapshots = SnapshotReader()
        self._began = self.now

    @property
    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def wait(self, **time: float) -> None:
        """Let time pass for the operator, without waiting."""
        self.ahead += timedelta(**time)

    def stop_ingesting(self) -> None:
        """Leave ingestion to the tool that has it."""
        del self.spec["ingestion"]
        self.generation += 1

    @property
    def table(self) -> HudiTable:
        metadata = {
            "name": "flights",
            "namespace": "team-a",
            "uid": "5c2a8a44-7c31-4f0e-9f4a-1d1c3b7e0a11",
            "generation": self.generation,
            "creationTimestamp": self._began.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        table = HudiTable.model_validate({"metadata": metadata, "spec": self.spec})
        return table.copy_with(status=self.status)

    def observe(self) -> Observation:
        """Observe, as the operator does."""
        base_path = self.table.spec.base_path
        snapshot = self._snapshots._read(Location.parse(base_path), None, namespace="team-a", questions=NO_QUESTIONS)
        seen = Observation(
            table=self.table,
            table_class=_CLASS,
            blockers=(),
            snapshot=snapshot,
            jobs=tuple(self.jobs),
            operator=OPERATOR,
            related=Related.of({OPERATIONS: tuple(self.decisions)}),
        )
        return with_decisions(seen, now=self.now)

    def step(self) -> Plan:
        """Observe, decide, store the status, and run what was decided to its end."""
        observation, now = self.observe(), self.now
        plan = decide(observation, default_image=IMAGE, now=now)
        status = plan.status
        self.status = HudiTableStatus.model_validate(status.to_document())
        self.jobs = []
        for action in plan.actions:
            if isinstance(action, LaunchJob):
                self.jobs.append(self._run(action.job))
        return plan

    def _run(self, job: ActiveJob) -> JobObservation:
        assert job.service is not None
        request = build_request(
            table=self.table,
            table_class=_CLASS.spec,
            service=job.service,
            run=job.name,
            spark_conf={},
            operator=OPERATOR,
            run_mode=job.run_mode,
            instant=job.instant,
            abandoned=job.abandoned,
        )
        outcome = Driver(request, lambda _: self.spark).run()
        (task,) = request.tasks
        result = outcome.result_of(task.id)
        assert result is not None, outcome
        self.ran.append((job.service, result))
        return JobObservation(
            name=job.name,
            uid=f"uid-{job.name}",
            service=job.service,
            task_id=task.id,
            attempt=job.attempt,
            created_at=self.now,
            phase=JobPhase.OVER,
            image=IMAGE,
            base_instant=job.base_instant,
            decided_at=job.started_at,
            generation=job.generation,
            driver_memory=job.driver_memory,
            outcome=outcome,
            exit_code=0,
        )

    def run_until_settled(self) -> str:
        """Continue until nothing more is started; a whole round of services has then run, with an ingestion.

        Returns why nothing is started at all where that is so, else nothing.
        """
        began, idle = len(self.ran), 0
        for _ in range(_UNTIL_DONE):
            before = len(self.ran)
            self.step()
            idle = 0 if len(self.ran) > before else idle + 1
            if idle > _QUIET:
                break
            if sum(result.outcome is Outcome.FAILED for _, result in self.ran) > _FAILURES:
                break
            self.wait(minutes=30 if idle else 1)
        services = {service for service, result in self.ran[began:] if result.outcome in _SETTLED}
        if refusal := self.refusal():
            assert not services, f"{refusal} was told after {self.summary()}"
            return refusal
        expected = {Service.CLEANING, *((Service.INGESTION,) if "ingestion" in self.spec else ())}
        assert services >= expected, f"{self.summary()}; {self.conditions()}"
        unwell = [told for told in self.conditions() if not told[1]]
        assert not unwell, f"{unwell} after {self.summary()}"
        return ""

    def summary(self) -> list[str]:
        """Return what each run said."""
        return [f"{service} {result.outcome}: {result.message}" for service, result in self.ran]

    def refusal(self) -> str:
        """Return why nothing is started, where a condition says so."""
        found = next((f"{one.code}: {one.message}" for one in self.status.findings if one.code in _REFUSALS), "")
        stalled = (one for one in self.status.conditions if one.type == "Stalled")
        return found or next((f"{one.reason}: {one.message}" for one in stalled), "")

    def conditions(self) -> list[tuple[str, bool]]:
        """Return what each condition says, and whether it is well."""
        abnormal = {"Stalled", "Reconciling"}
        return [
            (f"{one.type} {one.reason}: {one.message}", (one.status == "True") != (one.type in abnormal))
            for one in self.status.conditions
        ]


_REFUSALS = frozenset(one.code for one in DEFINITIONS if one.severity is not Severity.INFO)
"""Findings that say why nothing, or not everything, starts."""

_CLASS = HudiTableClass.model_validate(
    {
        "metadata": {"name": "standard", "uid": "class-uid"},
        "spec": {"allowedBasePaths": ["file:///tmp/"], "allowedSourcePaths": ["file:///tmp/"]},
    }
)


def busy(source: Path, *, kind: str, columns: str) -> dict[str, Any]:
    """Return the fields of a spec that has every service find work after each commit."""
    files = {"path": f"file://{source}", "format": "csv", "options": {"header": "true"}, "columns": columns}
    return {
        "managementPolicy": "Manage",
        "concurrency": {},
        "ingestion": {"source": {"files": files}, "schedule": {"every": "24h"}},
        "compaction": {"mode": "Async", "trigger": {"deltaCommits": 1}} if kind == "MergeOnRead" else {},
        "clustering": {"mode": "Async", "trigger": {"commits": 1}, "plan": {"partitions": {"lookback": 10}}},
        "cleaning": {"mode": "Async", "retainCommits": 1},
        "archival": {"minCommits": 2, "maxCommits": 3},
    }
