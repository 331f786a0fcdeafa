"""Histories of a table, its HudiSavepoints and their runs: drivers die, status is lost, and people interfere."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from random import Random
from typing import Any

import pytest
from tests.planning.savepoints.savepoints import RESTING
from tests.planning.world import NOW, at, ended, job, observe, outcome, plan_for, story, table
from tests.samples import sampled

from hudi_jobs.contract import Outcome, SavepointWork, Service
from hudi_operator.api.resources import SAVEPOINT_FINALIZER, SAVEPOINTS, HudiSavepoint, parse_savepoint
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.api.status.savepoints import HudiSavepointStatus, SavepointState
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.model import CreateJob, JobObservation, LaunchJob, TimelineSnapshot
from hudi_operator.planning.model.observation import Related
from hudi_operator.planning.outcome.status.savepoint_status import decide_savepoint
from hudi_operator.timeline import CleanSummary, Timeline

STEPS = 120
SEEDS = sampled(range(20), few=7)
OPTIMISTIC = {"concurrency": {"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk:2181"}}}}
"""Others commit and clean as they like."""


@dataclass
class Resource:
    """A HudiSavepoint as the API server holds it."""

    name: str
    created: datetime
    spec: dict[str, Any]
    status: HudiSavepointStatus = field(default_factory=HudiSavepointStatus)
    deleted: datetime | None = None

    def parsed(self) -> HudiSavepoint:
        metadata = {
            "name": self.name,
            "namespace": "team-a",
            "uid": f"uid-of-{self.name}",
            "creationTimestamp": at(self.created),
            "finalizers": [SAVEPOINT_FINALIZER],
            **({"deletionTimestamp": at(self.deleted)} if self.deleted else {}),
        }
        spec = {"tableRef": {"name": "flights"}, **self.spec}
        found = parse_savepoint({"metadata": metadata, "spec": spec, "status": self.status.to_document()})
        assert isinstance(found, HudiSavepoint)
        return found


class History:
    """One table; `saved` maps the commits with a savepoint to the uid that it names, None for somebody else's."""

    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.now = NOW
        self.commits = [self.moment()]
        self.saved: dict[str, str | None] = {}
        self.made: dict[str, set[str]] = {}
        self.decided: dict[str, set[str]] = {}
        self.parted: set[str] = set()
        self.keeps_from = ""
        self.clean: str | None = None
        self.resources: dict[str, Resource] = {}
        self.status = HudiTableStatus()
        self.running: ActiveJob | None = None
        self.over: tuple[ActiveJob, Outcome | None] | None = None
        self.suspended = False
        self.number = 0
        self.released = 0

    def moment(self) -> str:
        return self.now.strftime("%Y%m%d%H%M%S") + "000"

    def timeline(self) -> Timeline:
        files = [f"{one}_{one[:-1]}1.commit" for one in self.commits]
        files += [f"{one}_{one[:-1]}2.savepoint" for one in self.saved]
        files += [f"{self.clean}_{self.clean[:-1]}1.clean"] if self.clean else []
        return story(*files, clean=CleanSummary(earliest_retained=self.keeps_from))

    def reconcile(self) -> None:
        jobs: tuple[JobObservation, ...] = ()
        if self.running is not None:
            jobs = (job(self.running.name, service=Service.SAVEPOINT, decided_at=self.running.started_at),)
        elif self.over is not None:
            done, how = self.over
            refused = {"reason": "SavepointRefused"} if how is Outcome.NOTHING_TO_DO else {}
            told = None if how is None else outcome(how, **refused)
            code = 137 if how is None else None
            jobs = (
                ended(done.name, service=Service.SAVEPOINT, decided_at=done.started_at, outcome=told, exit_code=code),
            )
        rests = {**RESTING, "type": "MergeOnRead", "compaction": {"mode": "Disabled"}}
        spec = {**rests, **OPTIMISTIC, "suspend": self.suspended}
        runs = tuple((f"run-{one}", one) for one in self.commits)
        seen = observe(
            table(status=self.status, **spec),
            snapshot=TimelineSnapshot(timeline=self.timeline(), runs=runs),
            jobs=jobs,
            related=Related.of({SAVEPOINTS: tuple(one.parsed() for one in self.resources.values())}),
        )
        plan = plan_for(seen, now=self.now)
        self.status = HudiTableStatus.model_validate(plan.status.to_document())
        self.over = None
        for action in plan.actions:
            assert isinstance(action, LaunchJob | CreateJob)
            assert self.running is None, "one Job at a time"
            self.running = action.job
        self.report()

    def report(self) -> None:
        """What the reconciler of the resources does."""
        for name, one in list(self.resources.items()):
            step = decide_savepoint(one.parsed(), table(status=self.status), now=self.now)
            if step.released is not None:
                del self.resources[name]
                self.released += 1
            elif step.status is not None:
                one.status = step.status

    def drive(self, *, dies: bool) -> None:
        """What the driver does, or the moment at which it dies: before its work, or after it."""
        assert self.running is not None
        done, self.running = self.running, None
        named = done.named_savepoint
        assert named is not None
        if dies and self.dice.random() < 0.5:
            self.over = (done, None)
            return
        if named.work is SavepointWork.MAKE and named.instant not in self.saved:
            if named.instant not in self.commits or self.is_cleaned(named.instant):
                self.over = (done, None if dies else Outcome.NOTHING_TO_DO)
                return
            assert named.uid not in self.saved.values(), "one savepoint, however often its run is repeated"
            self.saved[named.instant] = named.uid
            self.made.setdefault(named.uid, set()).add(named.instant)
        elif named.work is SavepointWork.REMOVE:
            if self.saved.get(named.instant, named.uid) != named.uid and not named.adopted:
                self.over = (done, None if dies else Outcome.NOTHING_TO_DO)
                return
            if named.instant in self.saved:
                assert named.uid not in self.parted, "what is there after its own was removed is somebody else's"
                self.parted.add(named.uid)
                del self.saved[named.instant]
        self.over = (done, None if dies else Outcome.SUCCEEDED)

    def is_cleaned(self, instant: str) -> bool:
        return self.clean is not None and instant < min(self.clean, self.keeps_from)

    def step(self) -> None:
        self.now += timedelta(seconds=self.dice.choice([20, 60, 400]))
        chosen = self.dice.choice(
            ["reconcile"] * 4
            + ["drive"] * 3
            + [
                "die",
                "commit",
                "commit",
                "declare",
                "declare",
                "delete",
                "clean",
                "clean",
                "undo",
                "suspend",
                "by hand",
                "remove",
                "lose",
            ]
        )
        if chosen in {"drive", "die"} and self.running is not None:
            self.drive(dies=chosen == "die")
        elif chosen == "lose" and self.running is None and self.over is None:
            self.report()
            self.status = HudiTableStatus()
        else:
            self.happens(chosen)

    def happens(self, what: str) -> None:
        """What comes from outside, and what the operator does then."""
        if what == "reconcile":
            self.reconcile()
        elif what == "commit":
            self.commits.append(self.moment())
        elif what == "declare":
            self.declare()
        elif what == "delete" and self.resources:
            self.dice.choice(list(self.resources.values())).deleted = self.now
        elif what == "clean":
            self.clean, self.keeps_from = self.moment(), self.dice.choice(self.commits[-3:])
        elif what == "undo" and len(self.commits) > 1 and self.commits[-1] not in self.saved:
            self.commits.pop()
        elif what == "suspend":
            self.suspended = not self.suspended
        elif what == "by hand":
            self.saved.setdefault(self.dice.choice(self.commits), None)
        elif what == "remove" and self.saved:
            del self.saved[self.dice.choice(list(self.saved))]

    def declare(self) -> None:
        self.number += 1
        which = {"latest": True} if self.dice.random() < 0.7 else {"instant": self.dice.choice(self.commits)}
        time = {"keepForever": True} if self.dice.random() < 0.7 else {"expiresAfter": "30m"}
        name = f"s{self.number}"
        self.resources[name] = Resource(name, self.now, {**which, **time})

    def calm(self) -> None:
        """Let everything come to its end."""
        self.suspended = False
        for _ in range(60):
            self.now += timedelta(minutes=15)
            self.reconcile()
            while self.running is not None:
                self.drive(dies=False)
                self.reconcile()


