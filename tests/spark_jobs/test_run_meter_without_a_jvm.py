"""What a run reports of its phase, from figures of Spark."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from hudi_jobs.contract.run_progress import ProgressUnit, RunPhase, RunProgress
from hudi_jobs.usage import run_meter
from hudi_jobs.usage.run_meter import UNKNOWN, Extent, Figures, MeasuredPhase, RunMeter

GROUPS = Extent(units=4, unit=ProgressUnit.FILE_GROUPS, bytes_to_read=100)


def measured(*figures: Figures, extent: Extent = UNKNOWN, seconds: float = 7.0) -> RunProgress:
    """Return the progress of a phase whose figures are measured one after the other, and then fail."""
    found = iter(figures)
    times = iter([0.0])
    phase = MeasuredPhase("run-1", RunPhase.COMPACTING, lambda: next(found), extent, clock=lambda: next(times, seconds))
    phase.measure_until_over()
    return phase.progress


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_meter, "_MEASURES_EVERY_SECONDS", 0.001)


def test_bytes_count_from_the_start_of_the_phase() -> None:
    found = measured(Figures((), 1000, 500), Figures((), 1040, 520))

    assert (found.bytes_read, found.bytes_written, found.seconds) == (40, 20, 7)


def test_a_stage_with_a_task_for_each_file_group_counts_file_groups() -> None:
    found = measured(Figures(), Figures(((3, 4), (1, 9))), extent=GROUPS)

    assert (found.done, found.total, found.unit, found.bytes_to_read) == (3, 4, ProgressUnit.FILE_GROUPS, 100)


def test_a_count_of_file_groups_does_not_go_back() -> None:
    found = measured(Figures(), Figures(((3, 4),)), Figures(((0, 4),)), Figures(((5, 9),)), extent=GROUPS)

    assert (found.done, found.total) == (3, 4)


def test_a_single_file_group_is_not_told_from_any_other_task() -> None:
    found = measured(Figures(), Figures(((1, 1),)), extent=Extent(units=1, unit=ProgressUnit.FILE_GROUPS))

    assert found.unit is ProgressUnit.TASKS


def test_without_such_a_stage_the_tasks_at_work_are_counted() -> None:
    found = measured(Figures(), Figures(((3, 8), (1, 9))), extent=GROUPS)

    assert (found.done, found.total, found.unit) == (4, 17, ProgressUnit.TASKS)


def test_a_figure_that_cannot_be_true_keeps_the_figures_before() -> None:
    found = measured(Figures((), 50), Figures((), 60), Figures((), 10))

    assert found.bytes_read == 10


def test_a_jvm_that_has_ended_leaves_the_phase_without_figures() -> None:
    def broken() -> Figures:
        raise ConnectionError

    phase = MeasuredPhase("run-1", RunPhase.READING, broken, UNKNOWN)
    phase.measure_until_over()

    assert phase.progress == RunProgress(run="run-1", phase=RunPhase.READING)


@pytest.fixture
def stuck() -> Iterator[Callable[[], Figures]]:
    """Return a measurement that ends with the test."""
    over = threading.Event()

    def measure() -> Figures:
        over.wait()
        return Figures()

    yield measure
    over.set()


def test_a_jvm_that_does_not_answer_delays_neither_phases_nor_reports(stuck: Callable[[], Figures]) -> None:
    meter, began = RunMeter(), time.monotonic()

    assert meter.report() is None
    meter.begin("run-1", RunPhase.READING, stuck)
    assert meter.report() == {"run": "run-1", "phase": "Reading"}
    meter.begin("run-1", RunPhase.WRITING, stuck)
    assert meter.report() == {"run": "run-1", "phase": "Writing"}
    meter.end()
    assert meter.report() is None
    assert time.monotonic() - began < 20


def test_a_phase_that_has_ended_is_not_measured_again() -> None:
    measurements: list[Figures] = []

    def measure() -> Figures:
        measurements.append(Figures())
        return measurements[-1]

    phase = MeasuredPhase("run-1", RunPhase.READING, measure, UNKNOWN)
    phase.over.set()
    phase.measure_until_over()

    assert len(measurements) == 1
