"""The outcome of a decision: what is done, remembered and shown."""

from dataclasses import dataclass, field
from functools import cached_property

from hudi_operator.api.status.runs import ActiveJob, RunStatus
from hudi_operator.api.status.savepoints import TableSavepoint
from hudi_operator.api.status.service_status import ServicesStatus
from hudi_operator.api.status.table_operations import TableOperation
from hudi_operator.api.status.table_parts import BadRowsStatus, OwnerStatus, RescanStatus, TakeoverStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.api.status.timeline import ActStatus, LeftInstant
from hudi_operator.diagnosis.check import Examined
from hudi_operator.planning.facts.gather import Facts
from hudi_operator.planning.model import Action, Observation
from hudi_operator.planning.outcome.examined import examined_of
from hudi_operator.timeline import Instant


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The actions to take now, what is remembered and shown, and the seconds until time alone may change them.

    `facts` is what the plan follows from, and `status` what is written. `foreign` are the commits of other writers that
    a serialized table must not have, newest first; `verified_up_to` is the completion of the newest commit that was
    checked and is not foreign. `answered` is the request for a run that this plan answers, and `rescan` the newest
    request to read files once more. `left_by` are the pending instants that ended runs of ours began. `savepoints` are
    all savepoints of the table, with or without a HudiSavepoint. `takeover` is the memory of the takeover from other
    writers, `owner` that of the owner. `changes_in` is None if time alone changes nothing.
    """

    facts: Facts
    status: HudiTableStatus = field(default_factory=HudiTableStatus)
    actions: tuple[Action, ...] = ()
    services: ServicesStatus = field(default_factory=ServicesStatus)
    bad_rows: BadRowsStatus | None = None
    acts: tuple[ActStatus, ...] = ()
    foreign: tuple[Instant, ...] = ()
    verified_up_to: str | None = None
    active_jobs: tuple[ActiveJob, ...] = ()
    left_by: tuple[LeftInstant, ...] = ()
    history: tuple[RunStatus, ...] = ()
    finished: tuple[RunStatus, ...] = ()
    answered: str | None = None
    rescan: RescanStatus | None = None
    changes_in: float | None = None
    owner: OwnerStatus | None = None
    takeover: TakeoverStatus | None = None
    savepoints: tuple[TableSavepoint, ...] = ()
    operations: tuple[TableOperation, ...] = ()

    @property
    def observation(self) -> Observation:
        """What the plan was made for."""
        return self.facts.observation

    @cached_property
    def examined(self) -> Examined | None:
        """What the checks look at; None if there is no timeline, or it may not be shown."""
        return examined_of(self.observation, now=self.facts.now)

    @property
    def left_behind(self) -> tuple[str, ...]:
        """The times of the instants that ended runs of ours began."""
        return tuple(one.time for one in self.left_by)
