"""What one pass carries out: the same for a table that lives and for one that is deleted."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from hudi_operator.api.resources import HudiTable, HudiTableClass, ObjectMetadata
from hudi_operator.api.status.table import HudiTableStatus, RunStatus
from hudi_operator.api.status.table_operations import TableOperation
from hudi_operator.planning.model import Action, Release
from hudi_operator.planning.outcome.status.transitions import Transition


@dataclass(frozen=True, kw_only=True)
class Freshness:
    """How far a table is behind its source, for the metrics; `target` is how far it may be, where that is asked."""

    complete_up_to: datetime | None = None
    backlog_records: int | None = None
    backlog_bytes: int | None = None
    target: timedelta | None = None


@dataclass(frozen=True, kw_only=True)
class Step:
    """Write the status, count the runs that have finished, post the notices, then act, in this order.

    The step that releases the table leaves its status as it is. `running` Jobs count towards the limits of the class
    `class_name`; with `waits_for_place` the table is woken when one of the class ends. `freshness` says how far the
    table is behind. `operations` are those that have ended. `requeue` are the seconds until the next reconcile, None
    after the last one and where `requeue_after` says it.
    """

    status: HudiTableStatus
    finished: tuple[RunStatus, ...] = ()
    notices: tuple[Transition, ...] = ()
    actions: tuple[Action, ...] = ()
    class_name: str = ""
    running: int = 0
    waits_for_place: bool = False
    freshness: Freshness = Freshness()
    operations: tuple[TableOperation, ...] = ()
    requeue: float | None = None

    @property
    def releases(self) -> bool:
        """Whether the table may go with this step."""
        return any(isinstance(action, Release) for action in self.actions)


class Target(Protocol):
    """What actions are carried out on: what was observed of a table, which has no spec where that cannot be read."""

    @property
    def metadata(self) -> ObjectMetadata:
        """The metadata of the table."""

    @property
    def table(self) -> HudiTable | None:
        """The table, where its spec can be read."""

    @property
    def table_class(self) -> HudiTableClass | None:
        """Its class, where it can be used."""

    @property
    def operator(self) -> str:
        """The identity of the operator."""
