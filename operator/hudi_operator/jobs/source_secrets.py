"""The Secrets of a source: the needed keys, and their mounts in a run's pods.

Each Secret is a read-only volume of its own, below one folder next to the request's, with only the needed keys. A
missing Secret would keep its pod from starting without a message in the pod's status, so the volumes are optional, and
one container variable refers to a non-secret key of the Secret: then the kubelet reports the missing Secret or key in
the pod's status.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hudi_operator.api.spec.kafka import KafkaSourceSpec
from hudi_operator.api.spec.source import Source

SECRETS_FOLDER = "/etc/hudi-secrets"

CREDENTIALS = ("username", "password")
AUTHORITY = ("ca.crt",)
CERTIFICATE = ("tls.crt", "tls.key")

KAFKA_CREDENTIALS = f"{SECRETS_FOLDER}/kafka-credentials"
KAFKA_CERTIFICATE = f"{SECRETS_FOLDER}/kafka-certificate"
KAFKA_AUTHORITY = f"{SECRETS_FOLDER}/kafka-ca"
REGISTRY_CREDENTIALS = f"{SECRETS_FOLDER}/registry-credentials"
REGISTRY_AUTHORITY = f"{SECRETS_FOLDER}/registry-ca"

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
    def is_for_registry(self) -> bool:
        """Whether the Secret is for the schema registry, not for the brokers."""
        return self.folder in {REGISTRY_CREDENTIALS, REGISTRY_AUTHORITY}

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


def secrets_of(source: Source | None) -> tuple[SourceSecret, ...]:
    """Return the Secrets of a source, in the order of its spec."""
    return () if source is None or source.kafka is None else tuple(_of_kafka(source.kafka))


def _of_kafka(kafka: KafkaSourceSpec) -> Iterator[SourceSecret]:
    named = [
        ("registry.credentialsSecretName", REGISTRY_CREDENTIALS, CREDENTIALS),
        ("registry.caSecretName", REGISTRY_AUTHORITY, AUTHORITY),
        ("security.credentialsSecretName", KAFKA_CREDENTIALS, CREDENTIALS),
        ("security.caSecretName", KAFKA_AUTHORITY, AUTHORITY),
        ("security.certificateSecretName", KAFKA_CERTIFICATE, CERTIFICATE),
    ]
    for (field, folder, keys), name in zip(named, _names(kafka), strict=True):
        if name is not None:
            yield SourceSecret(field=field, name=name, folder=folder, keys=keys)


def _names(kafka: KafkaSourceSpec) -> tuple[str | None, ...]:
    registry, security = kafka.registry, kafka.security
    return (
        registry.credentials_secret_name if registry else None,
        registry.ca_secret_name if registry else None,
        security.credentials_secret_name,
        security.ca_secret_name,
        security.certificate_secret_name,
    )
