"""Compaction and clustering: make or find a plan, and execute it exactly once, whatever else runs or died.

A begun plan may still belong to a driver that is frozen rather than dead. A clustering is then rolled back and planned
again, so that the old instant can never complete: the instant time is the fencing token. The same holds for a
clustering planned before the newest write. Hudi cannot remove a compaction plan, which is finished under its old
instant once the old holder's lease has expired. Outcomes come from the timeline, never from a return value.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from hudi_jobs.clock import instants_in_order
from hudi_jobs.commit_metadata import commit_metadata
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    FailureReason,
    Outcome,
    PlannedServiceTask,
    PlannedTask,
    RunMode,
    TaskResult,
    is_of_the_plan,
)
from hudi_jobs.contract.run_progress import RunPhase
from hudi_jobs.contract.wording import counted
from hudi_jobs.exclusive import fenced
from hudi_jobs.lease.leases import Lease
from hudi_jobs.phases import Phase, reach
from hudi_jobs.preflight.merge_gate import require_same_merge
from hudi_jobs.spark.failures import TaskFailed, causes_of, stage
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.client import WriteClient, write_client
from hudi_jobs.table_services.plans import require_plans_inside
from hudi_jobs.table_services.preparation import load_timeline, missing_table, nothing, open_table, while_ours
from hudi_jobs.table_services.timeline import InstantState, Pending, Timeline, Written
from hudi_jobs.table_services.unfinished_work import Others, heartbeat_seconds
from hudi_jobs.usage.run_meter import UNKNOWN, Extent

_HEARTBEAT_MARGIN_SECONDS = 30.0
_HEARTBEAT_POLL_SECONDS = 5.0


class PlannedService(ABC):
    """The differences between compaction and clustering."""

    name: str
    phase: RunPhase
    can_plan_anew: bool
    """Whether a begun plan is rolled back and planned again instead of being finished."""

    @abstractmethod
    def require(self, context: TaskContext, table: HudiTable) -> None:
        """Raise `TaskFailed` for problems that Hudi would notice only after planning."""

    def prepared(self, context: TaskContext, table: HudiTable) -> TaskContext:  # noqa: ARG002 - a hook
        """Return the context for planning and execution, with options adapted to the table's state."""
        return context

    @abstractmethod
    def pending(self, timeline: Timeline) -> list[Pending]:
        """Return the pending plans, oldest first."""

    @abstractmethod
    def schedule(self, client: WriteClient, notes: Mapping[str, str]) -> str | None:
        """Make a plan and return its instant, or None if there is nothing to plan."""

    @abstractmethod
    def execute(self, context: TaskContext, client: WriteClient, instant: str, notes: Mapping[str, str]) -> None:
        """Execute a plan and commit it with the notes."""

    def settle(self, context: TaskContext, result: TaskResult) -> TaskResult:  # noqa: ARG002 - a hook
        """Do the follow-up work of a run under its lease, which `context` holds; return the run's result."""
        return result

    @abstractmethod
    def describe_no_plan(self, context: TaskContext) -> str:
        """Return why there is nothing to plan."""


def run_planned(context: TaskContext, service: PlannedService) -> TaskResult:
    """Run the task's mode and report what the timeline then holds."""
    table = open_table(context)
    if table is None:
        return missing_table(context)
    if _asked(context).mode is not RunMode.ROLL_BACK:  # a plan may have failed for what would be refused here
        service.require(context, table)
        context = service.prepared(context, table)

    def work(lease: Lease, _: object) -> TaskResult:
        run = _Run(context, service, table, begun_elsewhere=lease.taken_over)
        return service.settle(replace(context, held=lease), run.result())

    return while_ours(context, work)


def _asked(context: TaskContext) -> PlannedServiceTask:
    return context.task.planned if isinstance(context.task, PlannedTask) else PlannedServiceTask()


