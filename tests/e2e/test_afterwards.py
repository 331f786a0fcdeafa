"""What the operator itself looks like after all that the other files did to it."""

from __future__ import annotations

import json
import re

import pytest
from tests.e2e.stage import Stage

pytestmark = pytest.mark.e2e

EXPECTED = re.compile(
    r"is being terminated"  # an Event about a table whose namespace goes away
    r"|cut off at shutdown"
    r"|storage is \(re\)initializing"  # the API server's word to a watch while a CRD of the operator is replaced
)
"""Complaints that the tests themselves cause."""


def test_the_log_holds_no_unexpected_error(stage: Stage) -> None:
    lines = [line for log in (*stage.past_logs, stage.operator_log()) for line in log.splitlines()]

    assert lines
    assert [line for line in lines if is_error(line) and not EXPECTED.search(line)] == []


def is_error(line: str) -> bool:
    """Whether a line tells of an error, or is no line of the log at all, as those of a traceback."""
    try:
        entry = json.loads(line)
    except ValueError:
        return True
    return entry.get("level") in {"error", "critical"} or "exception" in entry or "Traceback" in line


def test_the_operator_has_not_crashed(stage: Stage) -> None:
    pods = stage.operator_pods()

    assert pods
    assert {one["restartCount"] for pod in pods for one in pod["status"]["containerStatuses"]} == {0}
