"""Tables with a short schedule: Jobs start for new input, and for nothing else."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass

import pytest
from tests.e2e.operation import Operation
from tests.e2e.stage import Document, Stage, Table, Tenant

pytestmark = pytest.mark.e2e

CLASS = "e2e-idle"
AT_REST_SECONDS = 75.0
"""Longer than the time between two looks, and than some ticks."""


@dataclass
class Pair:
    """Two tables that share a folder, each with the files of its own pattern."""

    one: Table
    other: Table


@pytest.fixture(scope="module")
def tenant(stage: Stage) -> Tenant:
    stage.make_class(CLASS, operations={"allowed": ["Restore"]})
    return stage.tenant("idle")


@pytest.fixture(scope="module")
def pair(tenant: Tenant) -> Pair:
    """A table that reads one file a run, so that it has a backlog at first, and another with one file."""
    folder = Table(tenant.stage, tenant.name, "one")
    for number in range(3):
        folder.deliver(range(number * 10, number * 10 + 10), name=f"one-{number}.csv")
    folder.deliver(range(10), name="other-0.csv")

    def declared(name: str, **limits: int) -> Table:
        source = {"path": f"s3a://{folder.landing}", "pathGlob": f"{name}-*.csv", **limits}
        ingestion = {"operation": "Upsert", "schedule": {"every": "20s"}}
        return tenant.table(
            name, tableClassName=CLASS, source=source, ingestion=ingestion, cleaning={"mode": "Disabled"}
        )

    return Pair(declared("one", maxFilesPerRun=1), declared("other"))


def ingestions(table: Table) -> int:
    """The number of Jobs that read the source."""
    return sum(job["metadata"]["labels"]["hudi-operator.io/service"] == "Ingestion" for job in table.jobs())


def wait_rows(table: Table, ids: range) -> None:
    table.wait(lambda _: table.ids() == Counter(ids), what=f"the rows {ids}, each once")


def wait_rest(table: Table) -> int:
    """Wait until a look has found nothing new, and return the number of Jobs until then."""

    def rests(status: Document) -> bool:
        return not status.get("activeJobs") and table.ingestion().get("reason") == "NoNewInput"

    table.wait(rests, what="a look has found nothing new")
    return ingestions(table)


def require_rest(*tables: Table) -> None:
    """Fail if a table at rest starts a Job."""
    before = [wait_rest(table) for table in tables]
    time.sleep(AT_REST_SECONDS)
    assert [ingestions(table) for table in tables] == before


def test_a_backlog_is_read_to_its_end_and_no_job_starts_afterwards(pair: Pair) -> None:
    wait_rows(pair.one, range(30))
    wait_rows(pair.other, range(10))
    assert len(pair.one.commits()) == 3
    require_rest(pair.one, pair.other)


def test_a_new_file_starts_one_job_of_the_table_that_selects_it(pair: Pair) -> None:
    before, of_other = wait_rest(pair.one), wait_rest(pair.other)
    pair.one.deliver(range(30, 40), name="one-3.csv")
    wait_rows(pair.one, range(40))
    assert wait_rest(pair.one) == before + 1
    assert ingestions(pair.other) == of_other


def test_rows_that_a_restore_has_undone_are_read_again_without_a_new_file(pair: Pair) -> None:
    wait_rest(pair.one)
    operation = Operation(pair.one, "back")
    operation.apply(restore={"instant": pair.one.commits()[0]})
    operation.wait("Succeeded")
    wait_rows(pair.one, range(40))
    wait_rest(pair.one)


def test_a_rescan_reads_files_again_without_a_new_file(pair: Pair) -> None:
    before, commits = wait_rest(pair.other), len(pair.other.commits())
    Operation(pair.other, "again").apply(rescan={})
    pair.other.wait(lambda _: len(pair.other.commits()) > commits, what="the files are read again")
    assert wait_rest(pair.other) > before
    assert pair.other.ids() == Counter(range(10))


def test_files_that_expire_cost_one_job_at_most_and_no_row(pair: Pair) -> None:
    before, of_other = wait_rest(pair.one), wait_rest(pair.other)
    pair.one.stage.store.remove(f"{pair.one.landing}/one-0.csv")
    time.sleep(AT_REST_SECONDS)
    assert wait_rest(pair.one) <= before + 1
    assert pair.one.ids() == Counter(range(40))
    assert ingestions(pair.other) == of_other
    require_rest(pair.one, pair.other)
