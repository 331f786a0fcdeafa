"""What tells this operator from every other one that may work on the same tables."""

from hudi_operator.kube.api import KubernetesApi
from hudi_operator.kube.errors import ApiUnavailable


class OperatorIdentity:
    """The identity, read from the cluster once; all replicas and restarts of one operator have the same."""

    def __init__(self, kube: KubernetesApi, *, namespace: str, given: str = "") -> None:
        self._kube = kube
        self._namespace = namespace
        self._identity = given

    async def get(self) -> str:
        """Return the identity that was given, else the cluster's uid and the operator's namespace."""
        if not self._identity:
            cluster = await self._kube.cluster_uid()
            if cluster is None:
                raise ApiUnavailable("the cluster has no namespace kube-system: set HUDI_OPERATOR_IDENTITY")
            self._identity = f"{cluster}/{self._namespace}"
        return self._identity
