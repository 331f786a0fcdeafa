"""Decides which unfinished work a run may touch, and determines the fate of pending instants after the run.

The operator decides from longer observation than one run. The driver checks once more before it acts, while it holds
the table's lease: an instant with a heartbeat is left alone. The heartbeat is compared with the lease, which the same
store has just dated, so no other machine's clock matters.

Hudi rolls back and finishes pending instants inside many of its calls, and reports that only in its log. The end of an
instant is attributed to this run only if no one else can have worked on it.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    OPERATOR_FOLDER,
    AffectedInstant,
    ConcurrencyMode,
    Effect,
    FailureReason,
    Outcome,
    Service,
    TaskResult,
)
from hudi_jobs.contract.run_progress import SERVICES_LEASE
from hudi_jobs.spark.failures import TaskFailed, causes_of, stage
from hudi_jobs.spark.filesystem import located
from hudi_jobs.table_services.client import write_client
from hudi_jobs.table_services.timeline import Begun, InstantState, Pending, Timeline

_NOT_FOUND = "java.io.FileNotFoundException"
HEARTBEATS = ".hoodie/.heartbeat"
_MARGIN_SECONDS = 30.0
"""Allows for a lease renewed some seconds ago."""
_NAMED = 3


class Others:
    """Tells this table's work from others', for a task."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context
        self.is_alone = context.task.concurrency is ConcurrencyMode.SERIALIZED

    def may_touch(self, plan: Pending) -> bool:
        """Tell whether a plan belongs to this table, or is abandoned."""
        return self.is_ours(plan) or self.is_abandoned(plan.instant)

    def is_ours(self, plan: Pending) -> bool:
        """Tell whether a plan names a run of this very table and operator; without an owner, of any run."""
        owner = self._context.task.owner
        if plan.run is None or owner is None:
            return plan.run is not None
        return (plan.table_uid, plan.operator) == (owner.table_uid, owner.operator)

    def is_abandoned(self, instant: str) -> bool:
        """Tell whether the operator has found an instant abandoned."""
        abandoned = self._context.task.abandoned
        return self.is_alone if abandoned is None else instant in abandoned

    def decides_about(self, each: Begun) -> bool:
        """Tell whether only this run can have ended an instant that was pending at its start.

        Beside an ingestion's batches, services finish their own plans and cleans.
        """
        if (
            self.is_alone
            and self._context.inline_queue is not None
            and (each.plan is not None or each.action == "clean")
        ):
            return False
        return self.is_alone or self.is_abandoned(each.instant) or (each.plan is not None and self.is_ours(each.plan))

    def is_alive(self, instant: str) -> bool:
        """Tell whether an instant has a heartbeat (`HoodieHeartbeatClient`), unless its writer is known to be dead."""
        return instant not in self._context.task.dead and self.was_written_lately(f"{HEARTBEATS}/{instant}")

    def was_written_lately(self, path: str) -> bool:
        """Tell whether a file was written so recently, by the store's clock, that its writer may be working."""
        beat = self._written_at(path)
        if beat is None:
            return False
        now = self.store_time()
        options = self._context.task.hudi_options
        return now - beat < heartbeat_seconds(options) + _MARGIN_SECONDS

    def store_time(self) -> float:
        """Return the store's time when it dated this run's lease.

        A dry run holds no lease, and would find the last run's, possibly days old.
        """
        operation = self._context.asked_operation
        if operation is not None and operation.dry_run:
            return time.time()
        return self._written_at(f"{OPERATOR_FOLDER}/{SERVICES_LEASE}") or time.time()

    def roll_back(self, timeline: Timeline) -> list[str]:
        """Roll back abandoned writes, and finish abandoned rollbacks; return the rolled-back instants, oldest first."""
        _require_no_rollback_of_savepoint(timeline)
        _require_no_restore(timeline)
        writes = {time for time in timeline.unfinished_writes() if self.is_abandoned(time) and not self.is_alive(time)}
        rollbacks = {
            each.target
            for each in timeline.unfinished_rollbacks()
            if self.is_abandoned(each.instant) and not self.is_alive(each.instant)
        }
        plans = {each.instant for each in (*timeline.pending_clusterings(), *timeline.pending_compactions())}
        dead = sorted(writes | rollbacks - plans)
        if dead:
            self._context.log("rolling back what dead writers have left", instants=dead)
            self._roll_back(dead, "A dead write cannot be rolled back")
        return dead

    def begun_clusterings(self, timeline: Timeline) -> list[str]:
        """Return the pending clusterings that runs of this table began, oldest first."""
        pending = timeline.pending_clusterings()
        return [plan.instant for plan in pending if plan.state is InstantState.INFLIGHT and self.is_ours(plan)]

    def roll_back_begun_clusterings(self, timeline: Timeline) -> list[str]:
        """Roll back the clusterings that ended runs of this table began; return their instants, oldest first.

        The caller holds the services' lease, so no run works on them, and Hudi would refuse every write to their file
        groups. A plan not yet begun is left to the service.
        """
        begun = self.begun_clusterings(timeline)
        if begun:
            self._context.log("rolling back the clusterings of ended runs", instants=begun)
            self._roll_back(begun, "The clustering of an ended run cannot be rolled back")
        return begun

    def _roll_back(self, instants: Sequence[str], failed: str) -> None:
        context, task = self._context, self._context.task
        with (
            stage(failed, otherwise=FailureReason.HUDI_ERROR),
            write_client(context.spark, task.table.base_path, task.hudi_options) as client,
        ):
            for instant in reversed(instants):
                client.rollback(instant)

    def savepoints_at_work(self, timeline: Timeline) -> set[str]:
        """Return the commits with savepoints that another tool may be making or deleting."""
        begun = {} if self.is_alone else timeline.begun_savepoints()
        return {instant for instant, file in begun.items() if self.was_written_lately(file)}

    def drop_savepoints(self, timeline: Timeline) -> None:
        """Remove the savepoints that dead writers have begun to make or delete."""
        for instant in timeline.begun_savepoints().keys() - self.savepoints_at_work(timeline):
            timeline.drop_begun_savepoint(instant)

    def refusal(self, timeline: Timeline) -> TaskResult | None:
        """Return a refusal if an unknown writer may be working on a serialized table; None otherwise.

        Hudi's writer would roll that work back before it begins.
        """
        if not self.is_alone:
            return None
        rollbacks = (each.instant for each in timeline.unfinished_rollbacks())
        begun = (*timeline.unfinished_writes(), *rollbacks)
        unknown = sorted(time for time in begun if not self.is_abandoned(time))
        alive = sorted(time for time in begun if self.is_abandoned(time) and self.is_alive(time))
        if not unknown and not alive:
            return None
        why = "has a heartbeat, so its writer may be alive; it is rolled back two minutes after the last heartbeat"
        if unknown:
            why = (
                "does not come from a run of this table, and its writer may be at work; it is rolled back when it "
                "is overdue"
            )
        return TaskResult(
            id=self._context.task.id,
            outcome=Outcome.CONFLICT,
            reason=FailureReason.CONFLICT,
            message=f"{', '.join((unknown or alive)[:_NAMED])} {why}. Nothing was written.",
        )

    def _written_at(self, path: str) -> float | None:
        filesystem, place = located(self._context.spark, self._context.task.table.base_path, path)
        try:
            status = filesystem.getFileStatus(place)
        except Py4JJavaError as error:
            if any(cause.kind == _NOT_FOUND for cause in causes_of(error)):
                return None
            raise
        return float(status.getModificationTime()) / 1000


