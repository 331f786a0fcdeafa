"""A real Kafka broker."""

import os
import subprocess
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from toolkit.control_plane import free_ports
from toolkit.streams.downloads import class_path
from toolkit.streams.listeners import (
    MECHANISMS,
    Credentials,
    Door,
    Listener,
    broker_settings,
    make_credentials,
)
from toolkit.streams.security import User
from toolkit.streams.server import LOGGING, LOOPBACK, SMALL_JAVA, Server, connects
from toolkit.streams.topics import Topics

_NOTHING: Mapping[str, str] = MappingProxyType({})
_JAVA = (*SMALL_JAVA, "-Xmx256m", *LOGGING)
_USERS = (User("alice", "alice-secret"), User("bob", "bob-secret"))

_ALWAYS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    # Tests wait for these, and a heap of 256 MB has no room for the cleaner's usual 128 MB.
    "log.cleaner.dedupe.buffer.size": "4194304",
    "log.cleaner.backoff.ms": "500",
    "log.retention.check.interval.ms": "1000",
    "log.segment.delete.delay.ms": "1000",
    "controlled.shutdown.enable": "false",
    # After a kill, a broker registers again only when its former registration has expired.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
}


class KafkaBroker(Topics, Server):
    """A broker in one JVM, always with plain text at loopback, and with the requested listeners.

    With `reachable_at`, such as the local cluster's NODE_ADDRESS, it listens there as well, at ports of its own: that
    is where pods find it. Its certificate is for the addresses of `certified`, else for all that it listens at.
    `settings` are further ones of the broker.
    """

    name = "kafka"

    def __init__(
        self,
        folder: Path | None = None,
        *,
        listeners: Iterable[Listener] = (),
        reachable_at: str | None = None,
        certified: Sequence[str] | None = None,
        users: Sequence[User] = _USERS,
        settings: Mapping[str, str] = _NOTHING,
    ) -> None:
        super().__init__(folder)
        wanted = [Listener.PLAINTEXT, *sorted({*listeners} - {Listener.PLAINTEXT})]
        hosts = [LOOPBACK, *([reachable_at] if reachable_at else [])]
        places = [(listener, number, host) for listener in wanted for number, host in enumerate(hosts)]
        *ports, self._controller = free_ports(len(places) + 1)
        self._doors = [Door(*place, port) for place, port in zip(places, ports, strict=True)]
        self._settings = dict(settings)
        self._certified = hosts if certified is None else certified
        self._users = tuple(users)
        self._credentials: Credentials | None = None

    @property
    def bootstrap(self) -> str:
        """The address for clients on this machine without credentials."""
        return self.address()

    def address(self, listener: Listener = Listener.PLAINTEXT, *, pods: bool = False) -> str:
        """Return a listener's address, for programs of this machine or for pods."""
        return next(door.address for door in self._doors if door.listener is listener and door.number == int(pods))

    @property
    def credentials(self) -> Credentials:
        """The credentials of clients, available after the first start."""
        assert self._credentials is not None, "the broker has not been started"
        return self._credentials

    def prepare(self) -> None:
        """Create its certificates, and write its settings and users into an empty log."""
        self._credentials, server = make_credentials(self.folder / "security", self._users, self._certified)
        settings = {
            **_ALWAYS,
            **self._addresses(),
            **broker_settings(self._doors, self._users, server, self._credentials.authority),
            **self._settings,
        }
        self._file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        if not (self.folder / "data").exists():
            identifier = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
            accounts = (
                f"--add-scram={mechanism}=[name={user.name},password={user.password}]"
                for user in self._users
                for mechanism in MECHANISMS
                if mechanism != "PLAIN"
            )
            tool = (
                "kafka.tools.StorageTool",
                "format",
                f"--cluster-id={identifier}",
                f"--config={self._file}",
                *accounts,
            )
            with self.log.open("ab") as log:
                subprocess.run((*_JAVA, *tool), env=os.environ | self.environment(), check=True, stdout=log, stderr=log)

    def command(self) -> Sequence[str]:
        """Return the broker's command."""
        return (*_JAVA, "kafka.Kafka", str(self._file))

    def environment(self) -> dict[str, str]:
        """Return the environment with the class path."""
        return {"CLASSPATH": class_path("kafka")}

    def answers(self) -> bool:
        """Tell whether the broker accepts connections, which it does once it knows its topics."""
        return all(connects(door.port, door.host) for door in self._doors)

    @property
    def _file(self) -> Path:
        return self.folder / "server.properties"

    def _addresses(self) -> dict[str, str]:
        doors = {door.name: door for door in self._doors}
        controller = f"{LOOPBACK}:{self._controller}"
        protocols = {"CONTROLLER": "PLAINTEXT"} | {name: door.listener.protocol for name, door in doors.items()}
        advertised = [f"{name}://{door.address}" for name, door in doors.items()]
        return {
            "log.dirs": str(self.folder / "data"),
            "controller.quorum.voters": f"1@{controller}",
            "listeners": ",".join([f"CONTROLLER://{controller}", *advertised]),
            "advertised.listeners": ",".join(advertised),
            "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
            "inter.broker.listener.name": self._doors[0].name,
        }
