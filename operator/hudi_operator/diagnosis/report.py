"""The report on a table: its findings, the worst first, and its score. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from hudi_jobs.contract.wording import shortened
from hudi_operator.api.status.findings import WORST_FIRST, Severity
from hudi_operator.diagnosis.check import Check, Evidence
from hudi_operator.diagnosis.check_registry import CHECKS
from hudi_operator.diagnosis.examine import Examination
from hudi_operator.diagnosis.score import Score, score_of

_SHOWN = 300


@dataclass(frozen=True, kw_only=True)
class Said:
    """A finding of a report: the check that found it, and its evidence."""

    check: Check
    evidence: Evidence


@dataclass(frozen=True, kw_only=True)
class TableReport:
    """The report on a table.

    A table that cannot be read has a `problem`, and neither findings nor a score. `left_out` names what was not read,
    so that some checks could not speak.
    """

    path: str
    name: str = ""
    kind: str = ""
    version: int | None = None
    findings: tuple[Said, ...] = ()
    score: Score | None = None
    requests: int = 0
    left_out: tuple[str, ...] = ()
    problem: str = ""

    @property
    def has_details(self) -> bool:
        """Whether the report says more of the table than its score."""
        return bool(self.findings or self.problem or self.left_out)

    def number(self, severity: Severity) -> int:
        """Return the number of findings of a severity."""
        return sum(1 for one in self.findings if one.check.severity is severity)

    def is_at_least(self, severity: Severity) -> bool:
        """Tell whether the table has a finding of a severity or a worse one, or cannot be read."""
        worse = WORST_FIRST[: WORST_FIRST.index(severity) + 1]
        return bool(self.problem) or any(self.number(one) for one in worse)


def report_of(path: str, examination: Examination) -> TableReport:
    """Return the report on an examined table."""
    table = examination.examined
    found = (Said(check=one, evidence=evidence) for one in CHECKS if (evidence := one.find(table)) is not None)
    findings = tuple(sorted(found, key=lambda one: WORST_FIRST.index(one.check.severity)))
    properties = table.timeline.properties
    return TableReport(
        path=path,
        name=shortened(properties.name, _SHOWN),
        kind=properties.table_type.declared,
        version=properties.version,
        findings=findings,
        score=score_of((one.check.code, one.check.severity) for one in findings),
        requests=examination.requests,
        left_out=examination.left_out,
    )


def reported(path: str, read: Callable[[], Examination]) -> TableReport:
    """Return the report on a table; an error makes it unreadable and spares the others."""
    try:
        return report_of(path, read())
    except Exception as error:  # noqa: BLE001 - the files of a table may be anything
        return TableReport(path=path, problem=shortened(str(error) or type(error).__name__, _SHOWN))


@dataclass(frozen=True, kw_only=True)
class LakeReport:
    """The report on all tables below some prefixes, the worst first, and sentences on what was not searched."""

    at: datetime
    tables: tuple[TableReport, ...]
    problems: tuple[str, ...] = ()


def lake_report(tables: Iterable[TableReport], *, at: datetime, problems: Iterable[str] = ()) -> LakeReport:
    """Return the report on a lake; an unreadable table comes first."""
    ordered = sorted(tables, key=lambda one: (-1 if one.score is None else one.score.value, one.path))
    return LakeReport(at=at, tables=tuple(ordered), problems=tuple(problems))
