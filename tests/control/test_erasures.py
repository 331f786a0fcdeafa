"""Erasures against a cluster in memory: who is told the keys, and who is not."""

from __future__ import annotations

import json
from copy import deepcopy

import structlog
from tests.control.test_operations import Process

from hudi_jobs.contract import Outcome

KEY = "customer-of-ours"
KEYS = {"restore": None, "erase": {"keys": [{"id": KEY}], "releaseSavepoints": True}}


def process() -> Process:
    made = Process(allowed=["Erase"], reportPath="s3a://lake/reports")
    made.cluster.tables["flights"]["spec"]["recordKey"] = ["id"]
    return made


async def test_the_request_has_the_keys_and_no_status_has_them() -> None:
    one = process()
    reads(one, "totals", one.cluster.tables["flights"]["spec"]["basePath"].replace("s3a:", "s3:"))
    await one.begin(**KEYS)
    (asked,) = one.requests
    assert asked["erase"] == {
        "keys": [{"id": KEY}],
        "releaseSavepoints": True,
        "quarantines": [],
        "readBy": ["totals"],
        "readByCount": 1,
        "readElsewhere": 0,
        "reportFile": "s3a://lake/reports/team-a/flights/back-uid-of-back.json",
    }
    assert KEY not in json.dumps(one.cluster.tables["flights"]["status"])
    assert KEY not in json.dumps(one.status)


async def test_tables_behind_others_are_named_and_those_of_other_namespaces_only_counted() -> None:
    one = process()
    flights = one.cluster.tables["flights"]["spec"]["basePath"]
    reads(one, "totals", flights)
    reads(one, "a-report", "s3a://lake/totals")
    reads(one, "copy", flights, namespace="team-b")
    await one.claim("copy")
    reads(one, "of-the-copy", "s3a://lake/copy")
    one.cluster.tables["flights"]["spec"]["ingestion"] = {"source": {"hudi": {"path": "s3a://lake/a-report"}}}
    (allows,) = one.cluster.classes.values()
    allows["spec"]["allowedSourcePaths"] = ["s3a://lake/"]
    with structlog.testing.capture_logs() as logged:
        await one.begin(**KEYS)
    erase = one.requests[0]["erase"]
    assert erase["readBy"] == ["totals", "a-report", "of-the-copy"], "the nearest first, and each once"
    assert (erase["readByCount"], erase["readElsewhere"]) == (3, 1)
    assert "team-b" not in json.dumps([one.requests, one.status])
    assert [line["tables"] for line in logged if "tables" in line] == [("team-b/copy", "team-a/of-the-copy")]


def reads(one: Process, name: str, path: str, *, namespace: str = "team-a") -> None:
    """Have a table that reads a path."""
    reader = deepcopy(one.cluster.tables["flights"])
    reader["metadata"] |= {"name": name, "uid": f"uid-of-{name}", "namespace": namespace}
    reader["spec"] |= {"basePath": f"s3a://lake/{name}", "ingestion": {"source": {"hudi": {"path": path}}}}
    one.cluster.tables[name] = reader


async def test_begun_erasure_without_its_resource_is_not_run_again() -> None:
    one = process()
    await one.begin(**KEYS)
    del one.operations["back"]
    await one.end_job(Outcome.FAILED, reason="HudiError", message="Half.", operation={"phase": "Running"})
    await one.look()
    assert len(one.requests) == 1
    status = one.cluster.tables["flights"]["status"]
    assert not [entry for entry in status.get("operations", ()) if entry["state"] not in {"Failed", "Succeeded"}]
    assert "Maintenance" not in [condition["reason"] for condition in status["conditions"]]
