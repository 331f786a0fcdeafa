"""The client under test."""

from __future__ import annotations

import pytest

from hudi_operator.kube.client import KubernetesClient
from hudi_operator.kube.transport import Transport


@pytest.fixture
def kube(transport: Transport, namespace: str) -> KubernetesClient:
    """A client whose operator lives in the test's own namespace."""
    return KubernetesClient(transport, operator_namespace=namespace, instance="tests")
