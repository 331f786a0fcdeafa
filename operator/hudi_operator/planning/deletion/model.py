"""The observation and words of a table's end, as frozen values."""

from dataclasses import dataclass, field

from hudi_operator.api.resources import HudiTable, HudiTableClass, ObjectMetadata
from hudi_operator.api.spec.table import DeletionPolicy
from hudi_operator.api.status.table import HudiTableStatus
from hudi_operator.planning.model import (
    Blocker,
    JobObservation,
    NamespaceObservation,
    Suspension,
    TimelineSnapshot,
    suspension_of,
)

SHORT_REQUEUE = 2.0
"""Seconds until the next reconcile of a table near its end."""


@dataclass(frozen=True, kw_only=True)
class EndingObservation:
    """The observation of a deleted resource in one reconcile.

    `table` is None if this version cannot parse the spec; `snapshot` is set if `awaits_confirmation` says so, and
    before the data is removed; `operator` is the operator's identity; `claim_held` and `namespace` were read live.
    `namespace` is None if the operator may not read it.
    """

    metadata: ObjectMetadata
    status: HudiTableStatus
    policy: DeletionPolicy
    base_path: str
    table: HudiTable | None
    table_class: HudiTableClass | None = None
    blockers: tuple[Blocker, ...] = ()
    claim_held: bool = True
    namespace: NamespaceObservation | None = field(default_factory=NamespaceObservation)
    namespace_terminating: bool = False
    jobs: tuple[JobObservation, ...] = ()
    snapshot: TimelineSnapshot | None = None
    running_in_class: int = 0
    running_in_namespace: int = 0
    operator: str = ""

    @property
    def suspended_by(self) -> Suspension | None:
        """What suspends the table, or None."""
        spec = self.table.spec if self.table is not None else None
        return suspension_of(self.metadata, spec, self.namespace.suspension if self.namespace is not None else None)
