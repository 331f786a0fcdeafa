"""A quota refuses executors of a real Spark: its words reach the driver's pod by the rights of its account."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.spark_jobs.trials import IN_FULL

from hudi_jobs.contract.pods import EXECUTORS_REFUSED_ANNOTATION
from hudi_operator.kube.transport import Transport

pytestmark = [pytest.mark.cluster, IN_FULL]

TENANTS = Path(__file__).parents[2] / "charts" / "hudi-operator" / "templates" / "tenants.yaml"
PROGRAM = "tests.spark_jobs.refused_executors"
PATIENCE = 120.0


def verbs_of_drivers() -> list[str]:
    """Return what the chart lets the account of drivers do with pods."""
    text = TENANTS.read_text()
    role = text[text.index("\nkind: Role\n") : text.index("\nkind: RoleBinding\n", text.index("\nkind: Role\n"))]
    verbs = next(line for line in role.splitlines() if line.strip().startswith("verbs:"))
    return list(yaml.safe_load(verbs)["verbs"])


async def prepare(transport: Transport, namespace: str, account: Path) -> str:
    """Make a namespace for a driver, with its pod and account; return the address of the API server."""
    path = f"/api/v1/namespaces/{namespace}"
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    driver = {"metadata": {"name": "hudi-driver"}}
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": verbs_of_drivers()}]
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "hudi-driver"}
    subjects = [{"kind": "ServiceAccount", "name": "hudi-driver", "namespace": namespace}]
    await transport.request("POST", f"{path}/serviceaccounts", body=driver)
    await transport.request("POST", f"{rbac}/roles", body={**driver, "rules": rules})
    await transport.request("POST", f"{rbac}/rolebindings", body={**driver, "roleRef": reference, "subjects": subjects})
    spec = {
        "serviceAccountName": "hudi-driver",
        "schedulerName": "nobody",
        "containers": [{"name": "driver", "image": "registry.invalid/never:1"}],
    }
    await transport.request("POST", f"{path}/pods", body={"metadata": {"name": "driver"}, "spec": spec})
    quota = {"metadata": {"name": "one"}, "spec": {"hard": {"pods": "1"}}}
    await transport.request("POST", f"{path}/resourcequotas", body=quota)
    token = await transport.request("POST", f"{path}/serviceaccounts/hudi-driver/token", body={"spec": {}})
    configuration = transport._client.configuration
    write_account(account, namespace, str(token["status"]["token"]), str(configuration.ssl_ca_cert))
    return str(configuration.host)


def write_account(account: Path, namespace: str, token: str, certificates: str) -> None:
    """Write the files that a pod has of its service account."""
    account.mkdir()
    (account / "namespace").write_text(namespace)
    (account / "token").write_text(token)
    (account / "ca.crt").write_bytes(Path(certificates).read_bytes())


@contextmanager
def driver_at(server: str, namespace: str, account: Path) -> Iterator[None]:
    arguments = (sys.executable, "-m", PROGRAM, server, namespace, str(account))
    environment = {**os.environ, "POD_NAME": "driver"}
    log = account.parent / "driver.log"  # pytest keeps it after a failure
    with (
        log.open("wb") as stderr,
        subprocess.Popen(arguments, stdin=subprocess.PIPE, env=environment, stderr=stderr) as process,
    ):
        try:
            yield
        finally:
            process.kill()


async def annotation(transport: Transport, namespace: str, *, until: Any) -> str | None:
    """Return the annotation of the driver's pod once it is as expected, or as it is in the end."""
    deadline = time.monotonic() + PATIENCE
    while True:
        pod = await transport.request("GET", f"/api/v1/namespaces/{namespace}/pods/driver")
        found = (pod["metadata"].get("annotations") or {}).get(EXECUTORS_REFUSED_ANNOTATION)
        if until(found) or time.monotonic() > deadline:
            return None if found is None else str(found)
        await asyncio.sleep(0.5)


async def test_words_of_a_quota_reach_the_pod_of_the_driver_and_go_with_the_quota(
    transport: Transport, namespace: str, tmp_path: Path
) -> None:
    server = await prepare(transport, namespace, tmp_path / "account")
    with driver_at(server, namespace, tmp_path / "account"):
        words = await annotation(transport, namespace, until=lambda found: found is not None)
        assert words is not None
        assert words.startswith('pods "')
        assert "exceeded quota: one, requested: pods=1, used: pods=1, limited: pods=1" in words
        await transport.request("DELETE", f"/api/v1/namespaces/{namespace}/resourcequotas/one")
        assert await annotation(transport, namespace, until=lambda found: found is None) is None
