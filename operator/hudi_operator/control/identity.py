"""Identifies this operator among others that may work on the same tables."""

from hudi_operator.kube.api import KubernetesApi
from hudi_operator.kube.errors import ApiUnavailable


class OperatorIdentity:
    """The operator's identity, read from the cluster once; the same for all replicas and restarts."""

    def __init__(self, kube: KubernetesApi, *, namespace: str, given: str = "") -> None:
        self._kube = kube
        self._namespace = namespace
        self._identity = given

    async def get(self) -> str:
        """Return the configured identity, else the cluster's uid and the operator's namespace."""
        if not self._identity:
            cluster = await self._kube.cluster_uid()
            if cluster is None:
                raise ApiUnavailable("the cluster has no namespace kube-system: set HUDI_OPERATOR_IDENTITY")
            self._identity = f"{cluster}/{self._namespace}"
        return self._identity
