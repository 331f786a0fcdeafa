"""The score of a table, 0 to 100, and its parts: how much each finding takes. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hudi_operator.api.status.findings import FindingCode, Severity

FULL = 100
"""The score of a table without findings."""

POINTS: Mapping[Severity, int] = {Severity.CRITICAL: 40, Severity.WARNING: 10, Severity.INFO: 1}
"""The points that a finding of each severity takes."""


class Part(NamedTuple):
    """A finding and the points that it takes."""

    code: FindingCode
    points: int


class Score(NamedTuple):
    """The score of a table, with what each finding takes, the most first."""

    value: int
    parts: tuple[Part, ...] = ()

    @property
    def line(self) -> str:
        """The score in a line, such as `85: PendingInstantOverdue 10, CompactionBehind 5`."""
        taken = ", ".join(f"{one.code.value} {one.points}" for one in self.parts)
        return f"{self.value}: {taken}" if taken else str(self.value)


def score_of(findings: Iterable[tuple[FindingCode, Severity]]) -> Score:
    """Return the score of a table with these findings; it is never below 0."""
    parts = [Part(code, POINTS[severity]) for code, severity in findings]
    parts.sort(key=lambda one: -one.points)
    return Score(max(0, FULL - sum(one.points for one in parts)), tuple(parts))
