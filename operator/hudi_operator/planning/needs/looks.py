"""Whether a look at the source could spare the table a Job."""

from datetime import datetime

from hudi_jobs.contract import Service
from hudi_operator.planning.facts.requests import open_request
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.decision import Reason
from hudi_operator.planning.needs.kinds import ingestion
from hudi_operator.sources.registry import declared_source


def wants_look(observation: Observation, now: datetime) -> bool:
    """Whether ingestion is due by its schedule alone, so that a look at the source may show that no run is needed.

    `observation.look` is the last look at the same spec, if there is one: a look that found nothing new counts as the
    last run.
    """
    table, known = observation.table, observation.table_class
    source = declared_source(table.spec)
    if source is None or not source.can_be_looked_at or table.spec.continues:
        return False
    if known is None or observation.blockers or observation.suspended_by is not None:
        return False
    jobs = table.status.active_jobs
    if any(job.service is Service.INGESTION for job in jobs):
        return False
    found = ingestion.evaluate(
        table.status.services.ingestion,
        table=table,
        table_class=known.spec,
        requested=open_request(table),
        now=now,
        active=jobs,
    )
    return found.due and found.reason is Reason.SCHEDULED
