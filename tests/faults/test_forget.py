"""The steps of "Delete customer 4711 everywhere and prove it", taken from the page and followed with an operator."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.docs.pages import blocks, resources, section
from tests.faults.arena import API, Arena, arena
from tests.faults.driver import folder_of
from tests.faults.following import ask_first
from tests.faults.lifecycle import NAME, created, ingested
from tests.faults.operating import operate
from tests.faults.operation import working

from hudi_operator.api.status.operation import EraseReportStatus, OperationReportStatus

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

PAGE = "operations.md"
TEXT = section(PAGE, "erase")
KEY = "4711"
_AS_A_WORD = re.compile(rf"(?<![\w-]){KEY}(?![\w-])")
"""Times and uids may hold the same digits by chance."""

Document = dict[str, Any]


def report_of_the_page() -> Document:
    """The report that the page shows as the proof."""
    (shown,) = blocks(PAGE, "text", text=TEXT)
    return dict(yaml.safe_load(shown.text)["report"])


def test_the_proof_of_the_page_has_fields_that_a_report_has() -> None:
    shown = report_of_the_page()
    assert shown.keys() <= names(OperationReportStatus)
    assert shown["erased"].keys() <= names(EraseReportStatus)


def holds(document: Document | str) -> bool:
    """Whether a document holds the key."""
    text = document if isinstance(document, str) else json.dumps(document)
    return _AS_A_WORD.search(text) is not None


def names(model: Any) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


@pytest.mark.usefixtures("cluster")
async def test_a_person_who_follows_the_page_has_a_proof_and_no_key_left_in_the_cluster(tmp_path: Path) -> None:
    (asked,) = blocks(PAGE, "yaml", text=TEXT)
    (question,) = resources(asked)
    async with arena(tmp_path / "forget") as place:
        place.node.work = working(operate)
        await created(place)
        await ingested(place)
        audit = f"file://{place.folder}/audit"
        await place.allow(operations={"allowed": ["Erase"], "reportPath": audit})

        assert (question["spec"]["dryRun"], question["spec"]["erase"]["keys"]) == (True, [{"id": KEY}])
        would, done = await ask_first(place, question["spec"], name="request-17")
        assert {"rows", "holdingFiles"} <= would["erased"].keys(), "what would go"
        shown = report_of_the_page()
        assert shown.keys() <= done.keys()
        assert shown["erased"].keys() - {"filesRemoved", "bytesSearched", "bytesDecoded"} <= done["erased"].keys()
        assert done["verified"] is True

        operation = await place.transport.request("GET", f"{place.operations}/request-17")
        file, uid = done["erased"]["reportFile"], operation["metadata"]["uid"]
        assert file == f"{audit}/{place.namespace}/{NAME}/request-17-{uid}.json"
        assert file.rpartition("/")[2] == shown["erased"]["reportFile"].rpartition("/")[2].replace("UID", uid)
        assert json.loads(folder_of(file).read_text())["operation"] == f"{place.namespace}/request-17"
        assert holds(operation)
        assert not holds(operation["status"])
        assert not holds(folder_of(file).read_text())

        await forget(place)
        assert place.unexpected() == []


async def forget(place: Arena) -> None:
    """The last step: the resources go, and with the Jobs, which their time to live takes, the last copy of the key."""
    for one in await place.items(place.operations):
        await place.transport.request("DELETE", f"{place.operations}/{one['metadata']['name']}")

    async def gone() -> bool:
        return not await place.items(place.operations)

    await place.eventually(gone, what="the operations are gone")
    holders = [one["metadata"]["name"] for one in await place.jobs() if holds(one)]
    assert holders, "the page says that the Jobs hold it until they go"
    options = {"propagationPolicy": "Foreground"}
    for name in holders:
        await place.transport.request(
            "DELETE", f"/apis/batch/v1/namespaces/{place.namespace}/jobs/{name}", body=options
        )

    async def nowhere() -> bool:
        return not any(holds(one) for one in await everything(place))

    await place.eventually(nowhere, what="no object of the namespace holds the key")


async def everything(place: Arena) -> list[Document]:
    """All that the API server holds of the namespace that may say something of an erasure."""
    found: list[Document] = []
    for path in (
        *(f"{API}/namespaces/{place.namespace}/{plural}" for plural in ("huditables", "hudioperations")),
        *(f"/api/v1/namespaces/{place.namespace}/{plural}" for plural in ("pods", "events", "configmaps", "secrets")),
        f"/apis/batch/v1/namespaces/{place.namespace}/jobs",
        f"/apis/coordination.k8s.io/v1/namespaces/{place.namespace}/leases",
    ):
        by_the_server = {"managedFields": None, "resourceVersion": None}
        found += [{**one, "metadata": {**one["metadata"], **by_the_server}} for one in await place.items(path)]
    return found
