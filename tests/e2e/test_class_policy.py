"""Two tenants that share a store account: nothing that one of them declares reaches what belongs to the other.

The account may do everything, so the store is no safeguard here: those of the operator and of the drivers hold alone.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from tests.e2e.stage import Stage, Table, Tenant
from tests.spark_jobs.trials import ALL

from toolkit.cluster import CommandFailed

pytestmark = pytest.mark.e2e

TEN = range(10)
IN_CLUSTER = {
    "mode": "Cluster",
    "driver": {"cpu": "200m", "memory": "1536Mi"},
    "executor": {"instances": 1, "cpu": "200m", "memory": "1536Mi"},
}


@pytest.fixture(scope="module")
def victim(stage: Stage) -> Table:
    """A table with ten rows of a tenant whose class is for its namespace only."""
    tenant = stage.tenant("victim")
    table = tenant.table("accounts")
    table.deliver(TEN)
    table.wait_ready()
    stage.make_class("e2e-victims", allowedNamespaces={"names": [tenant.name]})
    return table


@pytest.fixture(scope="module")
def attacker(stage: Stage, victim: Table) -> Tenant:
    del victim
    tenant = stage.tenant("attacker")
    stage.make_service_accounts(tenant.name)
    return tenant


def belongings(table: Table) -> dict[str, bytes]:
    """Every file of a tenant, in its lake and its landing folder."""
    found = {}
    for bucket in ("lake", "landing"):
        for file in table.stage.store.files(f"{bucket}/{table.namespace}/"):
            with suppress(FileNotFoundError):  # the mark of an empty folder
                found[f"{bucket}/{file}"] = table.stage.store.get(f"{bucket}/{file}")
    return found


def planted(tenant: Tenant) -> list[str]:
    """The files of the partition that a tenant names, wherever they lie outside of its folders."""
    files = [file for bucket in ("lake", "landing") for file in tenant.stage.store.files(bucket)]
    return [file for file in files if "part=p1" in file and not file.startswith(f"{tenant.name}/")]


def test_a_folder_of_another_tenant_is_not_to_be_had_and_not_to_be_seen(attacker: Tenant, victim: Table) -> None:
    before = belongings(victim)
    others: dict[str, dict[str, Any]] = {
        "base": {"basePath": f"s3a://{victim.folder}"},
        "below": {"basePath": f"s3a://{victim.folder}/deeper"},
        "around": {"basePath": f"s3a://lake/{victim.namespace}"},
        "source": {"source": {"path": f"s3a://{victim.landing}"}},
    }
    for name, spec in others.items():
        stalled = attacker.table(name, **spec).wait_reason("PathNotAllowed", kind="Stalled")
        assert "class" in stalled["message"]

    for name in others:
        table = Table(attacker.stage, attacker.name, name)
        told = json.dumps({key: value for key, value in table.status().items() if key != "conditions"})
        assert not [instant for instant in victim.commits() if instant in told]
        assert table.jobs() == []
    assert belongings(victim) == before


def test_a_class_that_is_for_another_namespace_is_refused(attacker: Tenant) -> None:
    with pytest.raises(CommandFailed, match="e2e-victims"):
        attacker.table("borrowed", tableClassName="e2e-victims")


def test_a_partition_that_climbs_is_refused_when_it_is_applied(attacker: Tenant, victim: Table) -> None:
    climbing = {"strategy": "SelectedPartitions", "partitions": {"names": [f"../../{victim.namespace}/accounts"]}}
    with pytest.raises(CommandFailed, match="a partition must be a plain path inside the table"):
        attacker.table("climbing-plan", partitionBy=["part"], clustering={"mode": "Async", "plan": climbing})


def test_neither_sql_nor_its_rows_reach_another_tenant_from_a_driver_or_its_executors(
    attacker: Tenant, victim: Table
) -> None:
    before = belongings(victim)
    attacker.stage.make_class("e2e-once", retry={"maxAttempts": 1})
    script = "SELECT TRANSFORM(id) USING 'env' AS (value STRING) FROM source"
    statements = {
        "reading": f"SELECT id, value FROM csv.`s3a://{victim.landing}`",
        "script": f"WITH t AS ({script}) SELECT 1 AS id, value FROM t",
        "writing": f"INSERT OVERWRITE DIRECTORY 's3a://{victim.landing}' USING csv SELECT * FROM source",
    }

    def declare(name: str, sql: str, **spec: Any) -> Table:
        return attacker.table(name, tableClassName="e2e-once", ingestion={"transform": {"sql": sql}}, **spec)

    # All of them, and many more, are tried in tests/spark_jobs/transform/test_query_rules.py.
    tables = [declare(name, sql) for name, sql in list(statements.items())[: None if ALL else 1]]
    sql = f"SELECT *, '/../../../{victim.namespace}/accounts/part=p1' AS part FROM source"
    values = declare("values", sql, partitionBy=["part"], execution=IN_CLUSTER)
    for table in (*tables, values):
        table.deliver(TEN)

    assert_has_no_token(attacker.stage.eventually(lambda: executors(values), what="an executor runs"))
    for table in tables:
        table.wait_reason("TransformInvalid", kind="Stalled")
        assert table.commits() == []
    values.wait_reason("BadRecords", kind="Stalled")
    assert belongings(victim) == before
    assert planted(attacker) == []
    assert values.commits() == []


def executors(table: Table) -> list[dict[str, Any]]:
    """The executor pods of a table."""
    return [pod for pod in table.pods() if pod["metadata"]["labels"].get("spark-role") == "executor"]


def assert_has_no_token(pods: list[dict[str, Any]]) -> None:
    """The pods cannot speak to the API server, and hold nothing but their scratch and what Spark gives them."""
    for pod in pods:
        assert pod["spec"]["automountServiceAccountToken"] is False
        assert not [volume for volume in pod["spec"]["volumes"] if {"projected", "secret", "hostPath"} & volume.keys()]
        for container in pod["spec"]["containers"]:
            security = container["securityContext"]
            assert (security["readOnlyRootFilesystem"], security["allowPrivilegeEscalation"]) == (True, False)


def test_rights_of_pods_end_at_their_namespace(attacker: Tenant, victim: Table) -> None:
    def may(account: str, verb: str, what: str, namespace: str) -> bool:
        name = f"system:serviceaccount:{attacker.name}:{account}"
        try:
            attacker.stage.cluster.kubectl("auth", "can-i", verb, what, "-n", namespace, "--as", name)
        except CommandFailed:
            return False
        return True

    everything = [("get", "secrets"), ("create", "pods"), ("list", "pods"), ("create", "jobs"), ("patch", "huditables")]
    driver = {(verb, what) for verb, what in everything if may("hudi-driver", verb, what, attacker.name)}
    assert driver == {("create", "pods"), ("list", "pods")}
    for account in ("hudi-executor", "default"):
        assert not any(may(account, verb, what, attacker.name) for verb, what in everything)
    for account in ("hudi-driver", "hudi-executor", "default"):
        assert not any(may(account, verb, what, victim.namespace) for verb, what in everything)
