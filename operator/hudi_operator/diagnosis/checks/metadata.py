"""Checks of the metadata table, which tells readers which files exist."""

from hudi_jobs.contract.wording import listed
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check import Check, Evidence, Examined
from hudi_operator.timeline.facts import missing_in_metadata

_SHOWN = 3


def _behind(table: Examined) -> Evidence | None:
    if table.metadata is None:
        return None
    missing = missing_in_metadata(table.metadata, table.timeline)
    if not missing:
        return None
    message = (
        f"The metadata table lacks {len(missing)} completed "
        f"{'commit' if len(missing) == 1 else 'commits'} of the table: {listed(missing, _SHOWN)}. Readers that use it "
        "miss the files of these commits."
    )
    return Evidence(message=message, instant=missing[0], count=len(missing), since=table.latest_moment(missing[0]))


def _compaction(table: Examined) -> Evidence | None:
    number = table.metadata.counters.delta_commits_since_compaction if table.metadata is not None else None
    if number is None or number <= table.limits.metadata_commits:
        return None
    message = (
        f"{number} delta commits of the metadata table have completed since its last compaction: each listing of "
        "files reads all of them, and archival of the table waits."
    )
    return Evidence(message=message, count=number)


METADATA_TABLE_BEHIND = Check(
    code=FindingCode.METADATA_TABLE_BEHIND,
    severity=Severity.CRITICAL,
    blocks="Nothing: rows are missing for readers that use the metadata table.",
    remedy="Stop the writers, remove the metadata table (`delete_metadata_table` of Hudi); a write builds it again.",
    find=_behind,
)
METADATA_COMPACTION_BEHIND = Check(
    code=FindingCode.METADATA_COMPACTION_BEHIND,
    severity=Severity.WARNING,
    blocks="Archival, which waits for the metadata table.",
    remedy="Finish or roll back pending instants of the table: the next write compacts the metadata table.",
    find=_compaction,
)

CHECKS = (METADATA_TABLE_BEHIND, METADATA_COMPACTION_BEHIND)
