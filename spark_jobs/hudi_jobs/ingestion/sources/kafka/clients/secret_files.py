"""The files of mounted Secrets: which a source declares, and that they are there."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from hudi_jobs.contract import FailureReason, KafkaSource
from hudi_jobs.failures import TaskFailed

_PAUSE = 0.5
_LOOKS = 30


def require_files(source: KafkaSource, *, pause: Callable[[float], None] = time.sleep) -> None:
    """Wait shortly for the declared files, and raise `TaskFailed` where one for the brokers is missing then.

    The volumes are optional, so that the kubelet says which Secret is missing: of one that comes late it may start the
    container a moment before it has written the files. What the registry lacks is said where it is asked.
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