@cache
def played(seed: int) -> History:
    """Return the history of a seed, which ends in peace."""
    history = History(Random(seed))
    for _ in range(STEPS):
        history.step()
        named = history.running.named_savepoint if history.running is not None else None
        if named is not None and named.work is SavepointWork.MAKE:
            history.decided.setdefault(named.uid, set()).add(named.instant)
    history.calm()
    return history


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_happens_no_resource_has_two_savepoints_and_none_takes_anothers(seed: int) -> None:
    history = played(seed)
    assert not [one for one in history.resources.values() if one.deleted], "none is held for ever"
    for entry in history.status.savepoints:
        assert entry.state is not SavepointState.REMOVING
        if entry.state is SavepointState.RETAINED:
            assert history.saved.get(entry.instant or "") != entry.uid, "only one of somebody else is left"
        if entry.state is SavepointState.KEPT:
            assert entry.instant in history.saved
        if entry.resource and "latest" in history.resources[entry.resource].spec:
            is_refused = entry.state is SavepointState.REFUSED
            assert not (is_refused and entry.reason != "TooManySavepoints"), "there is a latest always"


def test_the_histories_are_worth_the_name() -> None:
    histories = [played(seed) for seed in SEEDS]
    assert any(len(instants) > 1 for one in histories for instants in one.decided.values()), "another commit is chosen"
    assert sum(len(one.made) for one in histories) > len(SEEDS)
    assert sum(one.released for one in histories) > len(SEEDS)
