"""What is read again after a restore: the files whose rows were removed, or none."""

from typing import Any

import pytest
from tests.spark_jobs.operations.asked import ROLLBACK, commits, done, operate, refusal, report_of, rows
from tests.spark_jobs.services.test_services import add, csv, notes, succeeded
from tests.spark_jobs.trials import IN_FULL

from hudi_jobs.contract import CHECKPOINT_KEY, OPERATOR_KEY, RUN_KEY, TABLE_KEY, Outcome, TableOwner

pytestmark = [pytest.mark.spark]

OWNER = TableOwner(operator="cluster/hudi-operator", table_uid="uid-1", table="team/flights")


@IN_FULL
@pytest.mark.parametrize("kind", ["CopyOnWrite", "MergeOnRead"])
def test_without_reading_again_the_next_ingestion_reads_what_is_new_and_no_more(lake: Any, kind: str) -> None:
    lake.table, lake.owner = {"type": kind}, OWNER
    add(lake, 2)
    expected, target = rows(lake), commits(lake)[-1]
    add(lake, 2, first=2)

    report = done(operate(lake, target, reingest=False, run="back-1"))

    assert rows(lake) == expected
    commit = report.checkpoint_commit
    assert commit == commits(lake)[-1]
    said = notes(lake, str(commit))
    assert {said[RUN_KEY], said[TABLE_KEY], said[OPERATOR_KEY]} == {"back-1", "uid-1", "cluster/hudi-operator"}
    assert CHECKPOINT_KEY in said
    assert lake.ingest(operation="Insert").outcome is Outcome.NOTHING_TO_DO
    lake.put("new.csv", csv(900, 1000), at=100)
    result = succeeded(lake.ingest(operation="Insert"))
    assert result.files_read == 1
    assert len(rows(lake)) == 300


def test_a_rollback_of_the_latest_commit_has_its_file_read_again_once(lake: Any) -> None:
    add(lake, 3)
    *_, target, latest = commits(lake)
    before = rows(lake)

    elsewhere = lake.request(files={"path": lake.base_path}).tasks[0].ingestion
    assert f"Files were read from file:{lake.source}," in refusal(operate(lake, latest, ROLLBACK, ingestion=elsewhere))
    assert rows(lake) == before

    report = done(operate(lake, latest, ROLLBACK, ingestion=lake.request().tasks[0].ingestion))

    assert (report.target, report.removed) == (target, (latest,))
    assert len(rows(lake)) == 200
    assert succeeded(lake.ingest(operation="Insert")).files_read == 1
    assert rows(lake) == before
    again = operate(lake, latest, ROLLBACK)
    assert (again.outcome, report_of(again)) == (Outcome.SUCCEEDED, report), "it is done once"
    assert rows(lake) == before
