"""Kubeconfigs of people: the one of the tests, and that of a tenant with rights in one namespace."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import yaml

from hudi_operator.kube.transport import Transport


def current_config() -> dict[str, Any]:
    return dict(yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text()))


async def tenant_of(transport: Transport, namespace: str, folder: Path) -> str:
    """Return the kubeconfig of an account that may do everything in its namespace alone."""
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    await transport.request("POST", accounts, body={"metadata": {"name": "tenant"}})
    binding = {
        "metadata": {"name": "tenant"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "tenant", "namespace": namespace}],
    }
    bindings = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings"
    await transport.request("POST", bindings, body=binding)
    made = await transport.request("POST", f"{accounts}/tenant/token", body={"spec": {"expirationSeconds": 3600}})
    config = current_config()
    config["users"] = [{"name": "tenant", "user": {"token": made["status"]["token"]}}]
    config["contexts"] = [{"name": "tenant", "context": {"cluster": config["clusters"][0]["name"], "user": "tenant"}}]
    config["current-context"] = "tenant"
    file = folder / "tenant"
    file.write_text(json.dumps(config))
    return str(file)
