"""Checks the files of mounted Secrets that a source declares."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from hudi_jobs.contract import FailureReason, KafkaSource
from hudi_jobs.failures import TaskFailed

_PAUSE = 0.5
_LOOKS = 30


def require_files(source: KafkaSource, *, pause: Callable[[float], None] = time.sleep) -> None:
    """Wait briefly for the declared files, and raise `TaskFailed` if a file for the brokers is still missing.

    The volumes are optional, so that the kubelet reports which Secret is missing: for a late Secret it may start the
    container a moment before writing the files. The registry's missing files are reported when it is queried.
    """
    for_brokers, for_registry = list(_for_brokers(source)), list(_for_registry(source))
    for _ in range(_LOOKS):
        if all(path.is_file() for path in (*for_brokers, *for_registry)):
            return
        pause(_PAUSE)
    for path in for_brokers:
        if not path.is_file():
            raise TaskFailed(
                FailureReason.SOURCE_ACCESS_DENIED,
                f"The Secret has no entry {path.name}, or it is not mounted at {path.parent}; without it the driver "
                "does not contact the brokers.",
            )


def _for_brokers(source: KafkaSource) -> Iterator[Path]:
    security = source.security
    yield from _below(security.credentials_folder, "username", "password")
    yield from _below(security.certificate_folder, "tls.crt", "tls.key")
    if security.ca_file is not None:
        yield Path(security.ca_file)


def _for_registry(source: KafkaSource) -> Iterator[Path]:
    if source.registry is None:
        return
    yield from _below(source.registry.credentials_folder, "username", "password")
    if source.registry.ca_file is not None:
        yield Path(source.registry.ca_file)


def _below(folder: str | None, *names: str) -> Iterator[Path]:
    return iter(()) if folder is None else (Path(folder, name) for name in names)
