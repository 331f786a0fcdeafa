"""Defects that once were in the operator or its drivers, put back in one at a time, each small.

A defect of a driver is a rule of the model that is switched off. One of the decision is the old function in the place
of today's: kept here as short as it can be, and true to what it did wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from pydantic import ValidationError
from tests.model import scenarios
from tests.model.cluster import forget_observed
from tests.model.search import Report, search
from tests.model.world import Scenario

from hudi_jobs.contract import Service
from hudi_operator.api.status.runs import RunStatus
from hudi_operator.api.status.service_status import ServicesStatus, ServiceStatus
from hudi_operator.api.values.base import Model
from hudi_operator.jobs import names
from hudi_operator.planning.facts.gather import Facts
from hudi_operator.planning.facts.writers import foreign
from hudi_operator.planning.facts.writers.ownership import Authorship
from hudi_operator.planning.facts.writers.takeover import Takeover
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.decision import Decision, Reason
from hudi_operator.planning.model.times import instant_time
from hudi_operator.planning.needs.needs import Needs
from hudi_operator.planning.order import slots
from hudi_operator.planning.order.slots import services_apart
from hudi_operator.planning.order.stopping import Turn
from hudi_operator.services.registry import SERVICES
from hudi_operator.timeline import Action, Instant, Timeline


@dataclass(frozen=True, kw_only=True)
class Defect:
    """One defect: where it shows, what puts it back in, and what the checker then says."""

    name: str
    scenario: Scenario
    says: str
    """A part of what the checker finds to be wrong."""
    without: tuple[str, ...] = ()
    """The rules of drivers that are switched off."""
    old: tuple[tuple[str, object], ...] = field(default=())
    """Functions and values that are replaced, by their path."""
    deviations: int = 1
    budget: int = 12_000
    by: str = ""
    """The one happening that shows it, where it takes long to find among all those of the scenario."""
    lot: int = 0
    """The seed by which the search finds it soon; with any other it finds it later."""

    @contextmanager
    def put_back(self) -> Iterator[Scenario]:
        with ExitStack() as stack:
            stack.callback(forget_observed)
            forget_observed()
            for path, function in self.old:
                stack.enter_context(patch(path, function))
            rules = replace(self.scenario.rules, **dict.fromkeys(self.without, False))
            yield replace(self.scenario, rules=rules)

    def find(self, *, seed: int | None = None, quickly: bool = False) -> Report:
        """Search for it, and for nothing else; `quickly` among histories with the happening that shows it alone."""
        with self.put_back() as scenario:
            happenings = frozenset({self.by}) if quickly and self.by else scenario.happenings
            narrowed = replace(scenario, happenings=happenings)
            lot = self.lot if seed is None else seed
            return search(narrowed, deviations=self.deviations, budget=self.budget, only=self.says, seed=lot)


def _old_name(
    *,
    table_name: str,
    table_uid: str,
    service: Service,
    decision: tuple[Any, ...],
    taken: Collection[str],  # noqa: ARG001 - the defect is not to look at it
) -> str:
    """The name without what tells a new decision from an old one."""
    _, _, due, base_instant, _, _, _, attempt, _, _ = decision
    return names.job_name(
        table_name=table_name, table_uid=table_uid, service=service, decision=(due, base_instant, attempt)
    )


def _only_ended_pods_have_ended(pod: dict[str, Any]) -> bool:
    """A pod counts as a whole, whatever was injected into it."""
    return pod["status"]["phase"] in {"Succeeded", "Failed"}


def _never(*_: object, **__: object) -> bool:
    return False


def _for_nothing(*_: object, **__: object) -> tuple[()]:
    return ()


def _none(*_: object, **__: object) -> None:
    return None


def _any_that_waits(facts: Facts, needs: Needs) -> Turn:
    """Whether ingestion would start again before it is not asked."""
    waiting = services_apart(facts, needs.decisions, quota_reached=False)
    return Turn(waiting=waiting, following=next(iter(waiting), None))


def _any_beside_the_host(*arguments: Any, host: str | None = None, **others: Any) -> Any:
    return None if host is not None else _OCCUPIED(*arguments, **others)


def _by_priority(decision: Decision, service: Service, _: int) -> tuple[int, str, int]:
    """Requests go first for ever."""
    return decision.priority, decision.instant or "", SERVICES.index(service)


def _hopeless(*_: object, **__: object) -> Decision:
    return Decision(due=False, reason=Reason.WAITING_FOR_SPEC_CHANGE, message="")


def _another_generation(memory: ServiceStatus, *, generation: int, **_: object) -> bool:
    return memory.failures_generation != generation


def _all_or_nothing(kind: type[Model], document: Any) -> tuple[Model, tuple[str, ...]]:
    try:
        return kind.model_validate(document or {}), ()
    except ValidationError:
        return kind(), ()


def _left_alone_by_nobody(*_: object, **__: object) -> None:
    """Every pending instant is ours to deal with at once."""


def _at_once(*_: object, **__: object) -> Takeover:
    return Takeover()


def _left_over_never(*_: object) -> None:
    """A service that is switched off does nothing."""


def _any_text(value: str, _: Timeline) -> str:
    return value


def _lacks_mark_by_action(instant: Instant, _: object, timeline: Timeline) -> bool:
    is_compaction = instant.action is Action.COMMIT and timeline.properties.is_merge_on_read
    return is_compaction or instant.action is Action.REPLACE_COMMIT


def _completed_or_inflight(
    observation: Observation, timeline: Timeline, verified: str | None, *, authorship: Authorship
) -> Iterator[Instant]:
    """A write under way that no run in memory has begun proves another writer as well."""
    yield from _COMPLETED(observation, timeline, verified, authorship=authorship)
    for instant in timeline.pending:
        at = instant_time(instant.time)
        known = (
            one.start - _SLACK <= at and (one.end is None or at <= one.end + _SLACK) for one in authorship.others if at
        )
        if instant.action is Action.DELTA_COMMIT and not any(known):
            yield instant


def _commits_alone(*arguments: Any, **others: Any) -> Iterator[Instant]:
    """What another tool's services do proves nothing."""
    return (one for one in _COMPLETED(*arguments, **others) if one.action is not Action.CLEAN)


