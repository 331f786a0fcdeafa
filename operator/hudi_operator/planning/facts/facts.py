"""The facts of one reconcile: the value that the first stage of the decision hands to the next ones."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from hudi_jobs.contract import Service
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.status.run import RunStatus
from hudi_operator.api.status.table import ServicesStatus
from hudi_operator.planning.facts.blocking import ServiceBlocker, Situation
from hudi_operator.planning.facts.operations.assess import Operations
from hudi_operator.planning.facts.savepoints.assess import Savepoints
from hudi_operator.planning.model import Action


@dataclass(frozen=True, kw_only=True)
class Facts(Situation):
    """Everything that is known of a table before anything is decided.

    `image` is the Spark image of its runs, `circumstances` their fingerprint. `finished` are the runs that have just
    ended, `history` all ended runs, `upkeep` the actions for earlier decisions, and `late_at` the moment when the next
    Job exceeds its start timeout. `services` is what is remembered after these runs. `requested` is an unanswered
    request for a run now. `refused` are services that the table's files keep from starting. `blocker` says why nothing
    new starts.
    """

    now: datetime
    image: str
    circumstances: str | None
    finished: tuple[RunStatus, ...]
    history: tuple[RunStatus, ...]
    upkeep: tuple[Action, ...]
    late_at: datetime | None
    services: ServicesStatus
    savepoints: Savepoints
    operations: Operations
    blocker: ServiceBlocker | None
    requested: str | None = None
    refused: Mapping[Service, ServiceBlocker] = field(default_factory=dict)

    @property
    def table(self) -> HudiTable:
        """The table."""
        return self.observation.table

    @property
    def is_hidden(self) -> bool:
        """Whether the table may not be read: then the facts hold nothing of its folder."""
        return self.observation.is_hidden

    @property
    def table_class(self) -> HudiTableClassSpec:
        """The class of a table that may be read."""
        assert self.observation.table_class is not None, "a table without a class is hidden"
        return self.observation.table_class.spec
