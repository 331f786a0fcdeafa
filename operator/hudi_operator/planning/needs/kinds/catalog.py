"""Whether a run that only syncs the catalog is due; runs that commit also sync the catalog.

A sync is due if no run has synced the table with these settings, and after a failed sync, with growing waits. A
continuous driver syncs and retries by itself.
"""

from datetime import datetime

from hudi_jobs.contract import CatalogRecord, next_sync, target_of
from hudi_operator.catalogs.registry import declared_catalog
from hudi_operator.planning.facts.gather import Facts
from hudi_operator.planning.model.decision import Decision, Priority, Reason
from hudi_operator.planning.model.times import format_time
from hudi_operator.timeline.rules.counters import COMMITS


def evaluate(facts: Facts) -> Decision:
    """Return whether a run is due; the table has been read."""
    catalog, timeline = declared_catalog(facts.table, facts.table_class), facts.observation.snapshot.timeline
    if catalog is None:
        return _not_due(Reason.NOT_REQUESTED, "The spec has no catalog.")
    if (taken := facts.observation.entry_taken) is not None:
        return _not_due(Reason.CATALOG_ENTRY_TAKEN, taken)
    if timeline is None or not any(one.action in COMMITS for one in timeline.completed):
        return _not_due(Reason.NO_TABLE, "Nothing has been written yet that a catalog could show.")
    if facts.table.spec.continues:
        return _not_due(Reason.CONTINUOUS, "The driver that reads the source syncs the catalog.")
    record = facts.observation.snapshot.catalog
    if record is None or record.target != target_of(catalog, facts.table.metadata.uid):
        return _due(f"No run has synced the entry {catalog.entry} with the settings of the spec and the class.")
    return _by_record(record, now=facts.now)


def _by_record(record: CatalogRecord, *, now: datetime) -> Decision:
    at = next_sync(record, now)
    if at is None:
        return _not_due(Reason.NOTHING_TO_DO, f"The entry {record.entry} shows the table as of {record.instant}.")
    if now >= at:
        return _due(f"The entry {record.entry} has been behind since {record.behind_since}.")
    message = f"The last sync of {record.entry} failed; the next attempt is at {format_time(at)}."
    return Decision(due=False, reason=Reason.WAITING_FOR_RETRY, message=message, at=at)


def _due(message: str) -> Decision:
    return Decision(due=True, reason=Reason.CATALOG_BEHIND, message=message, priority=Priority.SERVICE)


def _not_due(reason: Reason, message: str) -> Decision:
    return Decision(due=False, reason=reason, message=message)
