"""The registry of findings: a definition per code, by a check or by a module of its own.

A code without either keeps this module from being imported.
"""

from collections.abc import Mapping

from hudi_operator.api.status.findings import FindingCode
from hudi_operator.diagnosis.check_registry import CHECKS
from hudi_operator.planning.outcome.findings.bad_rows import BAD_ROWS
from hudi_operator.planning.outcome.findings.catalog_behind import CATALOG_BEHIND
from hudi_operator.planning.outcome.findings.catalog_entry_taken import CATALOG_ENTRY_TAKEN
from hudi_operator.planning.outcome.findings.definition import FindingDefinition, by_check, of_check
from hudi_operator.planning.outcome.findings.file_slices_uncertain import FILE_SLICES_UNCERTAIN
from hudi_operator.planning.outcome.findings.files_skipped import FILES_SKIPPED
from hudi_operator.planning.outcome.findings.foreign_writer import FOREIGN_WRITER
from hudi_operator.planning.outcome.findings.freshness_missed import FRESHNESS_MISSED
from hudi_operator.planning.outcome.findings.log_ratio_high import LOG_RATIO_HIGH
from hudi_operator.planning.outcome.findings.namespace_unreadable import NAMESPACE_UNREADABLE
from hudi_operator.planning.outcome.findings.not_verified import NOT_VERIFIED
from hudi_operator.planning.outcome.findings.owned_elsewhere import OWNED_ELSEWHERE
from hudi_operator.planning.outcome.findings.partitions_skewed import PARTITIONS_SKEWED
from hudi_operator.planning.outcome.findings.pending_instant_overdue import PENDING_INSTANT_OVERDUE
from hudi_operator.planning.outcome.findings.records_skipped import RECORDS_SKIPPED
from hudi_operator.planning.outcome.findings.restore_pending import RESTORE_PENDING
from hudi_operator.planning.outcome.findings.retries_exhausted import RETRIES_EXHAUSTED
from hudi_operator.planning.outcome.findings.rollback_of_savepoint import ROLLBACK_OF_SAVEPOINT
from hudi_operator.planning.outcome.findings.savepoint_failed import SAVEPOINT_FAILED
from hudi_operator.planning.outcome.findings.service_held_by_budget import SERVICE_HELD_BY_BUDGET
from hudi_operator.planning.outcome.findings.services_refused import SERVICES_REFUSED
from hudi_operator.planning.outcome.findings.setting_not_applied import SETTING_NOT_APPLIED
from hudi_operator.planning.outcome.findings.small_files import SMALL_FILES
from hudi_operator.planning.outcome.findings.spec_drift import SPEC_DRIFT
from hudi_operator.planning.outcome.findings.table_version_unsupported import TABLE_VERSION_UNSUPPORTED
from hudi_operator.planning.outcome.findings.timeline_corrupt import TIMELINE_CORRUPT
from hudi_operator.planning.outcome.findings.timeline_damaged import TIMELINE_DAMAGED
from hudi_operator.planning.outcome.findings.timeline_zone_unknown import TIMELINE_ZONE_UNKNOWN

_OWN = (
    OWNED_ELSEWHERE,
    TABLE_VERSION_UNSUPPORTED,
    TIMELINE_ZONE_UNKNOWN,
    FILE_SLICES_UNCERTAIN,
    SPEC_DRIFT,
    FOREIGN_WRITER,
    NOT_VERIFIED,
    ROLLBACK_OF_SAVEPOINT,
    RESTORE_PENDING,
    TIMELINE_CORRUPT,
    SERVICES_REFUSED,
    PENDING_INSTANT_OVERDUE,
    RECORDS_SKIPPED,
    FILES_SKIPPED,
    BAD_ROWS,
    CATALOG_ENTRY_TAKEN,
    CATALOG_BEHIND,
    SAVEPOINT_FAILED,
    TIMELINE_DAMAGED,
    SERVICE_HELD_BY_BUDGET,
    NAMESPACE_UNREADABLE,
    SETTING_NOT_APPLIED,
    SMALL_FILES,
    LOG_RATIO_HIGH,
    PARTITIONS_SKEWED,
    RETRIES_EXHAUSTED,
    FRESHNESS_MISSED,
)
"""Codes that the operator finds by what it knows beyond the timeline: the spec, its runs, and who began an instant."""

_DOCTOR_ALONE = frozenset(
    {
        FindingCode.UPGRADE_UNFINISHED,  # in a status, SpecDrift says it
        FindingCode.WRITER_STOPPED,  # in a status, PendingInstantOverdue says it, with its owner
        FindingCode.CLEANING_BEHIND,
        FindingCode.CLEANING_REMOVES_NOTHING,
        FindingCode.TABLE_VERSION_BEHIND,  # the spec says which version is wanted
        FindingCode.WRITERS_OVERLAP,  # the spec says how many writers there are
    }
)
"""Codes that only `hudi-operator doctor` says: a status says it otherwise, or would need further requests."""

_BY_CODE: Mapping[FindingCode, FindingDefinition] = {
    **{one.code: of_check(one, None) if one.code in _DOCTOR_ALONE else by_check(one) for one in CHECKS},
    **{one.code: one for one in _OWN},
}

DEFINITIONS: tuple[FindingDefinition, ...] = tuple(_BY_CODE[code] for code in FindingCode)
"""All definitions, in the order of their codes."""


def definition_of(code: FindingCode) -> FindingDefinition:
    """Return the definition of a code."""
    return _BY_CODE[code]
