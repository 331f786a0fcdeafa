"""Every operation is killed at every phase, on tables of every shape: it is done once, and no table stays stuck.

Which phases there are is seen in the run, so a new one is swept without a word here. Between them Hudi itself is at
work: a driver is also killed when the files of the timeline have changed. `crashes.py` says how one run gives all of
these moments. What the next run is told to be abandoned is what the operator would tell it. `make test-faults` runs all
of it, which takes hours; FAULTS_SHAPES=6 takes six shapes for each kind, in another order for each, which have every
pair of their values, FAULTS_MOMENTS=2 draws two moments for each of these, by FAULTS_SEED, and FAULTS_SHARE=1/4 takes a
quarter.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from tests.spark_jobs.conftest import Lake
from tests.spark_jobs.operations.asked import begun_savepoints, files, pending, report_of, rows
from tests.spark_jobs.operations.kills.crashes import Files, left_at_every_moment
from tests.spark_jobs.operations.kills.killing import LONG_AGO, TRIALS
from tests.spark_jobs.operations.shapes import SHAPES, Shape, spread
from tests.spark_jobs.operations.trial import Asked, Trial
from tests.spark_jobs.services.test_services import csv
from tests.spark_jobs.tables.test_table_version import properties

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
from hudi_jobs.phases import EVERY_PHASE, PAUSE_VARIABLE
from toolkit.shares import share

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(7200)]

SWEPT = pytest.mark.skipif(os.environ.get("FAULTS") != "full", reason="swept by make test-faults")
MOST_CHANGES = 6
"""At how many changes of the timeline between its phases a driver is killed at most, evenly spread."""

_GOOD = {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}
_FINAL = {FailureReason.NOT_VERIFIED, FailureReason.NOT_ERASED}
_WRITES = {"commit", "deltacommit", "replacecommit"}
_WRITING = {OperationKind.ERASE, OperationKind.RESTORE, OperationKind.ROLLBACK}


def swept() -> list[tuple[Trial, Shape]]:
    """Every trial on every shape that it fits, or what was asked for of them: a shape of each trial after another."""
    most = int(os.environ.get("FAULTS_SHAPES") or len(SHAPES))
    fitting = [[shape for shape in SHAPES if trial.fits(shape)] for trial in TRIALS]
    ordered = [spread(shapes, 3 * number % len(shapes)) for number, shapes in enumerate(fitting)]
    return share(
        (trial, shapes[number])
        for number in range(most)
        for trial, shapes in zip(TRIALS, ordered, strict=True)
        if number < len(shapes)
    )


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
    case = KillCase(lake, trial, shape, trial.prepare(lake, shape), metadata_partitions(lake))
    known = set(begun(lake, trial))
    running = program(
        abandoning(case.asked.request, shape, run="killed", abandoned=()), **{PAUSE_VARIABLE: EVERY_PHASE}
    )
    moments = left_at_every_moment(lake, running, lake.folder / "kept")
    check_done(case, running.finish().results[0])
    tried = drawn(few(moments), f"{trial} {shape}")
    for left in tried:
        left.put_back(lake)
        try:
            finish(case, known)
        except Exception as error:  # noqa: BLE001 - the other moments are tried all the same
            wrong.append(f"{trial} on {shape} killed at {left.moment}: {error}")
    print(f"{trial} on {shape}: {' '.join(left.moment for left in tried)}")  # noqa: T201 - says what was swept
    rmtree(lake.folder / "kept")
    assert not wrong, "\n\n".join(wrong)


def few(moments: list[Files]) -> list[Files]:
    """Every phase, and so many of the changes between them as are tried."""
    changes = [files for files in moments if files.moment.startswith("change")]
    step = max(len(changes) / MOST_CHANGES, 1.0)
    left_out = {files.moment for files in changes} - {
        changes[int(step * one)].moment for one in range(MOST_CHANGES) if step * one < len(changes)
    }
    return [files for files in moments if files.moment not in left_out]


def drawn(moments: list[Files], what: str) -> list[Files]:
    """All moments, or so many of them as were asked for."""
    most = int(os.environ.get("FAULTS_MOMENTS") or len(moments))
    draw = random.Random(f"{os.environ.get('FAULTS_SEED', '')} {what}")
    return draw.sample(moments, most) if most < len(moments) else moments


@dataclass(frozen=True)
class KillCase:
    """One trial on one table; `metadata` is what the table has of a metadata table."""

    lake: Lake
    trial: Trial
    shape: Shape
    asked: Asked
    metadata: list[set[str]]


def finish(case: KillCase, known: set[tuple[str, str]]) -> None:
    """See that the run after a killed one does what is left, once, and that the table works on."""
    lake, trial, shape, asked = case.lake, case.trial, case.shape, case.asked
    left = left_by(trial, [one for one in begun(lake, trial) if one not in known])
    result = run(lake, asked, shape, "next", abandoned=left)
    if result.outcome not in _GOOD and result.reason not in _FINAL:
        # The operator tries again, with growing distance: heartbeats of the dead run are old by then.
        let_heartbeats_end(lake)
        print(f"{trial} on {shape}: tried again after {result.message}")  # noqa: T201 - says what was swept
        result = run(lake, asked, shape, "after-next", abandoned=left)
    check_done(case, result, left=left)


def let_heartbeats_end(lake: Lake) -> None:
    """Let minutes pass for the heartbeats of runs that are dead."""
    for beat in (lake.folder / "table/.hoodie/.heartbeat").rglob("*"):
        os.utime(beat, (LONG_AGO, LONG_AGO))


def makes_writes(trial: Trial) -> bool:
    """Whether the operation makes commits of its own: the operator says of these that a killed run has left one."""
    return trial.kind in _WRITING or trial.detail == RepairStep.DEDUPLICATE


def left_by(trial: Trial, begun_since: list[tuple[str, str]]) -> tuple[str, ...]:
    """What the operator takes for left behind by a run (`planning/facts/writers/leftover.py`)."""
    return tuple(time for action, time in begun_since if action not in _WRITES or makes_writes(trial))


def check_done(case: KillCase, result: TaskResult, *, left: tuple[str, ...] = ()) -> None:
    """The table holds what it should, nothing is pending, a repetition changes nothing, and the table works on."""
    lake, shape, asked = case.lake, case.shape, case.asked
    assert result.outcome in _GOOD, f"{result.reason}: {result.message}"
    assert report_of(result).phase is OperationPhase.DONE
    assert rows(lake) == asked.expected
    if {time for _, time in pending(lake)} & set(left):
        # What a dead run has left under a lock is the table's own, and goes with the next cleaning.
        let_heartbeats_end(lake)
        assert lake.serve(Service.CLEANING, concurrency=shape.concurrency, abandoned=left).outcome in _GOOD
    assert (pending(lake), begun_savepoints(lake)) == ([], [])
    if shape.metadata:
        # Beside a dead write none is made, which the outcome says, and the next write makes it, without its indexes.
        assert metadata_partitions(lake) == (case.metadata if has_metadata_table(lake) else [set(), set()])
        told_lost = {"metadata table no longer exists", *(case.metadata[0] - {"files"})}
        assert has_metadata_table(lake) or all(each in result.message for each in told_lost), result
        assert rows(lake, metadata=True) == asked.expected
    asked.proof()
    before = in_table(lake)
    again = run(lake, asked, shape, "again")
    assert (again.outcome in _GOOD, report_of(again).phase) == (True, OperationPhase.DONE), again
    assert in_table(lake) == before, "it is done once"
    works_on(case)


def works_on(case: KillCase) -> None:
    """What was removed is read again, and what is new besides."""
    lake, shape, before = case.lake, case.shape, case.asked.afterwards or case.asked.expected
    had = metadata_partitions(lake)[0] or ({"files"} if shape.metadata else set())
    lake.put("last.csv", csv(0, 1, 99), at=1_000)
    asked = lake.request()
    result = lake.drive(abandoning(asked, shape, run=f"ingest-{lake.runs}", abandoned=()))
    assert result.outcome is Outcome.SUCCEEDED, result
    assert rows(lake) == sorted({**{row[0]: row for row in before}, "0": ("0", "99")}.values())
    assert has_metadata_table(lake) is shape.metadata
    has, half_made = metadata_partitions(lake)
    assert (had <= has <= case.metadata[0], half_made) == (True, set())


def metadata_partitions(lake: Lake) -> list[set[str]]:
    """The partitions of the metadata table, and those that are half made; also where the properties are damaged."""
    found, key = properties(lake), "hoodie.table.metadata.partitions"
    return [{name for name in found.get(one, "").split(",") if name} for one in (key, f"{key}.inflight")]


def has_metadata_table(lake: Lake) -> bool:
    """Whether the table has a metadata table."""
    return Path(lake.folder, "table/.hoodie/metadata/.hoodie/hoodie.properties").exists()


def run(lake: Lake, asked: Asked, shape: Shape, name: str, *, abandoned: tuple[str, ...] = ()) -> TaskResult:
    """One run of the operation in this process."""
    result: TaskResult = lake.drive(abandoning(asked.request, shape, run=name, abandoned=abandoned))
    return result


def abandoning(request: JobRequest, shape: Shape, *, run: str, abandoned: tuple[str, ...]) -> JobRequest:
    """A request as the operator makes it: the name of its run, and what it may end."""
    template: Any = request.tasks[0]
    task = template.copy_with(concurrency=shape.concurrency, abandoned=abandoned)
    return request.copy_with(run=run, tasks=(task,))


def begun(lake: Lake, trial: Trial) -> list[tuple[str, str]]:
    """What the operator sees to be pending; of a timeline that is half moved nothing."""
    if trial.kind in CHANGES_VERSION or trial.detail == RepairStep.RESTORE_PROPERTIES:
        return []
    return pending(lake)


def in_table(lake: Lake) -> set[str]:
    """Every file of the table but those of the operator."""
    return {path for path in files(lake) if "/.hudi-operator/" not in path and not path.endswith(".crc")}


def test_shares_and_shapes_leave_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = swept()
    shares = []
    for part in ("1/3", "2/3", "3/3"):
        monkeypatch.setenv("FAULTS_SHARE", part)
        shares += swept()
    assert sorted(map(str, shares)) == sorted(map(str, everything))


def test_six_shapes_have_every_pair_of_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULTS_SHAPES", "6")
    for trial in TRIALS:
        tried = [shape for one, shape in swept() if one is trial]
        all_pairs = {pair for shape in SHAPES if trial.fits(shape) for pair in combinations(shape.values, 2)}
        assert {pair for shape in tried for pair in combinations(shape.values, 2)} == all_pairs, trial