class _Run:
    """The part of a run under the services' lease."""

    def __init__(
        self, context: TaskContext, service: PlannedService, table: HudiTable, *, begun_elsewhere: bool
    ) -> None:
        self._context = context
        self._table = table
        self._service = service
        self._task = _asked(context)
        self._notes = commit_metadata(context.run, context.task, context.asked_operation)
        self._begun_elsewhere = begun_elsewhere
        self._others = Others(context)

    def result(self) -> TaskResult:
        timeline = load_timeline(self._context)
        pending = self._service.pending(timeline)
        if self._task.mode is RunMode.SCHEDULE:
            return self._schedule_only(pending)
        if self._task.instant is not None:
            found = [each for each in pending if each.instant == self._task.instant]
            return self._deal_with(found[0]) if found else self._settled(timeline, self._task.instant)
        ours = [each for each in pending if self._others.may_touch(each)]
        if ours:
            return self._deal_with(ours[0])
        if self._task.mode is RunMode.EXECUTE:
            return nothing(self._context, f"No {self._service.name} is pending.")
        return self._plan_and_execute()

    def _schedule_only(self, pending: list[Pending]) -> TaskResult:
        name = self._service.name
        if pending:
            return nothing(self._context, f"The {name} {pending[0].instant} is pending and has to be executed first.")
        instant = self._plan()
        if instant is None:
            return nothing(self._context, self._service.describe_no_plan(self._context))
        return self._result(Outcome.SUCCEEDED, f"Planned the {name} {instant}.", instant=instant)

    def _settled(self, timeline: Timeline, instant: str) -> TaskResult:
        """Report on a requested instant that is not pending."""
        written = timeline.written_by(instant)
        if written is None:
            return nothing(self._context, f"The {self._service.name} {instant} is no longer pending.")
        if written.run == self._context.run:
            return self._succeeded(instant, written)
        return nothing(self._context, f"The {self._service.name} {instant} has already completed.")

    def _deal_with(self, pending: Pending) -> TaskResult:
        """Finish or roll back a plan that belongs to this table, or is abandoned without a heartbeat."""
        name = f"{self._service.name} {pending.instant}"
        if not self._others.may_touch(pending):
            return nothing(
                self._context, f"The {name} belongs to another tool, which may be at work, so it was not touched."
            )
        if not self._others.is_ours(pending) and self._others.is_alive(pending.instant):
            return nothing(self._context, f"The {name} of another tool shows a heartbeat, so it was not touched.")
        if self._task.mode is not RunMode.ROLL_BACK:
            return self._execute(pending)
        if not self._service.can_plan_anew:
            raise TaskFailed(FailureReason.INVALID_REQUEST, f"Hudi cannot roll back the {name}; execute it.")
        self._roll_back(pending.instant)
        return nothing(self._context, f"The {name}{self._whose(pending)} was rolled back, and no other was planned.")

    def _execute(self, pending: Pending) -> TaskResult:
        begun = pending.state is InstantState.INFLIGHT or self._begun_elsewhere or self._may_be_begun(pending)
        if self._service.can_plan_anew and (begun or self._is_outdated(pending)):
            self._roll_back(pending.instant)
            return self._plan_and_execute(instead_of=pending)
        self._require_same_merge()
        # Hudi rolls back an earlier attempt's files before it starts again.
        with self._context.at_rest() if pending.state is InstantState.INFLIGHT else nullcontext():
            return self._commit(pending.instant)

    def _is_outdated(self, pending: Pending) -> bool:
        """Tell whether a commit completed after the plan was made: a clustering would lose its rows.

        Layout 1 records completion by a file's time, in the zone of the table's instants.
        """
        task = self._context.task
        with instants_in_order(self._context.spark, task.table.base_path, task.hudi_options):
            return load_timeline(self._context).has_writes_after(pending.instant)

    def _whose(self, pending: Pending) -> str:
        return "" if self._others.is_ours(pending) else " of another tool"

    def _may_be_begun(self, pending: Pending) -> bool:
        """Tell whether another tool may begin a plan while it is being taken over.

        Once the plan is rolled back, the other tool cannot complete it.
        """
        return not self._others.is_ours(pending) and self._context.task.abandoned is not None

    def _plan_and_execute(self, *, instead_of: Pending | None = None) -> TaskResult:
        instant, note = self._plan(), ""
        if instead_of is not None:
            note = f"The {self._service.name} {instead_of.instant}{self._whose(instead_of)} was rolled back. "
        if instant is None:
            return nothing(self._context, note + self._service.describe_no_plan(self._context))
        result = self._commit(instant)
        return result.copy_with(message=note + result.message)

    def _require_same_merge(self) -> None:
        require_same_merge(self._context, self._table, f"The {self._service.name}")

    def _plan(self) -> str | None:
        self._require_same_merge()
        self._context.begin(RunPhase.PLANNING)
        with (
            stage(f"Hudi could not plan the {self._service.name}", otherwise=FailureReason.HUDI_ERROR),
            self._context.at_rest(),
            self._client() as client,
        ):
            instant = self._service.schedule(client, self._notes)
            self._require_inside(client, instant)
        reach(Phase.PLANNED)
        if instant is not None and self._state_of(instant) is None:
            raise TaskFailed(
                FailureReason.HUDI_ERROR,
                f"Hudi returned the {self._service.name} {instant}, but the timeline does not contain it.",
            )
        return instant

    def _require_inside(self, client: WriteClient, instant: str | None) -> None:
        """Refuse a plan that leads out of the table, and take it back if Hudi can."""
        try:
            require_plans_inside(self._context)
        except TaskFailed:
            if instant is not None and self._service.can_plan_anew:
                client.rollback(instant)
            raise

    def _roll_back(self, instant: str) -> None:
        self._context.log("rolling back", instant=instant)
        with (
            stage(f"The {self._service.name} {instant} cannot be rolled back", otherwise=FailureReason.HUDI_ERROR),
            self._context.at_rest(),
            self._client() as client,
        ):
            client.rollback(instant)
        if self._state_of(instant) is not None:
            raise TaskFailed(
                FailureReason.HUDI_ERROR,
                f"Hudi did not roll back the {self._service.name} {instant}; see the driver's log.",
            )

    def _commit(self, instant: str) -> TaskResult:
        """Execute a plan and report what the timeline says."""
        extent = require_plans_inside(self._context).get(instant, UNKNOWN)
        failure: TaskFailed | None = None
        try:
            with stage(
                f"Hudi could not execute the {self._service.name} {instant}", otherwise=FailureReason.HUDI_ERROR
            ):
                self._execute_when_heartbeat_is_over(instant, extent)
        except TaskFailed as error:
            failure = error
        reach(Phase.AFTER_COMMIT)
        written = load_timeline(self._context).written_by(instant)
        if written is not None:
            return self._completed(instant, written)
        if failure is not None and failure.reason is FailureReason.CONFLICT and self._service.can_plan_anew:
            return self._lost(instant, failure)
        if failure is not None and self._service.can_plan_anew:
            failure = self._without_plan(instant, failure)
        raise failure or TaskFailed(
            FailureReason.HUDI_ERROR, "Hudi returned without an error, but the timeline has no commit."
        )

    def _execute_when_heartbeat_is_over(self, instant: str, extent: Extent) -> None:
        """Execute the plan after a dead executor's heartbeat expires, which Hudi checks with several writers."""
        deadline = time.monotonic() + heartbeat_seconds(self._context.task.hudi_options) + _HEARTBEAT_MARGIN_SECONDS
        while True:
            try:
                with self._client() as client:
                    self._context.begin(self._service.phase, extent)
                    return self._service.execute(self._context, client, instant, self._notes)
            except Exception as error:
                if not _is_heartbeat(error) or time.monotonic() > deadline:
                    raise
            self._context.log("waiting for the heartbeat of an earlier executor", instant=instant)
            time.sleep(_HEARTBEAT_POLL_SECONDS)

    def _completed(self, instant: str, written: Written) -> TaskResult:
        if written.run not in {self._context.run, None}:
            message = f"The {self._service.name} {instant} was completed by the run {written.run}."
            return fenced(self._context, message)
        return self._succeeded(instant, written)

    def _lost(self, instant: str, failure: TaskFailed) -> TaskResult:
        """Give up a plan that lost to a writer: it would lose again, and block cleaning and archival."""
        if self._state_of(instant) is not None:
            self._roll_back(instant)
        message = f"A writer changed what the {self._service.name} {instant} was rewriting; it was rolled back."
        return self._result(Outcome.CONFLICT, f"{message} {failure.message}", reason=FailureReason.CONFLICT)

    def _without_plan(self, instant: str, failure: TaskFailed) -> TaskFailed:
        """Roll back a failed plan, because Hudi refuses every write to its file groups; return the failure to report.

        If the store or the lock failed, the next run rolls the plan back; beside an ingestion its batches wait, so the
        rollback is tried at once. If that fails too, the plan's own failure is reported.
        """
        if self._context.inline_queue is None and not is_of_the_plan(failure.reason):
            return failure
        try:
            if self._state_of(instant) is None:
                return failure
            self._roll_back(instant)
        except TaskFailed as error:
            self._context.log("the plan stays pending", instant=instant, cause=error.message)
            return failure
        rolled_back = f"The {self._service.name} {instant} was rolled back, so no write waits for it."
        return TaskFailed(failure.reason, f"{failure.message.rstrip()} {rolled_back}")

    def _state_of(self, instant: str) -> InstantState | None:
        pending = self._service.pending(load_timeline(self._context))
        return next((each.state for each in pending if each.instant == instant), None)

    def _succeeded(self, instant: str, written: Written) -> TaskResult:
        return self._result(
            Outcome.SUCCEEDED,
            f"The {self._service.name} {instant} wrote {counted(written.files_written, 'file')} "
            f"and {written.bytes_written:,} bytes.",
            instant=instant,
            file_groups=written.file_groups,
            files_written=written.files_written,
            bytes_written=written.bytes_written,
        )

    def _result(self, outcome: Outcome, message: str, **figures: object) -> TaskResult:
        fields = {"id": self._context.task.id, "outcome": outcome, "message": message, **figures}
        return TaskResult.model_validate(fields)

    def _client(self) -> AbstractContextManager[WriteClient]:
        task = self._context.task
        return write_client(self._context.spark, task.table.base_path, task.hudi_options)


def _is_heartbeat(error: Exception) -> bool:
    return any("due to heartbeat" in cause.message for cause in causes_of(error))
