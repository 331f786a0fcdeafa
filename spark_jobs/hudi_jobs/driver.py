"""Runs the tasks of a request one after another, each by itself, and reports the result of each."""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from subprocess import TimeoutExpired

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from hudi_jobs.clock import newest_made
from hudi_jobs.commit_metadata import CommitStats
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    MOST_AFFECTED,
    ConcurrencyMode,
    FailureReason,
    IngestionTableTask,
    JobOutcome,
    JobRequest,
    MaintenanceTableTask,
    MaintenanceTask,
    Outcome,
    RunUsage,
    TableTask,
    Task,
    TaskResult,
)
from hudi_jobs.event_log import with_event_log
from hudi_jobs.exclusive import require_lock
from hudi_jobs.inline_services.inline_client import InlineClient, as_inline_service, with_inline_services
from hudi_jobs.inline_services.inline_server import InlineQueue, InlineServer
from hudi_jobs.lease.leases import Lease
from hudi_jobs.lease.stores import table_files
from hudi_jobs.spark.failures import DriverStopping, TaskFailed, Unfinished, causes_of, classify
from hudi_jobs.spark.jvm import jvm_process
from hudi_jobs.spark.logs import redactor_of
from hudi_jobs.spark.refusals import watch_refusals
from hudi_jobs.spark.session import hadoop_setting
from hudi_jobs.tasks import run_task
from hudi_jobs.usage.run_usage import driver_usage, run_usage, with_usage_plugin

SessionOpener = Callable[[Mapping[str, str]], SparkSession]

_CANCEL_EVERY_SECONDS = 0.5
_LOGGER = logging.getLogger(__name__)
_FAIR = {"spark.scheduler.mode": "FAIR"}
"""Lets the Spark jobs of a table service and of a batch share the cores, instead of waiting for each other."""
_POOL = "spark.scheduler.pool"
_OUT_OF_MEMORY_EXITS = frozenset({3, -9, 137})
"""3: the JVM's -XX:+ExitOnOutOfMemoryError. 9: the kernel ended it, which in a container means the memory limit."""


class Driver:
    """Runs a request. `stop` may be called from a signal handler at any time.

    A continuous ingestion may end its current batch, for as long as its request says; everything else is cancelled at
    once.
    """

    def __init__(self, request: JobRequest, open_session: SessionOpener) -> None:
        self._request = request
        self._open_session = open_session
        self._stopping = threading.Event()
        self._cancelling = threading.Event()
        self._finished = threading.Event()
        self._spark: SparkSession | None = None

    def stop(self) -> None:
        """Begin nothing new and, at once or after a while, cancel Spark's work."""
        if not self._stopping.is_set():
            self._stopping.set()
            threading.Thread(target=self._cancel_jobs, daemon=True).start()

    def close(self) -> None:
        """End the session, which also removes its executors."""
        if self._spark is None or _jvm_has_ended():
            return
        try:
            self._spark.stop()
        except (Py4JError, ConnectionError, EOFError):
            _LOGGER.warning("the Spark session did not end cleanly", exc_info=True)

    def usage(self) -> RunUsage | None:
        """Return what the Spark application has used so far, also after `close`; raises nothing."""
        return driver_usage() if self._spark is None or _jvm_has_ended() else run_usage(self._spark)

    def _cancel_jobs(self) -> None:
        if self._finished.wait(max(map(_drain_seconds, self._request.tasks))):
            return
        self._cancelling.set()
        # Again and again: the task may be about to start its next Spark job.
        while not self._finished.wait(_CANCEL_EVERY_SECONDS):
            if self._spark is not None and not _jvm_has_ended():
                self._spark.sparkContext.cancelAllJobs()

    def run(self) -> JobOutcome:
        """Return a result per task, in the order of the request; raises nothing."""
        tasks = self._request.tasks
        failure = None if all(map(_is_handed_over, tasks)) else self._start()
        results = tuple(self._result(task, failure) for task in tasks)
        self._finished.set()
        return JobOutcome(results=results)

    def _start(self) -> TaskFailed | None:
        """Open the session, or return why it cannot open."""
        settings = {**self._request.spark_conf, **(_FAIR if self._request.inline_services else {})}
        try:
            self._spark = self._open_session(with_usage_plugin(with_event_log(settings)))
        except Exception as error:
            _LOGGER.exception("the Spark session did not start")
            return _failure(error)
        watch_refusals(self._spark, settings)
        return None

    def _result(self, task: TableTask, failure: TaskFailed | None) -> TaskResult:
        if isinstance(task, MaintenanceTask) and task.inside is not None:
            return self._hand_over(task)
        if failure is not None:
            return _failed(task, failure, _now())
        assert self._spark is not None, "without a session there is a failure"
        return self._run_task(self._spark, task)

    def _hand_over(self, task: MaintenanceTask) -> TaskResult:
        """Let another run's driver do a task, without a session here."""
        started = _now()
        try:
            self._require_running()
            conf = self._request.spark_conf
            files = table_files(task.table.base_path, lambda key: hadoop_setting(conf, key))
            result = InlineClient(task, self._request.run, files, self._stopping).result()
        except Exception as error:
            failure = self._explain(error)
            _LOGGER.warning("task failed", exc_info=True, extra={"fields": {"task": task.id}})
            result = _failed(task, failure, started)
        _LOGGER.info("task ends", extra={"fields": {"task": task.id, "outcome": result.outcome}})
        return result

    def _run_task(self, spark: SparkSession, task: TableTask) -> TaskResult:
        """Run a task of the request, a continuous ingestion with the services that others order from it."""
        context = TaskContext(spark=spark, run=self._request.run, task=task, stopping=self._stopping)
        is_serialized = task.concurrency is ConcurrencyMode.SERIALIZED
        if _is_continuous(task) and is_serialized and self._request.inline_services:
            host = self._host(spark)
            context = replace(context.of(with_inline_services(task)), inline_server=host, inline_queue=host.queue)
        return self._run_in(context)

    def _host(self, spark: SparkSession) -> InlineServer:
        redactor = redactor_of(self._request)

        def perform(task: MaintenanceTableTask, *, run: str, lease: Lease, queue: InlineQueue) -> TaskResult:
            # Each pool gets its share; a Spark job without a pool runs in a pool of its own.
            spark.sparkContext.setLocalProperty(_POOL, "services")
            task = as_inline_service(task)
            context = TaskContext(
                spark=spark, run=run, task=task, stopping=self._stopping, held=lease, inline_queue=queue
            )
            result = self._run_in(context)
            # The answer lies in the table's folder, which more people may read than the log.
            return result.copy_with(message=redactor.clean(result.message))

        return InlineServer(
            self._request.run, self._request.inline_services, perform, cancel=spark.sparkContext.cancelAllJobs
        )

    def _run_in(self, context: TaskContext[TableTask]) -> TaskResult:
        """Run a task with a session of its own, and return its result; raises nothing."""
        task, spark = context.task, context.spark
        started, made_before = _now(), _newest_made(spark)
        fields = {"run": context.run, "task": task.id, "service": task.service}
        _LOGGER.info("task begins", extra={"fields": fields})
        try:
            self._require_running()
            require_lock(task.hudi_options)
            result = run_task(replace(context, spark=spark.newSession()))
            result = result.copy_with(started_at=started, finished_at=_now())
        except Exception as error:
            cause, reported = (error.cause, error.reported) if isinstance(error, Unfinished) else (error, {})
            failure = self._explain(cause)
            _LOGGER.warning("task failed", exc_info=cause, extra={"fields": fields})
            if _is_continuous(task):
                reported = {**CommitStats().figures, **reported}
            result = _failed(task, failure, started).copy_with(**reported)
        newest = _made_since(made_before, _newest_made(spark))
        affected = tuple(context.affected[:MOST_AFFECTED])
        result = result.copy_with(affected=affected, newest_instant=newest)
        _LOGGER.info("task ends", extra={"fields": {**fields, "outcome": result.outcome, "message": result.message}})
        return result

    def _require_running(self) -> None:
        if self._stopping.is_set():
            raise DriverStopping

    def _explain(self, error: Exception) -> TaskFailed:
        gone = _jvm_failure(error)
        if gone is not None:
            return gone
        if self._cancelling.is_set() or isinstance(error, DriverStopping):
            return TaskFailed(
                FailureReason.INTERRUPTED, "The pod was asked to end, so the task was stopped; it can be repeated."
            )
        return _failure(error)


