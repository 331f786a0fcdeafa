"""The settings of the operator's process: environment variables that start with `HUDI_OPERATOR_`."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from hudi_operator.telemetry.table_metrics import DEFAULT_LIMIT

PREFIX = "HUDI_OPERATOR_"
_NAME = "hudi-operator"
_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_Namespace = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]
_Seconds = Annotated[float, Field(ge=1, allow_inf_nan=False)]


def _own_namespace() -> str:
    try:
        return _NAMESPACE_FILE.read_text(encoding="utf-8").strip() or _NAME
    except OSError:
        return _NAME


class InvalidSettings(ValueError):
    """A setting has an unusable value; the message names the setting in a sentence."""


class Settings(BaseSettings):
    """Settings of an operator process; the environment variable of `spark_image` is `HUDI_OPERATOR_SPARK_IMAGE`."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="forbid", str_strip_whitespace=True
    )

    spark_image: str = Field(min_length=1)
    """Image of the Spark jobs."""

    operator_namespace: str = Field(default_factory=_own_namespace)
    """Namespace of the operator itself, where it keeps the claims of tables; by default its pod's."""

    identity: str = Field("", pattern=r"^([A-Za-z0-9][A-Za-z0-9._/-]{0,252})?$")
    """Identity that distinguishes this operator from others on the same tables; by default the cluster and the
    operator's namespace."""

    instance: str = Field(default_factory=lambda: os.environ.get("HOSTNAME") or _NAME)
    """Name of this process in Events; by default the pod's."""

    watch_namespaces: Annotated[tuple[_Namespace, ...], NoDecode] = ()
    """Namespaces with served tables, comma-separated; none means the whole cluster."""

    requester_policy: bool = False
    """Whether the API server accepts only the caller's own name as `requestedBy` of a HudiOperation."""

    workers: int = Field(32, ge=1, le=1000)
    """Number of tables that are reconciled at the same time."""

    list_sources: bool = True
    """Whether the operator lists the sources of tables before runs, so that no run starts without new input."""

    failed_run_logs: bool = False
    """Whether the status of a table keeps the end of the log of the newest failed run of each service."""

    resync_seconds: _Seconds = 300.0
    """Seconds between two listings of all tables, which find changes that a watch missed."""

    poll_seconds: _Seconds = 10.0
    """Seconds between two reads of the timeline of a changing table without another trigger."""

    max_poll_seconds: _Seconds = 300.0
    """Seconds between two reads of the timeline of a table that has not changed for long."""

    reconcile_timeout_seconds: _Seconds = 300.0
    """Longest time of a reconcile of a table."""

    shutdown_seconds: float = Field(20.0, ge=0, allow_inf_nan=False)
    """Longest time that running reconciles may take to finish after a stop signal."""

    health_port: int = Field(8080, ge=0, le=65535)
    """Port of /healthz and /readyz; 0 takes any free one."""

    metrics_port: int = Field(9090, ge=0, le=65535)
    """Port of /metrics; 0 takes any free one."""

    table_metrics: bool = True
    """Whether tables have series of their own in the metrics; whoever reads the metrics reads those of all tables."""

    table_metrics_limit: int = Field(DEFAULT_LIMIT, ge=0)
    """Number of tables up to which each table has series of its own; above it, only tables that are not ready, miss
    their freshness, or have findings."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """Log level: DEBUG, INFO, WARNING or ERROR."""

    log_format: Literal["json", "text"] = "json"
    """Log format: json, or text for people at a terminal."""

    leader_election: bool = True
    """Whether several processes of the operator may run; only the leader acts."""

    lease_name: str = Field("hudi-operator-leader", min_length=1)
    """Name of the Lease for leader election, in the operator's namespace."""

    lease_seconds: _Seconds = 15.0
    """Time without a renewal after which another process may take over."""

    renew_deadline_seconds: float = Field(10.0, ge=0.5, allow_inf_nan=False)
    """Time without a renewal after which the leader stops; less than the lease."""

    lease_retry_seconds: float = Field(2.0, ge=0.1, allow_inf_nan=False)
    """Seconds between two renewals of the Lease by the leader, or reads by the others; less than the deadline."""

    @classmethod
    def from_environment(cls) -> Self:
        """Read the settings; raise `InvalidSettings` for an unusable value."""
        try:
            return cls()
        except ValidationError as error:
            raise InvalidSettings(_sentence(error)) from None

    @field_validator("watch_namespaces", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("log_level", "log_format", mode="before")
    @classmethod
    def _in_one_case(cls, value: object, info: ValidationInfo) -> object:
        if not isinstance(value, str):
            return value
        return value.strip().upper() if info.field_name == "log_level" else value.strip().lower()

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.lease_retry_seconds < self.renew_deadline_seconds < self.lease_seconds:
            raise ValueError(
                f"{PREFIX}LEASE_RETRY_SECONDS, {PREFIX}RENEW_DEADLINE_SECONDS and {PREFIX}LEASE_SECONDS are "
                f"{self.lease_retry_seconds:g}, {self.renew_deadline_seconds:g} and {self.lease_seconds:g}; "
                "each has to be less than the next"
            )
        return self


def unknown_variables(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return variables with the prefix that this version does not know; they are reported, not refused."""
    known = {f"{PREFIX}{name}".upper() for name in Settings.model_fields}
    return tuple(sorted(name for name in environment if name.startswith(PREFIX) and name not in known))


def _sentence(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    if not first["loc"]:
        return str(first["ctx"]["error"])
    name = f"{PREFIX}{str(first['loc'][0]).upper()}"
    if first["type"] == "missing":
        return f"{name} is not set"
    reason = first["msg"][:1].lower() + first["msg"][1:]
    return f"{name} is {str(first['input'])[:100]!r}: {reason}"
