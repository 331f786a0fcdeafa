"""The differences between a table and its resource, and the properties that cannot be honoured."""

from collections.abc import Iterable

from hudi_jobs.contract import Difference, Service, differences
from hudi_jobs.contract.table.facts import SLICES_FIELD, ZONE_FIELD
from hudi_jobs.contract.table.layout import LAYOUT_FIELD
from hudi_jobs.contract.table.support import TABLE_VERSION
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.jobs.requests.request import definition_of
from hudi_operator.planning.model import Observation, TimelineSnapshot


def drift_of(observation: Observation) -> tuple[Difference, ...]:
    """Return every difference between a table and its resource that a reconcile has seen.

    Differences that a run resolves are left out while a run is active: Hudi makes the metadata table after the table,
    and moves the timeline before it writes the version.
    """
    if observation.is_hidden:
        return ()
    is_busy = bool(observation.table.status.active_jobs)
    found = drift_between(observation.table, observation.snapshot)
    return tuple(one for one in found if not (is_busy and (one.passes or one.field == LAYOUT_FIELD)))


def drift_between(table: HudiTable, snapshot: TimelineSnapshot) -> tuple[Difference, ...]:
    """Return every difference between the observed table and a resource."""
    if snapshot.timeline is None:
        return ()
    return differences(
        dict(snapshot.timeline.properties.raw),
        definition_of(table),
        written_index=snapshot.index,
        ingests=table.spec.ingestion is not None,
        facts=snapshot.facts,
        declared_zone=table.spec.timeline_time_zone,
    )


_CODES = {
    ZONE_FIELD: FindingCode.TIMELINE_ZONE_UNKNOWN,
    SLICES_FIELD: FindingCode.FILE_SLICES_UNCERTAIN,
}


def drift_code(drift: Iterable[Difference]) -> FindingCode:
    """Return the code of these differences; an unknown version or zone, and uncertain file slices, have their own.

    The driver gives the same word for the differences that it finds.
    """
    fields = {one.field for one in drift if one.stops}
    if TABLE_VERSION in fields:
        return FindingCode.TABLE_VERSION_UNSUPPORTED
    code = _CODES.get(next(iter(fields))) if len(fields) == 1 else None
    return code or FindingCode.SPEC_DRIFT


def stops(drift: Iterable[Difference]) -> bool:
    """Whether these differences keep everything from starting."""
    return any(one.stops_everything for one in drift)


def refusing(drift: Iterable[Difference], service: Service) -> tuple[Difference, ...]:
    """Return the differences that keep a service from starting."""
    return tuple(one for one in drift if service in one.refuses)
