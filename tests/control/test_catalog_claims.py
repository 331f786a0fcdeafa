"""Two tables that name one entry of a catalog: the first to claim the entry syncs it, the other is told and waits."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.control.test_reconciler import Cluster, Snapshots, class_document, living_table
from tests.planning.world import IMAGE
from tests.whole_status import whole

from hudi_jobs.contract import HiveCatalog, JobRequest, TableType
from hudi_operator.api.resources import HudiTable, parse_table
from hudi_operator.catalogs.kinds.hive import hive_places
from hudi_operator.control.claims import Claims
from hudi_operator.control.settings import Settings
from hudi_operator.control.tables import Reconciler
from hudi_operator.jobs.names import REQUEST_ANNOTATION, TABLE_UID_LABEL
from hudi_operator.kube.keys import table_key
from hudi_operator.runtime.controller import Trigger

ALLOWED = {"hive": {"metastoreUris": ["thrift://metastore:9083"], "allowedDatabases": ["lake"]}}


def entry(name: str) -> dict[str, Any]:
    return {"hive": {"database": "lake", "table": name}}


class Lake:
    """Two tables with ingestion, of one namespace or of two, and the operator that reconciles them."""

    def __init__(self, *, namespace: str = "team-b", **specs: dict[str, Any]) -> None:
        self.cluster: Cluster = living_table(catalog=entry("flights"))
        self.cluster.classes["standard"] = class_document(catalog=ALLOWED)
        other = copy.deepcopy(self.cluster.tables["flights"])
        other["metadata"] |= {"name": "other", "namespace": namespace, "uid": "uid-of-other"}
        other["spec"] |= {"basePath": f"s3a://lake/{namespace}/other", **specs.get("other", {})}
        self.cluster.tables["flights"]["spec"] |= specs.get("flights", {})
        self.cluster.tables["other"] = other
        self.restart()

    def restart(self) -> None:
        """Let another process take over."""
        self._reconciler = Reconciler(
            kube=self.cluster, snapshots=Snapshots(self.cluster), settings=Settings(spark_image=IMAGE)
        )

    async def reconcile(self, name: str) -> float | None:
        """Reconcile a table."""
        return await self._reconciler.reconcile(table_key(self.metadata(name)["namespace"], name), Trigger.EVENT)

    def metadata(self, name: str) -> dict[str, Any]:
        """The metadata of a table."""
        found: dict[str, Any] = self.cluster.tables[name]["metadata"]
        return found

    def taken(self, name: str) -> str | None:
        """What the status of a table says of an entry of somebody else."""
        findings = whole(self.cluster.tables[name]).get("findings", [])
        return next((one["message"] for one in findings if one["code"] == "CatalogEntryTaken"), None)

    def syncs(self, name: str) -> list[bool]:
        """Whether each Job of a table was told a catalog."""
        uid = self.metadata(name)["uid"]
        own = [job for job in self.cluster.jobs.values() if job["metadata"]["labels"][TABLE_UID_LABEL] == uid]
        asked = [job["spec"]["template"]["metadata"]["annotations"][REQUEST_ANNOTATION] for job in own]
        return [JobRequest.model_validate_json(each).tasks[0].catalog is not None for each in asked]

    def entries(self) -> dict[str, str]:
        """The claimed entries with the names of their tables."""
        found = [claim["metadata"]["annotations"] for claim in self.cluster.claims.values()]
        return {
            each["hudi-operator.io/catalog-entry"].rpartition("/")[2]: each["hudi-operator.io/table"]
            for each in found
            if "hudi-operator.io/catalog-entry" in each
        }


async def test_second_table_of_an_entry_ingests_without_a_sync_and_shows_the_reason() -> None:
    lake = Lake()

    await lake.reconcile("flights")
    pause = await lake.reconcile("other")

    assert (lake.taken("flights"), lake.syncs("flights")) == (None, [True])
    assert lake.syncs("other") == [False]
    told = lake.taken("other")
    assert told is not None
    assert "lake.flights is that of a HudiTable of another namespace" in told
    assert "team-a" not in told
    assert pause is not None
    assert pause <= 66, "the table looks again soon"


async def test_table_of_the_same_namespace_is_named() -> None:
    lake = Lake(namespace="team-a")
    await lake.reconcile("flights")
    await lake.reconcile("other")
    told = str(lake.taken("other"))
    assert "lake.flights is that of HudiTable team-a/flights" in told
    assert "or remove spec.catalog from team-a/flights and drop its entry in the catalog." in told


async def test_entry_goes_to_the_second_table_once_the_first_declares_none() -> None:
    lake = Lake()
    await lake.reconcile("flights")
    await lake.reconcile("other")
    lake.restart()
    await lake.reconcile("other")
    assert lake.entries() == {"flights": "team-a/flights"}, "a new process knows the claim of the old"

    del lake.cluster.tables["flights"]["spec"]["catalog"]
    await lake.reconcile("flights")
    await lake.reconcile("other")

    assert lake.entries() == {"flights": "team-b/other"}
    assert lake.taken("other") is None


async def test_entry_goes_to_the_second_table_once_the_first_is_deleted() -> None:
    lake = Lake()
    await lake.reconcile("flights")
    await lake.reconcile("other")
    first = parse_table(lake.cluster.tables["flights"])

    await Claims(lake.cluster).release(first.metadata)
    del lake.cluster.tables["flights"]
    await lake.reconcile("other")

    assert lake.entries() == {"flights": "team-b/other"}
    assert lake.taken("other") is None


@pytest.mark.parametrize(("first", "second"), [("flights", "other"), ("other", "flights")])
async def test_names_of_a_merge_on_read_table_collide_with_the_name_of_another(first: str, second: str) -> None:
    lake = Lake(flights={"type": "MergeOnRead"}, other={"catalog": entry("flights_ro")})

    await lake.reconcile(first)
    await lake.reconcile(second)

    assert lake.taken(first) is None
    assert "lake.flights_ro is that of" in str(lake.taken(second))
    held = {"flights": ["flights", "flights_ro", "flights_rt"], "other": ["flights_ro"]}
    assert sorted(lake.entries()) == held[first], "a table that gets only some of its names keeps none"


async def test_tables_with_names_of_their_own_both_sync() -> None:
    lake = Lake(other={"catalog": entry("flights_ro")})
    await lake.reconcile("flights")
    await lake.reconcile("other")
    assert (lake.syncs("flights"), lake.syncs("other")) == ([True], [True])
    assert sorted(lake.entries()) == ["flights", "flights_ro"]


async def test_entry_that_the_class_does_not_allow_is_not_claimed() -> None:
    lake = Lake()
    lake.cluster.classes["standard"] = class_document(catalog={"hive": {**ALLOWED["hive"], "allowedDatabases": []}})
    await lake.reconcile("flights")
    assert lake.entries() == {}


async def test_table_that_is_only_observed_claims_no_entry() -> None:
    lake = Lake(flights={"managementPolicy": "Observe"})
    await lake.reconcile("flights")
    await lake.reconcile("other")
    assert lake.entries() == {"flights": "team-b/other"}


async def test_poll_of_a_table_with_an_entry_makes_no_call_for_its_claims() -> None:
    lake = Lake()
    parsed = parse_table(lake.cluster.tables["flights"])
    assert isinstance(parsed, HudiTable)
    claims = Claims(lake.cluster)
    places = ("hive://metastore:9083/lake/flights",)
    await claims.ensure_entries(parsed, places, live=False)
    lake.cluster.calls.clear()

    assert await claims.ensure_entries(parsed, places, live=False) is None
    assert lake.cluster.calls == []


def test_metastore_has_one_spelling_in_claims() -> None:
    spellings = ("thrift://Metastore:9083", "thrift://metastore:09083")
    places = {
        hive_places(HiveCatalog(uris=(uri,), database="lake", table="a"), TableType.COPY_ON_WRITE) for uri in spellings
    }
    assert places == {("hive://metastore:9083/lake/a",)}
