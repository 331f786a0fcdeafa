"""The steps of "Delete customer 4711 everywhere and prove it", from the page, with an operator, drivers and rows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession
from tests.docs.pages import blocks, resources, section
from tests.faults.arena import API, Arena, arena
from tests.faults.driver import folder_of
from tests.faults.following import ask_first
from tests.faults.rows import RowTable, driving

from hudi_operator.api.status.operation_status import EraseReportStatus, OperationReportStatus

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

PAGE = "guides/erase.md"
TEXT = section(PAGE, "erase")
KEY = "4711"
OTHERS = {"471": "Bo", "47110": "Cy", "4712": "Di"}
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
async def test_a_person_who_follows_the_page_has_a_proof_and_the_customer_is_nowhere(
    tmp_path: Path, spark: SparkSession
) -> None:
    (asked,) = blocks(PAGE, "yaml", text=TEXT)
    (question,) = resources(asked)
    spec, dry = question["spec"], question["metadata"]["name"]
    assert (spec["dryRun"], spec["erase"]) == (True, {"keys": [{"id": KEY}], "cascade": True})
    async with arena(tmp_path / "forget") as place:
        place.node.work = driving(spark)
        audit = f"file://{place.folder}/audit"
        sources = [f"file://{place.folder}/{folder}" for folder in ("landing", "lake")]
        await place.allow(allowedSourcePaths=sources, operations={"allowed": ["Erase"], "reportPath": audit})
        tables = await customers_and_their_copy(place, spark, spec["tableRef"]["name"])

        would, done = await ask_first(place, spec, name="request-17", dry=dry)
        assert (would["report"]["erased"]["rows"], would["report"]["erased"]["holdingFiles"]) == (1, 2)
        (further,) = done["cascade"]
        assert (further["table"], further["ready"]) == (tables[1].name, True)
        shown = report_of_the_page()
        for table, name in zip(tables, ("request-17", further["operation"]), strict=True):
            assert await table.rows() == sorted(OTHERS.items())
            assert table.files_with(KEY) == []
            operation = await place.transport.request("GET", f"{place.operations}/{name}")
            report, uid = operation["status"]["report"], operation["metadata"]["uid"]
            assert shown.keys() <= report.keys()
            assert shown["erased"].keys() <= report["erased"].keys()
            assert (report["verified"], report["erased"]["rows"]) == (True, 1)
            assert (report["rowsBefore"], report["rowsAfter"]) == (len(OTHERS) + 1, len(OTHERS))
            file = report["erased"]["reportFile"]
            assert file == f"{audit}/{place.namespace}/{table.name}/{name}-{uid}.json"
            proof = folder_of(file).read_text()
            assert json.loads(proof)["operation"] == f"{place.namespace}/{name}"
            # No policy of this API server vouches for the name, so it is not that of what was created for it.
            asker = {"name": spec["requestedBy"], "verified": False} if name == "request-17" else None
            assert json.loads(proof)["requestedBy"] == asker
            assert [holds(one) for one in (operation, operation["status"], proof)] == [True, False, False]

        await forget(place)
        assert place.unexpected() == []


async def customers_and_their_copy(place: Arena, spark: SparkSession, name: str) -> tuple[RowTable, RowTable]:
    """The table of the page with the customer in two versions of its file, and a table that reads it.

    Nothing delivers the customer again, as the page's first step asks for.
    """
    customers, copy = RowTable(place, spark, name), RowTable(place, spark, f"{name}-copy")
    first = customers.deliver("all.csv", {KEY: "Ada", **OTHERS})
    await customers.declare()
    customers.deliver("renamed.csv", {KEY: "Ada L."})
    await customers.ingest()
    await copy.declare(source={"hudi": {"path": f"file://{customers.folder}"}})
    for table in (customers, copy):
        assert await table.rows() == sorted({KEY: "Ada L.", **OTHERS}.items())
    for file in (first, first.with_name("renamed.csv")):
        file.unlink()
    assert (len(customers.files_with(KEY)), len(copy.files_with(KEY))) == (2, 1)
    return customers, copy


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
