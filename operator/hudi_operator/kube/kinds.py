"""Kinds of the Kubernetes API as values, and the key of an object."""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind as named by the API server; the core group is empty."""

    group: str
    version: str
    plural: str
    name: str
    namespaced: bool = True

    def __str__(self) -> str:
        return self.name

    @property
    def prefix(self) -> str:
        """Path of the group and version of the kind."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def address(self) -> tuple[str, str] | tuple[str, str, str]:
        """Group, version and plural; the core group is omitted."""
        return (self.group, self.version, self.plural) if self.group else (self.version, self.plural)


JOB = Kind(group="batch", version="v1", plural="jobs", name="Job")
POD = Kind(group="", version="v1", plural="pods", name="Pod")
EVENT = Kind(group="", version="v1", plural="events", name="Event")
NAMESPACE = Kind(group="", version="v1", plural="namespaces", name="Namespace", namespaced=False)
LEASE = Kind(group="coordination.k8s.io", version="v1", plural="leases", name="Lease")


class ObjectKey(NamedTuple):
    """Kind, namespace and name of an object. Another object may take the name: compare the uid before acting.

    The namespace of a cluster-wide object is empty.
    """

    kind: Kind
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name
