"""The first stage of the decision: from the observation to the facts, which it hands on to the next stages."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from hudi_jobs.contract import Outcome, Service
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.status.runs import RunStatus
from hudi_operator.api.status.service_status import ServicesStatus
from hudi_operator.api.status.table_status import HISTORY_LENGTH
from hudi_operator.jobs.decided_job import spark_image
from hudi_operator.planning.facts.blocking import (
    ServiceBlocker,
    Situation,
    blocked_message,
    blocker_of,
    operation_held,
    refused_services,
)
from hudi_operator.planning.facts.drift import drift_of
from hudi_operator.planning.facts.operations.admission import Held
from hudi_operator.planning.facts.operations.assess_operations import Operations
from hudi_operator.planning.facts.operations.assess_operations import assess as assess_operations
from hudi_operator.planning.facts.operations.ended import has_changed_history, services_after, takeover_after
from hudi_operator.planning.facts.runs.affected import known_runs, windows_of
from hudi_operator.planning.facts.runs.freshness import with_look
from hudi_operator.planning.facts.runs.memory import after_request, open_request, remember
from hudi_operator.planning.facts.runs.tracking import Tracked, track
from hudi_operator.planning.facts.savepoints.assess_savepoints import Savepoints
from hudi_operator.planning.facts.savepoints.assess_savepoints import assess as assess_savepoints
from hudi_operator.planning.facts.writers.acts import mark_undone
from hudi_operator.planning.facts.writers.foreign import Writers, check_writers
from hudi_operator.planning.facts.writers.leftover import left_behind
from hudi_operator.planning.facts.writers.ownership import Ownership, check_ownership, own_record
from hudi_operator.planning.facts.writers.pending import Instants, instants_of
from hudi_operator.planning.facts.writers.takeover import check_takeover, concealed, with_reports
from hudi_operator.planning.model import Action, Observation
from hudi_operator.planning.model.healing import circumstances_of
from hudi_operator.planning.model.reasons import Waiting


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


def gather(observation: Observation, *, default_image: str, now: datetime) -> Facts:
    """Return the facts of one table; `default_image` is the Spark image of classes that name none."""
    image = spark_image(observation.table_class, default_image)
    circumstances = circumstances_of(observation.table_class, image=image)
    tracked = track(observation, desired_image=image, now=now)
    services = remember(observation, tracked.finished, circumstances=circumstances, active=tracked.active, now=now)
    history = _history(observation.table.status.history, tracked.finished)
    if observation.is_hidden:
        seen, held = _hidden(observation, tracked, now=now)
    else:
        jobs = observation.table.status.active_jobs
        services, history = mark_undone(services, history, observation.snapshot, active=jobs)
        seen = _situation(observation, tracked, known_runs(services, (*tracked.finished, *history)), now=now)
        services = after_request(observation.table, services)
        ingestion = with_look(services.ingestion, observation, circumstances, now=now)
        services = services.replaced({Service.INGESTION: ingestion})
        held = operation_held(seen)
    return _facts(seen, held, tracked, services, history=history, image=image, circumstances=circumstances, now=now)


def _situation(observation: Observation, tracked: Tracked, runs: tuple[RunStatus, ...], *, now: datetime) -> Situation:
    """Return who owns and writes a table, and its pending instants."""
    assert observation.table_class is not None, "a table without a class is hidden"
    spec, active = observation.table_class.spec, tracked.active
    takeover = check_takeover(observation, spec.takeover, runs=runs, active=active, now=now)
    ownership = check_ownership(observation, runs=runs, active=active)
    writers = check_writers(
        observation,
        runs=runs,
        windows=windows_of(runs, active),
        active=active,
        owned_elsewhere=ownership.elsewhere is not None,
        is_watched=takeover.waits is not None,
    )
    left = left_behind(observation, tracked.finished, now=now)
    return Situation(
        observation=observation,
        active=active,
        instants=instants_of(observation, spec, active=active, left_behind=left, now=now),
        drift=drift_of(observation),
        takeover=with_reports(takeover, observation, tracked.finished, now=now),
        ownership=ownership,
        writers=writers,
    )


def _hidden(observation: Observation, tracked: Tracked, *, now: datetime) -> tuple[Situation, Held]:
    """Return the situation of a table that may not be read: its Jobs continue, and nothing of its folder is shown."""
    message = blocked_message(observation)
    seen = Situation(
        observation=observation,
        active=tracked.active,
        instants=Instants(left_behind=left_behind(observation, tracked.finished, now=now)),
        drift=(),
        takeover=concealed(observation.table.status.takeover),
        ownership=Ownership(remembered=own_record(observation.table)),
        writers=Writers(),
    )
    return seen, Held(before=message, begun=message)


def _facts(
    seen: Situation,
    held: Held,
    tracked: Tracked,
    services: ServicesStatus,
    *,
    history: tuple[RunStatus, ...],
    image: str,
    circumstances: str | None,
    now: datetime,
) -> Facts:
    """Return the facts with the next state of savepoints and operations, and without what these have undone."""
    observation, finished, takeover = seen.observation, tracked.finished, seen.takeover
    savepoints = assess_savepoints(
        observation, active=seen.active, finished=finished, services=services, takeover=takeover.status, now=now
    )
    operations = assess_operations(observation, active=seen.active, finished=finished, held=held, now=now)
    if not observation.is_hidden and has_changed_history(observation.table.status, operations.entries):
        services = services_after(services)
        takeover = replace(takeover, status=takeover_after(takeover.status, observation))
    return Facts(
        observation=observation,
        active=seen.active,
        instants=seen.instants,
        drift=seen.drift,
        takeover=takeover,
        ownership=seen.ownership,
        writers=seen.writers,
        now=now,
        image=image,
        circumstances=circumstances,
        finished=finished,
        history=history,
        upkeep=tracked.actions,
        late_at=tracked.late_at,
        services=services,
        savepoints=savepoints,
        operations=operations,
        blocker=_hidden_blocker(observation) or blocker_of(seen, operations.maintenance),
        requested=open_request(observation.table),
        refused=refused_services(seen.drift, observation.table.spec),
    )


def _hidden_blocker(observation: Observation) -> ServiceBlocker | None:
    return (Waiting.BLOCKED, blocked_message(observation)) if observation.is_hidden else None


def _history(previous: tuple[RunStatus, ...], finished: Iterable[RunStatus]) -> tuple[RunStatus, ...]:
    fresh = tuple(run for run in reversed(tuple(finished)) if run.affected or run.outcome is not Outcome.NOTHING_TO_DO)
    return (fresh + previous)[:HISTORY_LENGTH]
