"""Every operation is killed at every phase, on tables of every shape: it is done once, and no table stays stuck.

Which phases there are is seen in a run that is left alone, so a new one is swept without a word here. Between them
Hudi itself is at work: a driver is also killed when the files of the timeline have changed for the nth time. What the
next run is told to be abandoned is what the operator would tell it. `make test-faults` runs all of it, which takes many
hours; FAULTS_SHAPES=2 takes two shapes for each kind, in another order for each, FAULTS_MOMENTS=2 draws two moments for
each of these, by FAULTS_SEED, and FAULTS_SHARE=1/4 takes a quarter.
"""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import pytest
from tests.spark_jobs.conftest import Lake
from tests.spark_jobs.operations.asked import files, pending, report_of, rows
from tests.spark_jobs.operations.killing import LONG_AGO, TRIALS, Asked, Trial
from tests.spark_jobs.operations.shapes import SHAPES, Shape
from tests.spark_jobs.services.test_services import csv

from hudi_jobs import phases
from hudi_jobs.contract import (
    CHANGES_VERSION,
    FailureReason,
    JobRequest,
    OperationKind,
    OperationPhase,
    Outcome,
    RepairStep,
    RunnableService,
    Service,
    TaskResult,
)
from hudi_jobs.operations.kinds import KINDS
from hudi_jobs.operations.repair.steps import STEPS

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(7200)]

SWEPT = pytest.mark.skipif(os.environ.get("FAULTS") != "full", reason="swept by make test-faults")
MOST_CHANGES = 6
"""At how many changes of the timeline a driver is killed at most, evenly spread."""

_LOOK_SECONDS = 0.003
_GOOD = {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}
_FINAL = {FailureReason.NOT_VERIFIED, FailureReason.NOT_ERASED}
_WRITES = {"commit", "deltacommit", "replacecommit"}
_WRITING = {OperationKind.ERASE, OperationKind.RESTORE, OperationKind.ROLLBACK}


def swept() -> list[tuple[Trial, Shape]]:
    """Every trial on every shape that it fits, or what was asked for of them."""
    most = int(os.environ.get("FAULTS_SHAPES") or len(SHAPES))
    found: list[tuple[Trial, Shape]] = []
    for number, trial in enumerate(TRIALS):
        fitting = [shape for shape in SHAPES if trial.fits(shape)]
        first = 3 * number % len(fitting)
        # Next to the first comes its opposite, so that two shapes differ in all that they can.
        turned = dict.fromkeys((fitting[first], fitting[-1 - first], *fitting[first:], *fitting))
        found += [(trial, shape) for shape in [*turned][:most]]
    part, _, parts = os.environ.get("FAULTS_SHARE", "1/1").partition("/")
    return found[int(part) - 1 :: int(parts)]


@dataclass(frozen=True)
class Moment:
    """When a driver is killed: at a phase, for the nth time, or when the timeline has changed so often."""

    phase: str | None
    time: int

    def __str__(self) -> str:
        return f"{self.phase or 'change'}:{self.time}"


def test_every_kind_step_and_service_is_swept() -> None:
    assert {trial.kind for trial in TRIALS} == set(KINDS)
    assert {one.detail for one in TRIALS if one.kind is OperationKind.REPAIR} == set(STEPS) == set(RepairStep)
    assert {one.detail for one in TRIALS if one.kind is OperationKind.RUN_SERVICE} == set(RunnableService)


@SWEPT
@pytest.mark.parametrize(("trial", "shape"), swept(), ids=str)
def test_the_next_run_finishes_what_a_killed_one_has_begun_and_does_it_once(
    lake: Lake, program: Callable[..., Any], trial: Trial, shape: Shape
) -> None:
    wrong = []
    shape.declare(lake)
    case = Case(lake, trial, shape, trial.prepare(lake, shape))
    before = Kept(lake)
    moments = drawn(moments_of(lake, shape, case.asked), f"{trial} {shape}")
    for moment in moments:
        before.put_back()
        try:
            kill(case, program, moment)
        except Exception as error:  # noqa: BLE001 - the other moments are tried all the same
            wrong.append(f"{trial} on {shape} killed at {moment}: {error}")
    print(f"{trial} on {shape}: {', '.join(map(str, moments))}")  # noqa: T201 - says what was swept
    assert not wrong, "\n\n".join(wrong)


