"""Late changes in log files of 0.14 and 0.15: a service keeps the rows that the tool reads, or is refused before it.

Each release reads its own tables. What Hudi 1.2.0 reads otherwise is what a compaction would make permanent.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.matrix.cases import extent
from tests.matrix.late import BY_EVENT_TIME, FILLS_DEFAULTS, FILLS_NULLS, FLINKS, HISTORIES, OVERWRITES, LateTable
from tests.spark_jobs.conftest import Lake

from hudi_jobs.contract import Outcome, Service, TaskResult
from toolkit.writers import Writer

pytestmark = [pytest.mark.spark, pytest.mark.matrix]

SAMPLE = (("0.15.0", OVERWRITES, "long"),)
FULL = tuple(
    (release, payload, kind)
    for release in ("0.14.0", "0.15.0")
    for payload, kinds in {
        OVERWRITES: ("long", "int", "string", "timestamp", "date", "double", "decimal(10,2)"),
        BY_EVENT_TIME: ("long", "timestamp"),
        FLINKS: ("long",),
        FILLS_DEFAULTS: ("long",),
        FILLS_NULLS: ("long",),
    }.items()
    for kind in kinds
)
RULED_BY_COMMITS = {OVERWRITES, FILLS_DEFAULTS}


@pytest.mark.parametrize(("release", "payload", "kind"), SAMPLE if extent() == "sample" else FULL)
def test_compaction_is_refused_with_the_count_of_rows_that_the_tool_reads_otherwise(
    release: str, payload: str, kind: str, writer_of: Callable[[str, str], Writer], lake: Lake
) -> None:
    table = late_table(release, payload, kind, writer_of, lake)
    table.make()
    expected, timeline = table.read(), files_of(table.path / ".hoodie")
    differing = {key for key in HISTORIES if expected.get(key) != read_here(lake).get(key)}
    assert differing

    for service in (Service.COMPACTION, Service.CLUSTERING):
        result = lake.serve(service)
        assert (result.outcome, counted_in(result)) == (Outcome.FAILED, len(differing)), (result, differing)
    assert files_of(table.path / ".hoodie") == timeline, "nothing was planned"
    assert table.read() == expected

    # What the message advises: the tool compacts, and the operator goes on.
    plan = table.writer.schedule(table.path, "compaction", {**table.options, **EVERY_COMMIT})
    assert plan is not None
    table.writer.service(table.path, "compact", plan, options=table.options)
    again = lake.serve(Service.COMPACTION)
    assert again.outcome is Outcome.NOTHING_TO_DO, again
    assert table.read() == expected == read_here(lake)


def test_compaction_of_changes_in_order_keeps_the_rows_that_the_tool_reads(
    writer_of: Callable[[str, str], Writer], lake: Lake
) -> None:
    table = late_table("0.15.0", OVERWRITES, "long", writer_of, lake)
    table.make({key: HISTORIES[key] for key in ("in-order", "late-over-base", "equal", "after-delete", "removed")})
    expected = table.read()
    result = lake.serve(Service.COMPACTION)
    assert result.outcome is Outcome.SUCCEEDED, result
    assert table.read() == expected == read_here(lake)


EVERY_COMMIT = {"hoodie.compact.inline.max.delta.commits": "1"}


def late_table(release: str, payload: str, kind: str, writer_of: Callable[[str, str], Writer], lake: Lake) -> LateTable:
    ordering = [] if payload in RULED_BY_COMMITS else ["ts"]
    lake.table = {"type": "MergeOnRead", "partitionBy": ["part"], "orderingFields": ordering}
    lake.options = EVERY_COMMIT
    return LateTable(writer_of(release, "UTC"), Path(lake.base_path), payload, kind)


def read_here(lake: Lake) -> dict[str, tuple[object, ...]]:
    return {str(row[0]): row[1:] for row in lake.rows("id", "word", "other")}


def counted_in(result: TaskResult) -> int:
    found = re.search(r"would change (\d+) rows?", result.message)
    return int(found[1]) if found else 0


def files_of(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}
