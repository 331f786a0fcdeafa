"""Protocols and mechanisms between clients and a broker, with the settings of both sides."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from toolkit.streams.security import Authority, Identity, User


class Listener(StrEnum):
    """A kind of listener; MTLS is SSL with a client certificate signed by the broker's authority."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    MTLS = "MTLS"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def protocol(self) -> str:
        """Kafka's security protocol."""
        return "SSL" if self is Listener.MTLS else self.value

    @property
    def signs_in(self) -> bool:
        """Whether clients have a name and a password."""
        return self.value.startswith("SASL")

    @property
    def encrypts(self) -> bool:
        """Whether clients need the authority's certificate."""
        return self.protocol.endswith("SSL")


MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

_PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


@dataclass(frozen=True)
class Door:
    """A listener at one address."""

    listener: Listener
    number: int
    host: str
    port: int

    @property
    def name(self) -> str:
        """The listener's name in the broker's settings."""
        return f"{self.listener}_{self.number}"

    @property
    def address(self) -> str:
        """Host and port."""
        return f"{self.host}:{self.port}"


def broker_settings(doors: Iterable[Door], users: Iterable[User], server: Identity, authority: Path) -> dict[str, str]:
    """Return the broker's settings of its listeners, without their addresses."""
    settings: dict[str, str] = {}
    accounts = " ".join(f'user_{user.name}="{user.password}"' for user in users)
    for door in doors:
        prefix = f"listener.name.{door.name.lower()}"
        if door.listener.signs_in:
            settings[f"{prefix}.sasl.enabled.mechanisms"] = ",".join(MECHANISMS)
            settings[f"{prefix}.plain.sasl.jaas.config"] = f"{_PLAIN_MODULE} required {accounts};"
            for mechanism in MECHANISMS[1:]:
                settings[f"{prefix}.{mechanism.lower()}.sasl.jaas.config"] = f"{_SCRAM_MODULE} required;"
        if door.listener.encrypts:
            settings |= {f"{prefix}.{key}": value for key, value in _stores(authority, server).items()}
            settings[f"{prefix}.ssl.client.auth"] = "required" if door.listener is Listener.MTLS else "none"
    return settings


@dataclass(frozen=True)
class Credentials:
    """The credentials for clients of a broker."""

    authority: Path
    users: tuple[User, ...]
    client: Identity
    stranger: Identity
    """Signed by another authority that the broker does not trust."""

    def user(self, name: str | None = None) -> User:
        """Return a user by name, by default the first."""
        return next(user for user in self.users if name in {None, user.name})

    def java(self, listener: Listener, *, mechanism: str = "SCRAM-SHA-512", user: User | None = None) -> dict[str, str]:
        """Return the settings of a Java client, which Spark passes with the prefix `kafka.`."""
        settings = {"security.protocol": listener.protocol}
        if listener.encrypts:
            settings |= _stores(self.authority, self.client if listener is Listener.MTLS else None)
        if listener.signs_in:
            account = user or self.user()
            module = _PLAIN_MODULE if mechanism == "PLAIN" else _SCRAM_MODULE
            settings["sasl.mechanism"] = mechanism
            settings["sasl.jaas.config"] = f'{module} required username="{account.name}" password="{account.password}";'
        return settings

    def python(
        self, listener: Listener, *, mechanism: str = "SCRAM-SHA-512", user: User | None = None
    ) -> dict[str, str]:
        """Return the settings of a librdkafka client."""
        settings = {"security.protocol": listener.protocol}
        if listener.encrypts:
            settings["ssl.ca.location"] = str(self.authority)
        if listener is Listener.MTLS:
            settings["ssl.certificate.location"] = str(self.client.certificate)
            settings["ssl.key.location"] = str(self.client.key)
        if listener.signs_in:
            account = user or self.user()
            settings["sasl.mechanism"] = mechanism
            settings["sasl.username"], settings["sasl.password"] = account.name, account.password
        return settings


def make_credentials(folder: Path, users: Iterable[User], addresses: Iterable[str]) -> tuple[Credentials, Identity]:
    """Create an authority with certificates of a client, a stranger and the broker; the broker's is returned second."""
    authority = Authority(folder)
    server = authority.identity("broker", "localhost", *addresses)
    stranger = Authority(folder, "other").identity("stranger")
    return Credentials(authority.certificate, tuple(users), authority.identity("client"), stranger), server


def _stores(authority: Path, identity: Identity | None) -> Mapping[str, str]:
    stores = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(authority)}
    if identity:
        stores |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(identity.both)}
    return stores