def drawn(moments: list[Moment], what: str) -> list[Moment]:
    """All moments, or so many of them as were asked for."""
    most = int(os.environ.get("FAULTS_MOMENTS") or len(moments))
    draw = random.Random(f"{os.environ.get('FAULTS_SEED', '')} {what}")
    return draw.sample(moments, most) if most < len(moments) else moments


class Kept:
    """A table and its source as they are now, to begin with again and again."""

    def __init__(self, lake: Lake) -> None:
        self._folder, self._copy = lake.folder, lake.folder / "kept"
        for name in ("table", "in"):
            copytree(self._folder / name, self._copy / name)

    def put_back(self) -> None:
        """Have everything as it was, with the times at which files were written."""
        for name in ("table", "in"):
            rmtree(self._folder / name)
            copytree(self._copy / name, self._folder / name)


def moments_of(lake: Lake, shape: Shape, asked: Asked) -> list[Moment]:
    """Leave a run alone, and return the phases that it has gone through and how often the timeline has changed."""
    before = Counter(phases._REACHED)
    with changes_of(lake) as seen:
        result = run(lake, asked, shape, "undisturbed")
    reached = Counter(phases._REACHED) - before
    check_done(lake, shape, asked, result)
    found = [Moment(phase, time) for phase, times in reached.items() for time in range(1, times + 1)]
    step = max(len(seen) / MOST_CHANGES, 1.0)
    changes = sorted({int(step * one) + 1 for one in range(MOST_CHANGES) if step * one < len(seen)})
    return [*found, Moment(phases.Phase.BEFORE_OUTCOME, 1), *(Moment(None, time) for time in changes)]


@dataclass(frozen=True)
class Case:
    """One trial on one table."""

    lake: Lake
    trial: Trial
    shape: Shape
    asked: Asked


def kill(case: Case, program: Callable[..., Any], moment: Moment) -> None:
    """Kill a driver at a moment, and see that the next run does what is left, once, and that the table works on."""
    lake, trial, shape, asked = case.lake, case.trial, case.shape, case.asked
    known = set(begun(lake, trial))
    request = told(asked.request, shape, run=f"killed-{moment}".replace(":", "-"), abandoned=())
    if moment.phase is not None:
        running = program(request, HUDI_JOB_PAUSE_AT=str(moment))
        running.wait_until(running.has_stopped)
    else:
        running = program(request)
        wait_for_change(lake, running, moment.time)
    running.kill()
    left = left_by(trial, [one for one in begun(lake, trial) if one not in known])

    result = run(lake, asked, shape, "next", abandoned=left)
    if result.outcome not in _GOOD and result.reason not in _FINAL:
        # The operator tries again, with growing distance: heartbeats of the dead run are old by then.
        let_heartbeats_end(lake)
        print(f"{trial} on {shape} at {moment}: tried again after {result.message}")  # noqa: T201
        result = run(lake, asked, shape, "after-next", abandoned=left)
    check_done(lake, shape, asked, result, left=left)


def let_heartbeats_end(lake: Lake) -> None:
    """Let minutes pass for the heartbeats of runs that are dead."""
    for beat in (lake.folder / "table/.hoodie/.heartbeat").rglob("*"):
        os.utime(beat, (LONG_AGO, LONG_AGO))


def makes_writes(trial: Trial) -> bool:
    """Whether the operation makes commits of its own: the operator says of these that a killed run has left one."""
    return trial.kind in _WRITING or trial.detail == RepairStep.DEDUPLICATE


def left_by(trial: Trial, begun_since: list[tuple[str, str]]) -> tuple[str, ...]:
    """What the operator takes for left behind by a run (`planning/writers/unfinished.py`)."""
    return tuple(time for action, time in begun_since if action not in _WRITES or makes_writes(trial))


