"""The Secrets of a source: the needed keys, and their mounts in a run's pods.

Each Secret is a read-only volume of its own, below a folder next to the request's, with only the needed keys. A missing
Secret would keep its pod from starting without a message in the pod's status. So the volumes are optional, and a
container variable refers to a non-secret key of the Secret: then the kubelet reports the missing Secret or key in the
pod's status.
"""

from dataclasses import dataclass
from typing import Any

SECRETS_FOLDER = "/etc/hudi-secrets"

CREDENTIALS = ("username", "password")
AUTHORITY = ("ca.crt",)
CERTIFICATE = ("tls.crt", "tls.key")

_READABLE_BY_THE_GROUP = 0o440


@dataclass(frozen=True, kw_only=True)
class SourceSecret:
    """A Secret in the table's namespace, and its keys for the source; the first key is not secret."""

    field: str
    """The field of the spec with the Secret's name."""

    name: str
    folder: str
    keys: tuple[str, ...]

    @property
    def volume(self) -> dict[str, Any]:
        """The pod's volume."""
        return {
            "name": self._volume_name,
            "secret": {
                "secretName": self.name,
                "defaultMode": _READABLE_BY_THE_GROUP,
                "optional": True,
                "items": [{"key": key, "path": key} for key in self.keys],
            },
        }

    @property
    def mount(self) -> dict[str, Any]:
        """The container's mount."""
        return {"name": self._volume_name, "mountPath": self.folder, "readOnly": True}

    @property
    def presence(self) -> dict[str, Any]:
        """The variable that blocks a container's start while the Secret or its first key is missing."""
        return {
            "name": f"HUDI_SECRET_{self._volume_name.replace('-', '_').upper()}",
            "valueFrom": {"secretKeyRef": {"name": self.name, "key": self.keys[0]}},
        }

    @property
    def _volume_name(self) -> str:
        return self.folder.rpartition("/")[2]
