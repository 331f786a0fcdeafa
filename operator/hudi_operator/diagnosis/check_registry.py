"""The registry of checks: each finds one code in the facts of a table."""

from collections.abc import Mapping

from hudi_operator.api.status.findings import FindingCode
from hudi_operator.diagnosis.check import Check
from hudi_operator.diagnosis.checks import damage, history, metadata, pending, services, table, undoing, writers

_FAMILIES = (table, damage, undoing, pending, history, services, metadata, writers)

_BY_CODE: Mapping[FindingCode, Check] = {one.code: one for family in _FAMILIES for one in family.CHECKS}

CHECKS: tuple[Check, ...] = tuple(_BY_CODE[code] for code in FindingCode if code in _BY_CODE)
"""All checks, in the order of their codes."""

NEED_THE_CLUSTER: tuple[FindingCode, ...] = tuple(code for code in FindingCode if code not in _BY_CODE)
"""The codes that a table alone does not show, in their order."""


def check_of(code: FindingCode) -> Check:
    """Return the check that finds a code."""
    return _BY_CODE[code]