def check_done(lake: Lake, shape: Shape, asked: Asked, result: TaskResult, *, left: tuple[str, ...] = ()) -> None:
    """The table holds what it should, nothing is pending, a repetition changes nothing, and the table works on."""
    assert result.outcome in _GOOD, result
    assert report_of(result).phase is OperationPhase.DONE
    assert rows(lake) == asked.expected
    if {time for _, time in pending(lake)} & set(left):
        # What a dead run has left under a lock is the table's own, and goes with the next cleaning.
        let_heartbeats_end(lake)
        assert lake.serve(Service.CLEANING, concurrency=shape.concurrency, abandoned=left).outcome in _GOOD
    assert pending(lake) == []
    if shape.metadata:
        # Beside a dead write none is made, which the outcome says, and the next write makes it.
        assert has_metadata_table(lake) or "metadata table no longer exists" in result.message, result
        assert rows(lake, metadata=True) == asked.expected
    asked.proof()
    before = in_table(lake)
    again = run(lake, asked, shape, "again")
    assert (again.outcome in _GOOD, report_of(again).phase) == (True, OperationPhase.DONE), again
    assert in_table(lake) == before, "it is done once"
    works_on(lake, shape)


def works_on(lake: Lake, shape: Shape) -> None:
    """What was removed is read again, and what is new besides."""
    lake.put("last.csv", csv(0, 1, 99), at=1_000)
    asked = lake.request()
    result = lake.drive(told(asked, shape, run=f"ingest-{lake.runs}", abandoned=()))
    assert result.outcome is Outcome.SUCCEEDED, result
    assert ("0", "99") in {tuple(map(str, row[:2])) for row in rows(lake)}
    assert has_metadata_table(lake) is shape.metadata


def has_metadata_table(lake: Lake) -> bool:
    """Whether the table has a metadata table."""
    return Path(lake.folder, "table/.hoodie/metadata/.hoodie/hoodie.properties").exists()


def run(lake: Lake, asked: Asked, shape: Shape, name: str, *, abandoned: tuple[str, ...] = ()) -> TaskResult:
    """One run of the operation in this process."""
    result: TaskResult = lake.drive(told(asked.request, shape, run=name, abandoned=abandoned))
    return result


def told(request: JobRequest, shape: Shape, *, run: str, abandoned: tuple[str, ...]) -> JobRequest:
    """A request as the operator makes it: the name of its run, and what it may end."""
    changes = {"concurrency": shape.concurrency, "abandoned": abandoned}
    task = request.tasks[0].model_copy(update=changes)
    return request.model_copy(update={"run": run, "tasks": (task,)})


def begun(lake: Lake, trial: Trial) -> list[tuple[str, str]]:
    """What the operator sees to be pending; of a timeline that is half moved nothing."""
    if trial.kind in CHANGES_VERSION or trial.detail == RepairStep.RESTORE_PROPERTIES:
        return []
    return pending(lake)


def in_table(lake: Lake) -> set[str]:
    """Every file of the table but those of the operator."""
    return {path for path in files(lake) if "/.hudi-operator/" not in path and not path.endswith(".crc")}


def names_in_timeline(lake: Lake) -> frozenset[str]:
    """The files of both layouts."""
    folder = Path(lake.folder, "table/.hoodie")
    both = (folder, folder / "timeline")
    return frozenset(path.name for one in both if one.exists() for path in one.iterdir() if path.name[:1].isdigit())


@contextmanager
def changes_of(lake: Lake) -> Iterator[list[frozenset[str]]]:
    """Note every change of the timeline's files while something is at work on it."""
    seen: list[frozenset[str]] = []
    over = threading.Event()

    def look() -> None:
        last = names_in_timeline(lake)
        while not over.wait(_LOOK_SECONDS):
            if (now := names_in_timeline(lake)) != last:
                seen.append(now)
                last = now

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def wait_for_change(lake: Lake, running: Any, times: int) -> None:
    """Wait until the timeline has changed so often, or the driver has ended: one may see less than another."""
    last, left = names_in_timeline(lake), times
    while left and running.process.poll() is None:
        now = names_in_timeline(lake)
        left, last = (left - 1, now) if now != last else (left, last)
        over = threading.Event()
        over.wait(_LOOK_SECONDS)


def test_shares_and_shapes_leave_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = swept()
    shares = []
    for part in ("1/3", "2/3", "3/3"):
        monkeypatch.setenv("FAULTS_SHARE", part)
        shares += swept()
    assert sorted(map(str, shares)) == sorted(map(str, everything))
