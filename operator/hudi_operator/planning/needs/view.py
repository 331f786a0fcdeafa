"""The input of the decision on a table service, and the pending work of the service."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from hudi_jobs.contract import RunMode, Service
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.api.status.timeline import PendingStatus
from hudi_operator.planning.facts.writers.leftover import HEARTBEAT_TOLERANCE
from hudi_operator.planning.facts.writers.pending import named
from hudi_operator.planning.model.decision import Decision, Priority, Reason
from hudi_operator.planning.model.times import format_time, parse_time
from hudi_operator.timeline import State, Timeline


@dataclass(frozen=True, kw_only=True)
class FailedWrite:
    """An inflight write that nobody will complete; `from_` is when it may be rolled back, `why` what ended its run."""

    time: str
    from_: datetime
    why: str


@dataclass(frozen=True, kw_only=True)
class ServiceView:
    """The input of the decision on a table service, with its pending instants, oldest first.

    The service has to handle the `pending` instants; the `others` are left alone.
    """

    service: Service
    spec: HudiTableSpec
    memory: ServiceStatus
    timeline: Timeline
    now: datetime
    pending: tuple[PendingStatus, ...] = ()
    others: tuple[PendingStatus, ...] = ()
    failed_writes: tuple[FailedWrite, ...] = ()
    metadata: Timeline | None = None


def finish_pending(view: ServiceView, times: Collection[str], *, waits_for_heartbeat: bool = False) -> Decision | None:
    """Return how the oldest of these pending plans is handled, or None if there is none.

    `waits_for_heartbeat`: Hudi may consider an inflight plan alive for two minutes after its run has ended.
    """
    oldest = next((one for one in view.pending if one.time in times), None)
    if oldest is None:
        return None
    name = named(oldest)
    alive_until = _last_sign(view, oldest) + HEARTBEAT_TOLERANCE
    if waits_for_heartbeat and oldest.state == State.INFLIGHT.value and view.now < alive_until:
        return Decision(
            due=False,
            reason=Reason.WAITING_FOR_HEARTBEAT,
            message=f"The inflight {name} is finished from {format_time(alive_until)} on: until then Hudi may "
            "consider its run alive.",
            at=alive_until,
        )
    return Decision(
        due=True,
        reason=Reason.PENDING_PLAN,
        message=f"The {oldest.state.lower()} {name} is dealt with before a new plan is made.",
        priority=Priority.PENDING,
        run_mode=RunMode.EXECUTE,
        instant=oldest.time,
    )


def finish_left_over(view: ServiceView, plan: PendingStatus, *, what: str, run_mode: RunMode) -> Decision:
    """Return how a pending plan of a disabled service is handled: it would block its file groups for ever."""
    name = named(plan)
    return Decision(
        due=True,
        reason=Reason.PENDING_PLAN,
        message=f"The {plan.state.lower()} {name} is {what}, although spec.{view.service.lower()}.mode is Disabled: it "
        "would block its file groups for ever.",
        priority=Priority.PENDING,
        run_mode=run_mode,
        instant=plan.time,
    )


def _last_sign(view: ServiceView, pending: PendingStatus) -> datetime:
    """Return when a run may last have worked on a pending instant."""
    last = view.memory.last_run
    signs = (parse_time(pending.since), parse_time(last.finished_at) if last else None)
    return max((sign for sign in signs if sign is not None), default=view.now)
