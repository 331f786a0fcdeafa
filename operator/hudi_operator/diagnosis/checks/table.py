"""Checks of a table's version, and of what a change of the version leaves behind."""

from collections.abc import Iterable

from hudi_jobs.contract.table.facts import SLICES_FIELD, consequences
from hudi_jobs.contract.table.layout import LAYOUT_FIELD
from hudi_jobs.contract.table.properties import sentence_of
from hudi_jobs.contract.table.support import TABLE_VERSION, WRITTEN_VERSIONS, Unsupported, unsupported
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check import Check, Evidence, Examined

_NEWEST = max(WRITTEN_VERSIONS)


def _first(found: Iterable[Unsupported], key: str) -> Evidence | None:
    one = next((one for one in found if one.key == key), None)
    return None if one is None else Evidence(message=sentence_of(one), blocks=one.refuses)


def _unsupported(table: Examined) -> Evidence | None:
    properties = {TABLE_VERSION: str(table.timeline.properties.version)}
    return _first(unsupported(properties, declared_index=None, ingests=False), TABLE_VERSION)


def _slices(table: Examined) -> Evidence | None:
    return _first(consequences(table.facts, declared_zone=None, ingests=False), SLICES_FIELD)


def _moved(table: Examined) -> Evidence | None:
    return _first(consequences(table.facts, declared_zone=None, ingests=False), LAYOUT_FIELD)


def _behind(table: Examined) -> Evidence | None:
    version = table.timeline.properties.version
    if version not in WRITTEN_VERSIONS or version == _NEWEST:
        return None
    return Evidence(message=f"The table has version {version}; Hudi 1.2.0 makes tables of version {_NEWEST}.")


TABLE_VERSION_UNSUPPORTED = Check(
    code=FindingCode.TABLE_VERSION_UNSUPPORTED,
    severity=Severity.CRITICAL,
    blocks="Everything: Hudi would upgrade the table, and older readers would fail.",
    remedy="Upgrade the table with your own tool; the message says how.",
    find=_unsupported,
)
FILE_SLICES_UNCERTAIN = Check(
    code=FindingCode.FILE_SLICES_UNCERTAIN,
    severity=Severity.CRITICAL,
    blocks="Everything: readers would miss updates, and a clean would delete them.",
    remedy="Clean the table to one version of each file with the tool that wrote it; see docs/guides/adopt.md.",
    find=_slices,
)
UPGRADE_UNFINISHED = Check(
    code=FindingCode.UPGRADE_UNFINISHED,
    severity=Severity.CRITICAL,
    blocks="Everything: a writer would see a part of the commits, and roll back the rest.",
    remedy="Finish the change of the version with the tool that began it.",
    find=_moved,
)
TABLE_VERSION_BEHIND = Check(
    code=FindingCode.TABLE_VERSION_BEHIND,
    severity=Severity.INFO,
    blocks="Nothing: readers and writers of this version work.",
    remedy="Upgrade once all readers know the newer version: a HudiOperation with `upgrade`, or upgrade_table of Hudi.",
    find=_behind,
)

CHECKS = (TABLE_VERSION_UNSUPPORTED, FILE_SLICES_UNCERTAIN, UPGRADE_UNFINISHED, TABLE_VERSION_BEHIND)
