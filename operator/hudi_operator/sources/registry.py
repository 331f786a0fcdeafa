"""The kinds of source, one line each, and what only some of them answer."""

from typing import Any

from hudi_jobs.contract import InvalidRescan, parse_rescan
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.api.status.table_parts import RescanState
from hudi_operator.sources.definition import DeclaredSource
from hudi_operator.sources.kinds.files import Files
from hudi_operator.sources.kinds.hudi import Hudi
from hudi_operator.sources.kinds.kafka import Kafka

KINDS: tuple[type[DeclaredSource[Any]], ...] = (
    Files,
    Kafka,
    Hudi,
)

_BY_NAME = {kind.name: kind for kind in KINDS}

UPSTREAM_FIELDS = tuple((kind.name, kind.upstream_field) for kind in KINDS if kind.upstream_field is not None)
"""Where a resource names a Hudi table that it reads, below `spec.ingestion.source`."""


def declared_source(spec: HudiTableSpec) -> DeclaredSource[Any] | None:
    """Return the source that a spec declares, or None without ingestion."""
    if spec.ingestion is None:
        return None
    name, declared = spec.ingestion.source.declared
    return _BY_NAME[name](declared)


def upstream_of(spec: HudiTableSpec) -> str | None:
    """Return the base path of the Hudi table that a spec reads, or None."""
    source = declared_source(spec)
    return source.upstream if source is not None else None


def skipped_code(spec: HudiTableSpec) -> FindingCode | None:
    """Return the code for input that runs of a spec skip, or None if they skip none."""
    source = declared_source(spec)
    return source.skipped.code if source is not None and source.skipped is not None else None


def rescan_refusal(spec: HudiTableSpec, value: str) -> str | None:
    """Return the sentence that says why a request to read input once more is not served, or None."""
    try:
        request = parse_rescan(value)
    except InvalidRescan as error:
        return f"{error}."
    source = declared_source(spec)
    if source is None:
        return None
    return source.rescan_refused or (None if request.is_everything else source.pattern_refused)


def open_rescan(table: HudiTable) -> str | None:
    """Return the oldest request to read input once more that no run has served, if it can be served now."""
    value, last = table.first_rescan, table.status.rescan
    served = last is not None and last.state is RescanState.SERVED and last.value == value
    return None if value is None or served or rescan_refusal(table.spec, value) is not None else value