def _require_no_rollback_of_savepoint(timeline: Timeline) -> None:
    """Refuse a table with a rollback that Hudi cannot finish; every call that finishes it first would fail."""
    rollbacks = timeline.unfinished_rollbacks()
    saved = {each.instant for each in timeline.savepoints()} if rollbacks else set()
    for each in rollbacks:
        if each.target in saved:
            raise TaskFailed(
                FailureReason.ROLLBACK_OF_SAVEPOINT,
                f"The pending rollback {each.instant} would undo commit {each.target}, which a savepoint keeps, so "
                "Hudi refuses to finish it; delete the savepoint.",
            )


def _require_no_restore(timeline: Timeline) -> None:
    """Refuse a table with a restore in progress: Hudi lets services run beside it."""
    for instant in timeline.unfinished_restores():
        raise TaskFailed(
            FailureReason.RESTORE_PENDING,
            f"The restore {instant} is pending, and nothing is written until it completes; finish it with the tool "
            "that started it. If a deleted HudiOperation started it, another HudiOperation to the same commit "
            "finishes it.",
        )


def heartbeat_seconds(options: dict[str, str]) -> float:
    """Return the seconds after which Hudi considers a silent executor dead, with Hudi's own defaults."""
    interval = float(options.get("hoodie.client.heartbeat.interval_in_ms", "60000"))
    return interval / 1000 * float(options.get("hoodie.client.heartbeat.tolerable.misses", "2"))


_WRITES = frozenset({"commit", "deltacommit", "replacecommit"})
_CLUSTERED = frozenset({"clustering", "replacecommit"})
_LOGGER = logging.getLogger(__name__)


@contextmanager
def noting_affected(
    context: TaskContext, load_timeline: Callable[[], Timeline], *, before: Timeline | None = None
) -> Iterator[None]:
    """Record in the context the fate of every pending instant, whether the work succeeds or fails.

    `before` is the current timeline, if it has just been read.
    """
    before = before or load_timeline()
    begun = before.begun()
    try:
        yield
    finally:
        if begun:
            _note(context, begun, before, load_timeline)


def _note(context: TaskContext, begun: list[Begun], before: Timeline, load_timeline: Callable[[], Timeline]) -> None:
    """Compare with the timeline afterwards. If it cannot be read, the work's own failure is still reported."""
    try:
        found = _affected(context, begun, dict(before.completed()), load_timeline())
    except Exception:
        _LOGGER.warning("what became of pending instants is not known", exc_info=True)
        return
    if found:
        context.log("instants of others were dealt with", instants=[one.model_dump(mode="json") for one in found])
    context.affected.extend(found)


def _affected(context: TaskContext, begun: list[Begun], done: dict[str, str], after: Timeline) -> list[AffectedInstant]:
    others, completed, pending = Others(context), dict(after.completed()), after.begun()
    still, known = {each.instant for each in pending}, {each.instant for each in begun} | done.keys()
    actions = [each.action for each in pending if each.instant not in known]
    actions += [action for time, action in completed.items() if time not in known]
    replanned = context.task.service is Service.CLUSTERING and not _CLUSTERED.isdisjoint(actions)
    found = []
    for each in begun:
        if each.instant in still or not others.decides_about(each):
            continue
        if each.instant not in completed:
            again = replanned and each.plan is not None and each.action in _CLUSTERED
            found.append(_reported(each, Effect.REPLANNED if again else Effect.ROLLED_BACK, others))
        elif each.plan is not None or each.action not in _WRITES:
            # Only its own writer completes a write.
            found.append(_reported(each, Effect.FINISHED, others))
    return found


def _reported(each: Begun, effect: Effect, others: Others) -> AffectedInstant:
    run = each.plan.run if each.plan is not None and others.is_ours(each.plan) else None
    return AffectedInstant(instant=each.instant, action=each.action, effect=effect, run=run)
