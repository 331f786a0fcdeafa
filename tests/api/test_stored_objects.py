"""What the API server makes of whole objects: the status that it stores, and the columns that kubectl prints."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from hudi_operator.api.crd.kinds import KINDS, ResourceKind
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.api.values.base import GROUP, VERSION

pytestmark = pytest.mark.cluster

MOMENT = "2026-11-21T05:00:00Z"
INSTANT = {"time": "20261121050000123", "action": "deltacommit", "state": "COMPLETED", "completedAt": "20261121050001"}
RUN = {
    "job": "flights-ingestion-0a1b2c",
    "service": "Ingestion",
    "outcome": "Succeeded",
    "message": "3 files, 900 rows",
    "instant": INSTANT["time"],
    "startedAt": MOMENT,
    "finishedAt": MOMENT,
    "filesRead": 3,
    "bytesRead": 12345678901,
    "rowsRead": 900,
    "rowsQuarantined": 0,
}
CONDITION = {
    "type": "Ready",
    "status": "True",
    "observedGeneration": 1,
    "lastTransitionTime": MOMENT,
    "reason": "Succeeded",
    "message": "",
}
JOB = {
    "name": "flights-ingestion-3d4e5f",
    "service": "Ingestion",
    "attempt": 1,
    "startedAt": MOMENT,
    "state": "Running",
}
FULL_STATUS: dict[str, Any] = {
    "observedGeneration": 1,
    "message": "17 commits, nothing pending",
    "namespaceSuspension": "",
    "conditions": [CONDITION],
    "summary": {"findings": "1 Critical, 2 Warning", "message": "17 commits, nothing pending", "newestCommit": MOMENT},
    "table": {"type": "CopyOnWrite", "version": 9, "zone": "UTC"},
    "timeline": {
        "pendingCount": 0,
        "instants": [INSTANT],
        "completedCommits": 17,
    },
    "services": {
        "ingestion": {
            "due": False,
            "reason": "NotDue",
            "lastRun": RUN,
            "nextRunAt": MOMENT,
            "failures": 0,
            "freshness": {"backlogRecords": 7},
        }
    },
    "activeJobs": [JOB],
    "history": [RUN],
}

OLD_TABLES = sorted((Path(__file__).parents[1] / "fixtures" / "stored").glob("huditable-*.json"))
"""Tables as earlier releases have left them in the API server."""

REFUSED_STATUS: dict[str, tuple[dict[str, Any], str]] = {
    "two conditions of one type": ({"conditions": [CONDITION, CONDITION]}, "Duplicate value"),
    "a reason that is a sentence": (
        {"conditions": [{**CONDITION, "reason": "it went well"}]},
        "conditions[0].reason in body should match",
    ),
    "a condition without a message": (
        {"conditions": [{key: value for key, value in CONDITION.items() if key != "message"}]},
        "status.conditions[0].message: Required value",
    ),
    "a time that is none": (
        {"conditions": [{**CONDITION, "lastTransitionTime": "yesterday"}]},
        "conditions[0].lastTransitionTime in body must be of type date-time",
    ),
    "one job twice": ({"jobs": [JOB, JOB]}, "Duplicate value"),
    "jobs without bound": ({"jobs": [{**JOB, "name": f"job-{number}"} for number in range(9)]}, "at most 8 items"),
    "a field that does not exist": ({"phase": "Running"}, 'unknown field "status.phase"'),
}


def test_a_table_that_was_never_looked_at_says_so(tables: Any) -> None:
    assert tables.create(tables.smallest())["status"] == {"observedGeneration": -1}


def test_declared_spec_is_stored_as_it_was_written(tables: Any) -> None:
    document = tables.smallest()
    assert tables.create(document)["spec"] == document["spec"]


def test_a_full_status_comes_back_as_it_was_written(tables: Any) -> None:
    status = HudiTableStatus.model_validate(FULL_STATUS)
    written = json.loads(json.dumps(status.to_document()))
    stored = tables.replace_status(tables.create(tables.smallest()), written)
    assert stored["status"] == written
    assert HudiTableStatus.model_validate(stored["status"]) == status


@pytest.mark.parametrize("path", OLD_TABLES, ids=lambda path: path.stem)
def test_the_status_of_an_earlier_release_is_still_valid(path: Path, tables: Any) -> None:
    status = json.loads(path.read_text())["status"]
    assert tables.replace_status(tables.create(tables.smallest()), status)["status"] == status


@pytest.mark.parametrize(("status", "message"), REFUSED_STATUS.values(), ids=REFUSED_STATUS)
def test_a_status_is_refused(status: dict[str, Any], message: str, tables: Any) -> None:
    assert message in tables.refusal_of_status(status)


def test_kubectl_prints_the_columns_of_a_table(tables: Any) -> None:
    created = tables.create(tables.smallest())
    written = HudiTableStatus.model_validate(FULL_STATUS).to_document()
    table = tables.replace_status(created, written, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    columns, (row,) = table["columnDefinitions"], table["rows"]
    assert [column["name"] for column in columns if column["priority"] == 0] == [
        "Name",
        "Type",
        "Ready",
        "Reason",
        "Last commit",
        "Behind",
        "Findings",
        "Age",
    ]
    cells = dict(zip((column["name"] for column in columns), row["cells"], strict=True))
    assert cells.pop("Age")
    assert cells.pop("Last commit")
    assert cells == {
        "Name": created["metadata"]["name"],
        "Type": "CopyOnWrite",
        "Ready": "True",
        "Reason": "Succeeded",
        "Behind": None,
        "Findings": "1 Critical, 2 Warning",
        "Version": 9,
        "Commits": 17,
        "Pending": None,
        "Class": None,
        "Base path": "s3a://lake/team-a/flights",
        "Message": "17 commits, nothing pending",
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_no_column_relies_on_a_position_in_a_list(kind: ResourceKind) -> None:
    assert [column.json_path for column in kind.columns if re.search(r"\[\d", column.json_path)] == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_the_group_serves_each_kind_by_its_short_name(api_server: client.ApiClient, kind: ResourceKind) -> None:
    resources = client.CustomObjectsApi(api_server).get_api_resources(GROUP, VERSION).resources
    (served,) = [item for item in resources if item.name == kind.plural]
    assert served.short_names == [kind.short_name]
    assert served.categories == ["hudi"]
    assert served.namespaced is kind.namespaced
