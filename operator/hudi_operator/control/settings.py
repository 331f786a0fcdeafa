"""What the operator's process is told from outside: environment variables that start with `HUDI_OPERATOR_`."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

PREFIX = "HUDI_OPERATOR_"
_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_NAMESPACE_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_IDENTITY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,252}")
_LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


class InvalidSettings(ValueError):
    """A setting has a value that cannot be used; the message names it and says what it may be."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of one operator process; the environment variable of `spark_image` is `HUDI_OPERATOR_SPARK_IMAGE`."""

    spark_image: str
    """Image of the Spark jobs."""

    operator_namespace: str = "hudi-operator"
    """Namespace of the operator itself, where it keeps the claims on base paths."""

    identity: str = ""
    """What tells this operator from others on the same tables; by default the cluster and the operator's namespace."""

    instance: str = "hudi-operator"
    """Name of this process in events: the pod's name."""

    watch_namespaces: tuple[str, ...] = ()
    """Namespaces whose tables are served, comma-separated; none means the whole cluster."""

    workers: int = 32
    """How many tables are looked at at the same time."""

    resync_seconds: float = 300.0
    """How often all tables are listed, which finds what a watch has missed."""

    poll_seconds: float = 10.0
    """How often the timeline of a table that moves is looked at when nothing else asks for it."""

    max_poll_seconds: float = 300.0
    """How often the timeline of a table is looked at that has not moved for long."""

    reconcile_timeout_seconds: float = 300.0
    """How long one look at a table may take."""

    shutdown_seconds: float = 20.0
    """How long the looks under way may go on after a signal to stop."""

    health_port: int = 8080
    """Port of /healthz and /readyz; 0 takes any free one."""

    metrics_port: int = 9090
    """Port of /metrics; 0 takes any free one."""

    log_level: str = "INFO"
    """DEBUG, INFO, WARNING or ERROR."""

    log_format: str = "json"
    """json, or text for people at a terminal."""

    leader_election: bool = True
    """Whether several processes of the operator may run, of which one acts."""

    lease_name: str = "hudi-operator-leader"
    """Name of the Lease of the election, in the operator's namespace."""

    lease_seconds: float = 15.0
    """After how long without a renewal another process may take over."""

    renew_deadline_seconds: float = 10.0
    """After how long without a renewal the leader stops; less than the lease."""

    lease_retry_seconds: float = 2.0
    """How often the leader renews, and the others look; less than the deadline."""

    extra: Mapping[str, str] = field(default_factory=dict)
    """Variables with the prefix that this version does not know; they are reported, not refused."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """Read the settings; raise `InvalidSettings` for a value that cannot be used."""
        given = {name: value.strip() for name, value in environment.items() if name.startswith(PREFIX)}
        read = _Reader(given)
        image = read.text("SPARK_IMAGE", "")
        if not image:
            raise InvalidSettings(f"{PREFIX}SPARK_IMAGE is not set; give it the name of the image of the Spark jobs")
        settings = cls(
            spark_image=image,
            operator_namespace=read.text("OPERATOR_NAMESPACE", _own_namespace()),
            identity=read.identity("IDENTITY"),
            instance=read.text("INSTANCE", environment.get("HOSTNAME") or cls.instance),
            watch_namespaces=read.names("WATCH_NAMESPACES"),
            workers=read.whole_number("WORKERS", cls.workers, least=1, most=1000),
            resync_seconds=read.number("RESYNC_SECONDS", cls.resync_seconds, least=1),
            poll_seconds=read.number("POLL_SECONDS", cls.poll_seconds, least=1),
            max_poll_seconds=read.number("MAX_POLL_SECONDS", cls.max_poll_seconds, least=1),
            reconcile_timeout_seconds=read.number("RECONCILE_TIMEOUT_SECONDS", cls.reconcile_timeout_seconds, least=1),
            shutdown_seconds=read.number("SHUTDOWN_SECONDS", cls.shutdown_seconds, least=0),
            health_port=read.whole_number("HEALTH_PORT", cls.health_port, least=0, most=65535),
            metrics_port=read.whole_number("METRICS_PORT", cls.metrics_port, least=0, most=65535),
            log_level=read.choice("LOG_LEVEL", cls.log_level, _LOG_LEVELS),
            log_format=read.choice("LOG_FORMAT", cls.log_format, ("json", "text")),
            leader_election=read.choice("LEADER_ELECTION", "true", ("true", "false")) == "true",
            lease_name=read.text("LEASE_NAME", cls.lease_name),
            lease_seconds=read.number("LEASE_SECONDS", cls.lease_seconds, least=1),
            renew_deadline_seconds=read.number("RENEW_DEADLINE_SECONDS", cls.renew_deadline_seconds, least=0.5),
            lease_retry_seconds=read.number("LEASE_RETRY_SECONDS", cls.lease_retry_seconds, least=0.1),
            extra=read.unused(),
        )
        _check_order(settings)
        return settings


def _check_order(settings: Settings) -> None:
    if not settings.lease_retry_seconds < settings.renew_deadline_seconds < settings.lease_seconds:
        raise InvalidSettings(
            f"{PREFIX}LEASE_RETRY_SECONDS, {PREFIX}RENEW_DEADLINE_SECONDS and {PREFIX}LEASE_SECONDS are "
            f"{settings.lease_retry_seconds:g}, {settings.renew_deadline_seconds:g} and {settings.lease_seconds:g}; "
            "each has to be less than the next"
        )


class _Reader:
    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given
        self._used: set[str] = set()

    def text(self, name: str, default: str) -> str:
        self._used.add(PREFIX + name)
        return self._given.get(PREFIX + name) or default

    def names(self, name: str) -> tuple[str, ...]:
        names = tuple(part.strip() for part in self.text(name, "").split(",") if part.strip())
        for one in names:
            if not _NAMESPACE_NAME.fullmatch(one):
                raise InvalidSettings(f"{PREFIX}{name} holds {one!r}; give it names of namespaces, without patterns")
        return names

    def number(self, name: str, default: float, *, least: float) -> float:
        text = self.text(name, str(default))
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not value >= least or value == float("inf"):
            raise InvalidSettings(f"{PREFIX}{name} is {text!r}; give it a number that is at least {least:g}")
        return value

    def identity(self, name: str) -> str:
        text = self.text(name, "")
        if text and not _IDENTITY.fullmatch(text):
            raise InvalidSettings(
                f"{PREFIX}{name} is {text[:100]!r}; give it at most 253 letters, digits, dots, slashes and hyphens"
            )
        return text

    def whole_number(self, name: str, default: int, *, least: int, most: int) -> int:
        text = self.text(name, str(default))
        if not text.isdecimal() or not least <= int(text) <= most:
            raise InvalidSettings(f"{PREFIX}{name} is {text!r}; give it a whole number from {least} to {most}")
        return int(text)

    def choice(self, name: str, default: str, allowed: tuple[str, ...]) -> str:
        text = self.text(name, default)
        for value in allowed:
            if text.lower() == value.lower():
                return value
        raise InvalidSettings(f"{PREFIX}{name} is {text!r}; give it one of {', '.join(allowed)}")

    def unused(self) -> dict[str, str]:
        return {name: value for name, value in self._given.items() if name not in self._used}


def _own_namespace() -> str:
    try:
        return _NAMESPACE_FILE.read_text(encoding="utf-8").strip() or Settings.operator_namespace
    except OSError:
        return Settings.operator_namespace
