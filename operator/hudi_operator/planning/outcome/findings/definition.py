"""What every finding defines: its code, its severity, and how to find it. Every part is required."""

from collections.abc import Callable
from dataclasses import dataclass

from hudi_jobs.contract import Service
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.planning.model import Observation, Plan

EVERY_SERVICE = frozenset(Service)
"""What a finding blocks that keeps everything from starting."""

NO_SERVICE: frozenset[Service] = frozenset()
"""What a finding blocks that keeps nothing from starting."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The sentence of a finding, without ages, and the services that it holds up."""

    message: str
    blocks: frozenset[Service] = NO_SERVICE


@dataclass(frozen=True, kw_only=True)
class FindingDefinition:
    """One code: how urgent it is, what it holds up in words for the docs, and how to find it.

    `find` returns None where the table has no such finding. A finding that `needs_timeline` stays as it was while the
    timeline cannot be read.
    """

    code: FindingCode
    severity: Severity
    blocks: str
    needs_timeline: bool
    find: Callable[[Observation, Plan], Evidence | None]