_SLACK = timedelta(minutes=1)
_COMPLETED = foreign._completed


def _equal_digest(observation: Observation, memory: ServiceStatus, _circumstances: str | None) -> bool:
    return memory.look is not None and observation.look is not None and memory.look.digest == observation.look.digest


def _nothing_undone(
    services: ServicesStatus, history: tuple[RunStatus, ...], *_: object, **_of: object
) -> tuple[ServicesStatus, tuple[RunStatus, ...]]:
    return services, history


_OCCUPIED = slots.occupied

_PLANNING = "hudi_operator.planning"

DEFECTS = (
    Defect(
        name="a table is taken over while others write it",
        scenario=scenarios.ADOPTION,
        says="a run starts beside a writer that moves",
        old=((f"{_PLANNING}.facts.gather.check_takeover", _at_once),),
    ),
    Defect(
        name="another tool's live plan is taken over",
        scenario=scenarios.SHARED,
        says="the live clustering of another tool is rolled back",
        by="tool",
        without=("leaves_live_plans",),
        old=((f"{_PLANNING}.facts.writers.leftover.Watch.left_alone_until", _left_alone_by_nobody),),
    ),
    Defect(
        name="a pod that runs on commits beside the next run",
        scenario=scenarios.PROCESSES,
        says="acknowledged rows are doubled",
        by="pod force-deleted",
        without=("ingestion_holds_lease", "rereads_checkpoint"),
    ),
    Defect(
        name="two operators do not notice one another",
        scenario=scenarios.OPERATORS,
        says="acknowledged rows are doubled",
        without=("knows_owner", "ingestion_holds_lease", "rereads_checkpoint"),
    ),
    Defect(
        name="a clock that is behind writes all the same",
        scenario=scenarios.CLOCKS,
        says="an older row is over a newer one",
        without=("guards_clock",),
    ),
    Defect(
        name="a table in local time is written in UTC",
        scenario=scenarios.LOCAL,
        says="an older row is over a newer one",
        without=("writes_in_table_zone", "guards_clock"),
        deviations=0,
    ),
    Defect(
        name="the newest checkpoint is that of the fastest clock",
        scenario=scenarios.INSERTING_CLOCKS,
        says="acknowledged rows are doubled",
        without=("orders_checkpoints", "guards_clock"),
    ),
    Defect(
        name="a file that is dated before the newest is passed over",
        lot=5,
        scenario=scenarios.FILES,
        says="it does not come to rest: input is not ingested",
        by="late file",
        without=("records_files",),
    ),
    Defect(
        name="an equal digest spares a run although the table was restored",
        scenario=scenarios.FILES,
        says="it does not come to rest: input is not ingested",
        by="restore",
        old=(
            (f"{_PLANNING}.needs.looks.found_nothing_new", _equal_digest),
            (f"{_PLANNING}.facts.gather.mark_undone", _nothing_undone),
        ),
    ),
    Defect(
        name="a dead write of ours is forgotten with the tenth failure",
        lot=3,
        scenario=scenarios.UNREADABLE,
        says="is taken for another writer's",
        by="driver dies",
        old=((f"{_PLANNING}.facts.writers.foreign._completed", _completed_or_inflight),),
    ),
    Defect(
        name="a write by a clock that is minutes off is another writer's",
        scenario=scenarios.CLOCKS,
        says="is taken for another writer's",
        by="operator skewed",
        old=((f"{_PLANNING}.facts.writers.foreign._completed", _completed_or_inflight),),
    ),
    Defect(
        name="a foreign commit becomes old when a run of ours ends after it",
        lot=2,
        scenario=scenarios.STRANGERS_FROM_THE_START,
        says="a run starts beside another writer",
        by="tool",
        old=((f"{_PLANNING}.facts.writers.foreign._BEFORE_ALL", None),),
    ),
    Defect(
        name="a clean of another tool is not looked at",
        lot=4,
        scenario=scenarios.STRANGERS,
        says="a run starts beside another writer",
        by="tool",
        old=((f"{_PLANNING}.facts.writers.foreign._completed", _commits_alone),),
    ),
    Defect(
        name="a clean of ours is another writer's, because it names no run",
        scenario=scenarios.PROCESSES,
        says="is taken for another writer's",
        old=((f"{_PLANNING}.facts.writers.ownership.Authorship.may_have_made", _never),),
    ),
    Defect(
        name="any instant accepts other writers' commits",
        scenario=scenarios.ACCEPTING,
        says="a run starts beside another writer",
        old=((f"{_PLANNING}.facts.operations.decisions.acceptance", _any_text),),
    ),
    Defect(
        name="a plan of ours stays when its service is switched off",
        scenario=scenarios.LEFT_PLAN,
        says="it does not come to rest",
        old=((f"{_PLANNING}.needs.evaluation._left_over", _left_over_never),),
    ),
    Defect(
        name="the name of a Job is used again",
        scenario=scenarios.REFUSED,
        says="the name of a run that is over is used again",
        deviations=2,
        old=((f"{_PLANNING}.order.launch.job_name", _old_name),),
    ),
    Defect(
        name="a request that was invalid waits for the table's own spec",
        scenario=scenarios.REFUSED,
        says="it does not come to rest",
        old=(
            (f"{_PLANNING}.facts.runs.failures._hopeless", _hopeless),
            (f"{_PLANNING}.facts.runs.memory.have_changed", _another_generation),
        ),
    ),
    Defect(
        name="a sidecar holds the Job of a driver that has ended",
        lot=8,
        scenario=scenarios.PODS,
        says="it does not come to rest: a driver runs",
        by="pod trouble",
        old=(("hudi_operator.control.jobs.job_view.pod_has_ended", _only_ended_pods_have_ended),),
    ),
    Defect(
        name="a pod that hangs before it starts is left to its deadline",
        scenario=scenarios.PODS,
        says="it does not come to rest: a driver runs",
        old=((f"{_PLANNING}.facts.runs.tracking._must_stop", _never),),
    ),
    Defect(
        name="a Job that waits in a queue is deleted",
        scenario=scenarios.PODS,
        says="a Job that waits in a queue is deleted",
        old=(("hudi_operator.control.jobs.job_view._is_suspended", _never),),
    ),
    Defect(
        name="requests without end starve the table's services",
        scenario=scenarios.REQUESTS,
        says="starves",
        old=((f"{_PLANNING}.order.slots._rank", _by_priority),),
        deviations=0,
    ),
    Defect(
        name="one field that cannot be read drops the whole status",
        scenario=scenarios.REQUESTED,
        says="a request is answered twice",
        old=(("hudi_operator.api.resources.read_by_parts", _all_or_nothing),),
    ),
    Defect(
        name="an inline log compaction is another writer's",
        scenario=scenarios.INLINE,
        says="is taken for another writer's",
        old=((f"{_PLANNING}.facts.writers.foreign.may_lack_mark", _lacks_mark_by_action),),
        deviations=0,
    ),
    Defect(
        name="a continuous driver that stands still is not noticed",
        scenario=scenarios.CONTINUOUS_PEOPLE,
        says="it does not come to rest",
        by="driver hangs",
        old=((f"{_PLANNING}.order.stopping._stands_still", _for_nothing),),
    ),
    Defect(
        name="a continuous driver works on by the spec before",
        scenario=scenarios.CONTINUOUS_PEOPLE,
        says="a driver works by an earlier spec",
        by="spec edited",
        old=((f"{_PLANNING}.order.stopping._reasons", _for_nothing),),
    ),
    Defect(
        name="two services are asked of one driver",
        scenario=scenarios.CONTINUOUS_INSIDE,
        says="two Jobs of one kind",
        old=((f"{_PLANNING}.order.slots.occupied", _any_beside_the_host),),
        deviations=0,
    ),
    Defect(
        name="services have no turn beside a continuous driver",
        scenario=scenarios.CONTINUOUS,
        says="stays due",
        old=((f"{_PLANNING}.order.stopping._turns", _for_nothing),),
        deviations=0,
    ),
    Defect(
        name="a driver ends for a service that ingestion then goes before",
        scenario=scenarios.CONTINUOUS_BEHIND,
        says="and the next one starts before that",
        old=(
            (f"{_PLANNING}.order.order.turn_of", _any_that_waits),
            (f"{_PLANNING}.order.slots.given_turn", _none),
        ),
        deviations=0,
    ),
)
