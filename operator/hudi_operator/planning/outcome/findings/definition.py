"""Defines a finding: its code, its severity, and how to find it. Every part is required."""

from collections.abc import Callable
from dataclasses import dataclass

from hudi_jobs.contract import Service
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.planning.outcome.plan import Plan

EVERY_SERVICE = frozenset(Service)
"""The services that a finding blocks if it keeps everything from starting."""

NO_SERVICE: frozenset[Service] = frozenset()
"""The services that a finding blocks if it keeps nothing from starting."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The sentence of a finding, without ages, and the services that it blocks."""

    message: str
    blocks: frozenset[Service] = NO_SERVICE


@dataclass(frozen=True, kw_only=True)
class FindingDefinition:
    """A code with its severity, its effect in words for the docs, and its check.

    `find` returns None if the table has no such finding. A finding that `needs_timeline` stays unchanged while the
    timeline cannot be read.
    """

    code: FindingCode
    severity: Severity
    blocks: str
    needs_timeline: bool
    find: Callable[[Plan], Evidence | None]
