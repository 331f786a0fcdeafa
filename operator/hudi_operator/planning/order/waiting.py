"""What each due service waits for, and how often others have gone before it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from hudi_jobs.contract import Service
from hudi_operator.api.status.table import ServiceStatus
from hudi_operator.planning.facts.blocking import ServiceBlocker
from hudi_operator.planning.facts.facts import Facts
from hudi_operator.planning.facts.runs.failures import reset_failures
from hudi_operator.planning.model.decision import Decision, Reason
from hudi_operator.planning.model.reasons import Waiting
from hudi_operator.planning.needs.missed_freshness import misses_freshness
from hudi_operator.planning.order.slots import PATIENCE, Started, blocked, waits_for


@dataclass(frozen=True, kw_only=True)
class Place:
    """The place of a service among the others: what is remembered of it, and what it waits for if it is due."""

    memory: ServiceStatus
    waits: ServiceBlocker | None = None


def line_up(facts: Facts, decisions: Mapping[Service, Decision], started: Started) -> dict[Service, Place]:
    """Return the place of each service."""
    launched = {launch.job.service for launch in started.launches}
    return {service: _place(facts, service, decision, started, launched) for service, decision in decisions.items()}


def _place(
    facts: Facts, service: Service, decision: Decision, started: Started, launched: Collection[Service | None]
) -> Place:
    memory = facts.services.of(service)
    if _is_due_no_more(facts, service, decision):
        memory = reset_failures(memory)  # another writer has already done what failed
    passed_over = _passed_over(facts, service, decision, launched)
    memory = memory.copy_with(passed_over=passed_over)
    if service in launched:
        return Place(memory=memory)
    waits = waits_for(facts, service, decision, started.active, blocked(facts, service))
    is_free = facts.blocker is None and passed_over > 0
    if waits is not None and is_free and _ingestion_goes_first(facts, service, started):
        waits = _behind_ingestion(waits, passed_over)
    return Place(memory=memory, waits=waits)


def _is_due_no_more(facts: Facts, service: Service, decision: Decision) -> bool:
    """Whether the failed work is no longer needed; while the service runs, its own plan may hide the need."""
    if decision.reason is Reason.NOT_REQUESTED:
        if service is Service.OPERATION:
            return facts.operations.maintenance is None
        return not any(one.failures for one in facts.savepoints.entries)
    return decision.reason is Reason.BELOW_THRESHOLD and not any(job.service is service for job in facts.active)


def _ingestion_goes_first(facts: Facts, service: Service, started: Started) -> bool:
    """Whether a table service waits because the ingestion of a table that misses its freshness runs."""
    runs = any(job.service is Service.INGESTION for job in started.active)
    is_missed = misses_freshness(facts.table.spec, facts.services.ingestion, now=facts.now)
    return service is not Service.INGESTION and runs and is_missed


def _behind_ingestion(waits: ServiceBlocker, passed_over: int) -> ServiceBlocker:
    reason, message = waits
    times = "once" if passed_over == 1 else f"{passed_over} times"
    why = (
        "Ingestion goes first, because the table misses its freshness: this service was skipped "
        f"{times} and goes first after {PATIENCE}."
    )
    return Waiting.INGESTION_FIRST if reason == Waiting.RUNNING else reason, f"{message} {why}"


def _passed_over(facts: Facts, service: Service, decision: Decision, launched: Collection[Service | None]) -> int:
    """Return how often other services started while this service was due and could have started."""
    before = facts.services.of(service).passed_over
    if service in launched:
        return 0
    if not decision.due:
        return before if facts.active else 0  # a running Job may hide the need
    could_start = waits_for(facts, service, decision, facts.active) is None
    return before + 1 if launched and could_start else before
