"""The rules of a class in the status of its tables."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.world import observe, status_of, table_class

from hudi_operator.planning.model import Blocker, BlockerReason


def rules(**changes: Any) -> str | None:
    summary = status_of(observe(table_class=table_class(**changes))).summary
    return summary.class_rules if summary is not None else None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "standard: no operations; 10 attempts"),
        ({"operations": {"allowed": ["Restore", "Erase"]}}, "standard: Restore, Erase; 10 attempts"),
        (
            {"operations": {"allowed": ["Restore"], "approval": "Manual"}, "retry": {"maxAttempts": 3}},
            "standard: Restore after approval; 3 attempts",
        ),
        (
            {"jobQuota": {"runningJobs": 4, "runningJobsPerNamespace": 2}},
            "standard: no operations; 10 attempts; 4 jobs at once; 2 in a namespace",
        ),
    ],
)
def test_status_says_what_the_class_means_for_its_tables(changes: dict[str, Any], expected: str) -> None:
    assert rules(**changes) == expected


def test_class_that_is_not_for_the_namespace_shows_nothing_of_its_rules() -> None:
    refused = Blocker(reason=BlockerReason.CLASS_NOT_ALLOWED, message="The class is for others.")
    for seen in (observe(blockers=(refused,)), observe(table_class=None, blockers=(refused,))):
        summary = status_of(seen).summary
        assert summary is not None
        assert summary.class_rules is None


def test_class_with_a_long_name_has_rules_of_bounded_length() -> None:
    named = table_class()
    long = named.copy_with(metadata=named.metadata.copy_with(name="n" * 253))
    summary = status_of(observe(table_class=long)).summary
    assert summary is not None
    assert summary.class_rules is not None
    assert len(summary.class_rules) == 256
