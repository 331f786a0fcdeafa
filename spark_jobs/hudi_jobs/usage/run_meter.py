"""Measures the current phase of a run by Spark's own figures: the tasks at work, and the bytes that it has moved.

A thread of its own measures every few seconds, so that neither the work nor a renewal of the lease waits for the JVM.
Measuring never fails a run: after an error the figures of the phase stay as they are.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from pydantic import ValidationError
from pyspark.sql import SparkSession

from hudi_jobs.contract.run_progress import ProgressUnit, RunPhase, RunProgress, encode_run_progress
from hudi_jobs.usage.run_usage import bytes_moved

_MEASURES_EVERY_SECONDS = 5.0
_STAGES_READ = 64
_LOGGER = logging.getLogger(__name__)


class Figures(NamedTuple):
    """The tasks of each stage at work, as completed and all, and the bytes of the application so far."""

    stages: tuple[tuple[int, int], ...] = ()
    bytes_read: int = 0
    bytes_written: int = 0


@dataclass(frozen=True, kw_only=True)
class Extent:
    """How much a phase has to do, as far as its plan says: a stage with a task for each of `units`, and bytes."""

    units: int | None = None
    unit: ProgressUnit = ProgressUnit.TASKS
    bytes_to_read: int | None = None


UNKNOWN = Extent()


class RunMeter:
    """The progress of a run's current phase; the phase lasts until the next begins or the run ends."""

    def __init__(self) -> None:
        self._phase: MeasuredPhase | None = None

    def begin(self, run: str, phase: RunPhase, measure: Callable[[], Figures], extent: Extent = UNKNOWN) -> None:
        """Begin a phase, and measure it from now on."""
        self.end()
        self._phase = MeasuredPhase(run, phase, measure, extent)
        threading.Thread(target=self._phase.measure_until_over, daemon=True).start()

    def end(self) -> None:
        """End the current phase; a measurement under way is not awaited."""
        if self._phase is not None:
            self._phase.over.set()
            self._phase = None

    def report(self) -> dict[str, object] | None:
        """Return the progress for the lease file; None between phases."""
        phase = self._phase
        return None if phase is None else encode_run_progress(phase.progress)


class MeasuredPhase:
    """A phase and its newest figures, in `progress`; `over` is set when it has ended."""

    def __init__(
        self,
        run: str,
        phase: RunPhase,
        measure: Callable[[], Figures],
        extent: Extent,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._measure = measure
        self._extent = extent
        self._clock = clock
        self._began = clock()
        self._done = 0
        self.progress = RunProgress(run=run, phase=phase)
        self.over = threading.Event()

    def measure_until_over(self) -> None:
        """Measure every few seconds, from the figures at the start of the phase."""
        try:
            before = self._measure()
            while not self.over.wait(_MEASURES_EVERY_SECONDS):
                self._update(before, self._measure())
        except Exception:  # whatever happens to the JVM, the run itself notices
            _LOGGER.info("the phase is not measured any more", exc_info=True)

    def _update(self, before: Figures, now: Figures) -> None:
        done, total, unit = self._units(now)
        with suppress(ValidationError):  # a figure that cannot be true
            self.progress = RunProgress(
                run=self.progress.run,
                phase=self.progress.phase,
                seconds=int(self._clock() - self._began),
                unit=unit,
                done=done,
                total=total,
                bytes_read=now.bytes_read - before.bytes_read,
                bytes_to_read=self._extent.bytes_to_read,
                bytes_written=now.bytes_written - before.bytes_written,
            )

    def _units(self, now: Figures) -> tuple[int | None, int | None, ProgressUnit]:
        """Return the finished units of all; without a stage of that many tasks, the tasks of all stages at work.

        Hudi reads the results of a stage again, so a count of units never goes back. Many stages have a single task, so
        a single unit is not counted.
        """
        found = [done for done, total in now.stages if total == self._extent.units and total > 1]
        if found or self._done:
            self._done = max(self._done, *found)
            return self._done, self._extent.units, self._extent.unit
        if not now.stages:
            return None, None, ProgressUnit.TASKS
        return sum(done for done, _ in now.stages), sum(total for _, total in now.stages), ProgressUnit.TASKS


def figures_of(spark: SparkSession, *, alone: bool = True) -> Figures:
    """Return the figures of the application now; those of a run that shares it with batches are only its stages."""
    tracker = spark.sparkContext.statusTracker()
    found = (tracker.getStageInfo(stage) for stage in islice(tracker.getActiveStageIds(), _STAGES_READ))
    stages = tuple((stage.numCompletedTasks, stage.numTasks) for stage in found if stage is not None)
    return Figures(stages, *(bytes_moved(spark) if alone else ()))
