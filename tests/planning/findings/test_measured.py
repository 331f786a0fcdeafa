"""Findings that need the cluster: figures of the last driver, attempts that are used up, and freshness."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.world import (
    NOW,
    after_failures,
    at,
    done,
    finding,
    memory,
    minutes,
    observe,
    run,
    snapshot,
    status,
    status_of,
    story,
    table,
)

from hudi_jobs.contract.statistics import Figures, TableStatistics
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.api.status.table_parts import FreshnessStatus
from hudi_operator.diagnosis.score import score_of
from hudi_operator.planning.model.times import source_of

GIB = 2**30
FIGURES: dict[str, int] = {
    "base_files": 2_000,
    "base_bytes": 100 * GIB,
    "small_files": 10,
    "log_files": 10,
    "log_bytes": GIB,
    "partitions": 100,
    "largest_partition": 2 * GIB,
}


def measured(**changes: int) -> list[tuple[str, str]]:
    """The codes and severities of a table with these figures."""
    statistics = TableStatistics(
        as_of="20260310115900000",
        table_version=9,
        small_file_limit=104_857_600,
        written_at=NOW,
        seconds=1,
        figures=Figures(**{**FIGURES, **changes}),
    )
    seen = snapshot(timeline=story(done("deltacommit", 30)), statistics=statistics)
    after = status_of(observe(table(type="MergeOnRead", ingestion=None), snapshot=seen))
    return [(one.code.value, one.severity.value) for one in after.findings]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"small_files": 1_000}, []),
        ({"small_files": 1_001}, [("SmallFiles", "Info")]),
        ({"small_files": 1_001, "base_files": 2_002}, []),
        ({"log_bytes": 200 * GIB}, []),
        ({"log_bytes": 201 * GIB}, [("LogRatioHigh", "Warning")]),
        ({"log_bytes": 9 * GIB, "base_bytes": GIB}, []),
        ({"largest_partition": 21 * GIB}, [("PartitionsSkewed", "Info")]),
        ({"largest_partition": 20 * GIB}, []),
        ({"largest_partition": 21 * GIB, "partitions": 9}, []),
    ],
)
def test_figures_beyond_a_limit_are_a_finding(changes: dict[str, int], expected: list[tuple[str, str]]) -> None:
    assert measured(**changes) == expected


def test_table_service_without_attempts_left_is_a_finding_and_an_ingestion_is_not() -> None:
    compacting: dict[str, Any] = {"type": "MergeOnRead", "ingestion": None}
    seen = snapshot(timeline=story(*(done("deltacommit", 30 - one) for one in range(6))))
    spent = after_failures(50, service="Compaction", finished_at=at(NOW - minutes(1)))
    after = status_of(observe(table(**compacting, status=status(compaction=spent)), snapshot=seen))
    exhausted = finding(after, FindingCode.RETRIES_EXHAUSTED)
    assert exhausted is not None
    assert exhausted.blocks == ("Compaction",)
    assert exhausted.message.startswith("Compaction: ")
    assert "Failed 50 times in a row, the limit of the class" in exhausted.message
    ingesting = status_of(observe(table(status=status(ingestion=after_failures(50))), snapshot=seen))
    assert ingesting.services.ingestion.reason == "RetriesExhausted"
    assert finding(ingesting, FindingCode.RETRIES_EXHAUSTED) is None


def test_missed_freshness_is_a_remark_that_leaves_the_table_healthy() -> None:
    asked = table(ingestion={"freshness": "10m"})
    known = FreshnessStatus(complete_up_to=at(NOW - minutes(60)), source=source_of(asked.spec))
    behind = memory(last_run=run(started_at=at(NOW - minutes(1))), freshness=known)
    asked = table(ingestion={"freshness": "10m"}, status=status(ingestion=behind))
    after = status_of(observe(asked, snapshot=snapshot(timeline=story(done("deltacommit", 30)))))
    missed = finding(after, FindingCode.FRESHNESS_MISSED)
    assert missed is not None
    assert missed.severity is Severity.INFO
    assert at(NOW - minutes(50)) in missed.message


def test_summary_shows_the_score_of_its_findings_and_none_without_any() -> None:
    assert status_of(observe(snapshot=snapshot(timeline=story(done("deltacommit", 1))))).summary is not None
    sound = status_of(observe(table(ingestion=None), snapshot=snapshot(timeline=story(done("deltacommit", 1)))))
    assert sound.summary is not None
    assert sound.summary.score is None
    overdue = story(done("deltacommit", 200), "20260310080000000.clean.requested")
    broken = status_of(observe(table(ingestion=None), snapshot=snapshot(timeline=overdue)))
    assert broken.summary is not None
    assert broken.summary.score == score_of((one.code, one.severity) for one in broken.findings).value == 90
