"""The step of one pass, for existing and for deleted tables, and the pause until the next look."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from hudi_operator.api.status.runs import RunStatus
from hudi_operator.api.status.table_operations import TableOperation
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.model import Action, Release
from hudi_operator.planning.model.times import parse_time
from hudi_operator.planning.outcome.status.transitions import Transition

QUIET_SECONDS = 300.0

WAITING_SECONDS = 30.0
ENDING_SECONDS = 5.0
"""The first pause of a waiting or deleted resource; later a tenth of its waiting time, so that many cost little."""


def growing_pause(since: str | None, *, now: datetime, least: float) -> float:
    """Return the seconds until the next look at a resource that has waited since then."""
    waited = now - (parse_time(since) or now)
    return min(QUIET_SECONDS, max(least, waited.total_seconds() / 10))


@dataclass(frozen=True, kw_only=True)
class Freshness:
    """The delay of a table behind its source, for the metrics; `target` is the declared freshness, if any."""

    complete_up_to: datetime | None = None
    backlog_records: int | None = None
    backlog_bytes: int | None = None
    target: timedelta | None = None


@dataclass(frozen=True, kw_only=True)
class Step:
    """Write the status, count the finished runs, post the notices, then act, in this order.

    A step that releases the table leaves its status unchanged. `running` Jobs count towards the limits of the class
    `class_name`; with `waits_for_place` the table is woken when a Job of the class ends. `freshness` is the delay of
    the table behind its source. `rows_quarantined` are the rows that came to the quarantine since the status before.
    `operations` are the operations that have ended. `requeue` are the seconds until the next reconcile, None after the
    last reconcile and if `requeue_after` decides.
    """

    status: HudiTableStatus
    finished: tuple[RunStatus, ...] = ()
    notices: tuple[Transition, ...] = ()
    actions: tuple[Action, ...] = ()
    class_name: str = ""
    running: int = 0
    waits_for_place: bool = False
    freshness: Freshness = Freshness()
    rows_quarantined: int = 0
    operations: tuple[TableOperation, ...] = ()
    requeue: float | None = None

    @property
    def releases(self) -> bool:
        """Whether this step lets the table go."""
        return any(isinstance(action, Release) for action in self.actions)