def _is_handed_over(task: TableTask) -> bool:
    return isinstance(task, MaintenanceTask) and task.inside is not None


def _is_continuous(task: TableTask) -> bool:
    return isinstance(task, IngestionTableTask) and task.ingestion.continuous is not None


def _drain_seconds(task: TableTask) -> float:
    """Return how long a task may continue after the pod has been asked to end."""
    continuous = task.ingestion.continuous if isinstance(task, IngestionTableTask) else None
    return 0.0 if continuous is None else continuous.drain_seconds


def _newest_made(spark: SparkSession) -> str | None:
    """Return the newest instant that the JVM has made; None if the JVM does not answer."""
    if _jvm_has_ended():
        return None
    try:
        return newest_made(spark)
    except (Py4JError, ConnectionError, EOFError):
        return None


def _made_since(before: str | None, after: str | None) -> str | None:
    return "" if after is not None and after == before else after


def _jvm_has_ended() -> bool:
    process = jvm_process()
    return process is not None and process.poll() is not None


def _failure(error: Exception) -> TaskFailed:
    if isinstance(error, TaskFailed):
        return error
    gone = _jvm_failure(error)
    if gone is not None:
        return gone
    reason, cause = classify(causes_of(error), otherwise=FailureReason.INTERNAL_ERROR)
    return TaskFailed(reason, f"{cause.kind.rpartition('.')[2]}: {cause.first_line}")


def _jvm_failure(error: Exception) -> TaskFailed | None:
    """Return how the JVM ended, or None while it lives."""
    process = jvm_process()
    if process is None:
        return None
    lost = isinstance(error, ConnectionError | EOFError) or (
        isinstance(error, Py4JError) and type(error).__name__ != "Py4JJavaError"
    )
    if lost:
        try:
            process.wait(timeout=10)
        except TimeoutExpired:
            return None
    code = process.poll()
    if code is None:
        return None
    if code in _OUT_OF_MEMORY_EXITS:
        return TaskFailed(
            FailureReason.OUT_OF_MEMORY,
            f"The JVM ran out of memory (it ended with {code}); give the driver more memory.",
        )
    return TaskFailed(FailureReason.INTERNAL_ERROR, f"The JVM ended unexpectedly with {code}; see the driver's log.")


def _failed(task: Task, failure: TaskFailed, started: str) -> TaskResult:
    return TaskResult(
        id=task.id,
        outcome=Outcome.FAILED,
        reason=failure.reason,
        message=failure.message,
        started_at=started,
        finished_at=_now(),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
