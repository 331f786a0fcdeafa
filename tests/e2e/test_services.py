"""Table services run by the operator beside ingestion: due by the timeline's counts, confirmed by it, and explained."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.e2e.read_table import read_with_spark
from tests.e2e.stage import METADATA_TABLE, Document, Stage, Tenant

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def tenant(stage: Stage) -> Tenant:
    return stage.tenant("services")


def test_a_table_is_compacted_clustered_and_cleaned_while_it_is_ingested(tenant: Tenant) -> None:
    table = tenant.table(
        "served",
        type="MergeOnRead",
        metadataTable=METADATA_TABLE,
        ingestion={"operation": "Upsert"},
        compaction={"trigger": {"deltaCommits": 2}},
        clustering={"mode": "Async", "trigger": {"commits": 2}, "execution": {"sortColumns": ["id"]}},
        cleaning={"retainCommits": 1, "trigger": {"commits": 5}},
    )
    table.deliver(range(40))
    table.wait_ready(runs=1)
    table.deliver(range(20), name="corrected.csv", value="corrected-")
    assert table.ingest_now()["outcome"] == "Succeeded"
    table.wait(lambda status: {"Compaction", "Clustering"} <= done_by(status), what="compacted and clustered")
    table.deliver(range(40, 50), name="later.csv")
    assert table.ingest_now()["outcome"] == "Succeeded"

    at_rest = table.wait(served, what="all services have run, and nothing is due")

    rows = [{"id": n, "value": f"{'corrected-' if n < 20 else 'v'}{n}"} for n in range(50)]
    assert read_with_spark([table], "id", "value") == [rows]
    assert at_rest["timeline"]["pendingCount"] == 0
    actions = Counter(instant["action"] for instant in at_rest["timeline"]["instants"])
    assert actions["deltacommit"] == 3
    assert min(actions["commit"], actions["replacecommit"], actions["clean"]) >= 1
    assert {one["type"]: one["status"] for one in at_rest["conditions"]} == {"Ready": "True", "Healthy": "True"}
    last = {name: service.get("lastRun", {}).get("outcome") for name, service in at_rest["services"].items()}
    assert {last[name] for name in ("ingestion", "compaction", "clustering", "cleaning")} <= {
        "Succeeded",
        "NothingToDo",
    }
    made = {(run["service"], run.get("instant")) for run in at_rest["history"]}
    newest = {instant["action"]: instant["time"] for instant in at_rest["timeline"]["instants"]}
    assert {(SERVICE_OF[action], time) for action, time in newest.items()} <= made


SERVICE_OF = {
    "deltacommit": "Ingestion",
    "commit": "Compaction",
    "replacecommit": "Clustering",
    "clean": "Cleaning",
}
"""Which service makes which action in the timeline of a MergeOnRead table."""


def served(status: Document) -> bool:
    """Whether each service has done something, and nothing runs or is due."""
    due = any(service.get("due") for service in status["services"].values())
    return set(SERVICE_OF.values()) <= done_by(status) and not due and not status.get("activeJobs")


def done_by(status: Document) -> set[str]:
    """The services that have done something."""
    return {run["service"] for run in status.get("history") or () if run["outcome"] == "Succeeded"}
