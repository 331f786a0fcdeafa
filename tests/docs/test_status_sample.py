"""The status that `docs/reference/status.md` shows is one that the product writes.

`python -m tests.docs.test_status_sample` writes it into the page after a change of the code.
"""

import re
from datetime import timedelta
from pathlib import Path

import jsonschema
import yaml
from tests.planning.world import (
    JOB,
    NOW,
    active,
    ago,
    at,
    done,
    ended,
    observe,
    snapshot,
    status,
    status_of,
    story,
    succeeded,
    table,
)

from hudi_jobs.contract import DriverUsage, RunUsage
from hudi_jobs.contract.statistics import SMALL_FILE_LIMIT, Figures, TableStatistics
from hudi_operator.api.crd.definitions import structural_schema
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.timeline import Timeline

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "status.md"
BLOCK = re.compile(
    r"(<!-- a status, written by the planner -->\n```yaml\n).*?(```\n<!-- end of the status -->)", re.DOTALL
)


def sample() -> str:
    """A table whose second ingestion has just ended, so that its compaction is due and starts."""
    timeline = story(done("deltacommit", 6), done("deltacommit", 1))
    ingested = succeeded(
        instant=ago(1),
        message="Read 20 rows of 1 file, 0 quarantined.",
        rows_read=20,
        files_read=1,
        bytes_read=149,
        complete_up_to=at(NOW - timedelta(seconds=100)),
        backlog_bytes=0,
    ).copy_with(usage=RunUsage(driver=DriverUsage(cpu_seconds=41.7), bytes_read=61440, bytes_written=438272))
    document = status_of(
        observe(
            table(
                type="MergeOnRead",
                ingestion={"freshness": "10m"},
                compaction={"trigger": {"deltaCommits": 2}},
                status=status(active_jobs=(active(started_at=at(NOW - timedelta(minutes=2))),), observed_generation=1),
                created=NOW - timedelta(minutes=7),
            ),
            snapshot=snapshot((JOB, ago(1)), timeline=timeline, statistics=measured(timeline)),
            jobs=(
                ended(
                    outcome=ingested,
                    created_at=NOW - timedelta(minutes=2),
                    started_at=NOW - timedelta(seconds=95),
                    ended_at=NOW - timedelta(seconds=3),
                ),
            ),
        )
    ).to_document()
    return yaml.safe_dump({"status": document}, sort_keys=False, width=1000)


def measured(timeline: Timeline) -> TableStatistics:
    """What the second ingestion has measured at its end."""
    return TableStatistics(
        as_of=max(one.completion for one in timeline.completed),
        table_version=timeline.properties.version,
        small_file_limit=SMALL_FILE_LIMIT,
        written_at=NOW - timedelta(minutes=1),
        seconds=0.3,
        figures=Figures(
            base_files=1,
            base_bytes=436_312,
            small_files=1,
            log_files=1,
            log_bytes=21_323,
            partitions=1,
            largest_partition=457_635,
            rows=20,
            oldest=ago(6),
            newest=ago(1),
        ),
    )


def with_sample(page: str) -> str:
    return BLOCK.sub(lambda match: f"{match[1]}{sample()}{match[2]}", page)


def test_the_page_shows_what_the_planner_writes() -> None:
    page = PAGE.read_text()
    assert BLOCK.search(page)
    assert with_sample(page) == page, "run: python -m tests.docs.test_status_sample"


def test_the_api_server_keeps_every_field_of_the_sample() -> None:
    written = yaml.safe_load(sample())["status"]
    jsonschema.validate(written, structural_schema(HudiTableStatus))
    assert HudiTableStatus.model_validate(written).to_document() == written


if __name__ == "__main__":
    PAGE.write_text(with_sample(PAGE.read_text()))
