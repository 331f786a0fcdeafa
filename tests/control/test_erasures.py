"""Erasures against a cluster in memory: who is told the keys, and who is not."""

from __future__ import annotations

import json
from copy import deepcopy

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
    upstream = {"source": {"hudi": {"path": one.cluster.tables["flights"]["spec"]["basePath"].replace("s3a:", "s3:")}}}
    reader = deepcopy(one.cluster.tables["flights"])
    reader["metadata"] |= {"name": "totals", "uid": "uid-of-totals"}
    reader["spec"] |= {"basePath": "s3a://lake/totals", "ingestion": upstream}
    one.cluster.tables["totals"] = reader
    await one.begin(**KEYS)
    (asked,) = one.requests
    assert asked["erase"] == {
        "keys": [{"id": KEY}],
        "releaseSavepoints": True,
        "quarantines": [],
        "readBy": ["totals"],
        "reportFile": "s3a://lake/reports/team-a/flights/back-uid-of-back.json",
    }
    assert KEY not in json.dumps(one.cluster.tables["flights"]["status"])
    assert KEY not in json.dumps(one.status)


async def test_one_that_was_begun_and_whose_resource_is_gone_is_not_run_again() -> None:
    one = process()
    await one.begin(**KEYS)
    del one.operations["back"]
    await one.end_job(Outcome.FAILED, reason="HudiError", message="Half.", operation={"phase": "Running"})
    await one.look()
    assert len(one.requests) == 1
    status = one.cluster.tables["flights"]["status"]
    assert not [entry for entry in status.get("operations", ()) if entry["state"] not in {"Failed", "Succeeded"}]
    assert "Maintenance" not in [condition["type"] for condition in status["conditions"]]
