"""Files in the operator's own folder of a table, written only if unchanged since they were read.

Local files use a kernel lock, S3 uses conditional writes.
"""

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TextIO

import obstore
from obstore.exceptions import AlreadyExistsError, PreconditionError
from obstore.store import S3Store
from pyspark.sql import SparkSession

from hudi_jobs.contract import OPERATOR_FILE_LIMIT, OPERATOR_FOLDER, FailureReason, Location, NotALocation
from hudi_jobs.lease.leases import VersionConflict
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.jvm import hadoop_configuration

if TYPE_CHECKING:
    from obstore import UpdateVersion
    from obstore.store import ClientConfig, RetryConfig, S3Config

_LOCK_SECONDS = 10.0
_PROBE = "probe"
_FOLDER = ".folder"
_ANOTHER_TAG = '"0123456789abcdef0123456789abcdef"'


class TableFiles(Protocol):
    """The files in the operator's folder of a table. Oversized files read as empty."""

    def read(self, name: str) -> tuple[bytes, str] | None:
        """Return the content of a file and its version, or None if missing."""

    def write(self, name: str, content: bytes, *, expected: str | None) -> str:
        """Write if the current version is expected and return the new version; otherwise raise `VersionConflict`."""


@dataclass(frozen=True)
class TableFile:
    """A file of the operator's folder, as the storage of a lease file."""

    files: TableFiles
    name: str

    def read(self) -> tuple[bytes, str] | None:
        """Return the content and its version, or None if missing."""
        return self.files.read(self.name)

    def write(self, content: bytes, *, expected: str | None) -> str:
        """Write if no other process has written."""
        return self.files.write(self.name, content, expected=expected)


def open_table_files(spark: SparkSession, base_path: str, *, limit: int = OPERATOR_FILE_LIMIT) -> TableFiles:
    """Return the operator's folder of a table; raise `TaskFailed` if the store lacks conditional writes."""
    return table_files(base_path, lambda key: hadoop_configuration(spark).get(key), limit=limit)


def table_files(base_path: str, setting: Callable[[str], object], *, limit: int = OPERATOR_FILE_LIMIT) -> TableFiles:
    """Return the operator's folder of a table, from Hadoop's settings; raises as `open_table_files` does."""
    try:
        location = Location.parse(base_path)
    except NotALocation as error:
        raise _not_in_such_a_store(base_path) from error
    if location.store == "file":
        return LocalFiles(Path((location / OPERATOR_FOLDER).path), limit=limit)
    if location.store == "s3":
        store = _s3_store(location.bucket, lambda name: _s3a_setting(setting, location.bucket, name))
        return S3Files(store, (location / OPERATOR_FOLDER).key, limit=limit)
    raise _not_in_such_a_store(base_path)


def make_folder(path: str, setting: Callable[[str], object]) -> None:
    """Make a folder, on S3 by an empty object `.folder` inside; raise an error if the store refuses."""
    location = Location.parse(path)
    if location.store == "file":
        Path("/", *location.names).mkdir(parents=True, exist_ok=True)
        return
    if location.store != "s3":
        raise _not_in_such_a_store(path)
    store = _s3_store(location.bucket, lambda name: _s3a_setting(setting, location.bucket, name))
    obstore.put(store, (location / _FOLDER).key, b"")


def _not_in_such_a_store(base_path: str) -> TaskFailed:
    return TaskFailed(
        FailureReason.INVALID_REQUEST,
        "A run needs a store with conditional writes, so that no other run can work on the table at the same time. "
        f"{base_path} is not known to be an absolute path in such a store; give the table a base path on S3, without "
        "'..'.",
    )


class LocalFiles:
    """The operator's folder on local disk. Its lock is the kernel's, so it ends with the holding process."""

    def __init__(self, folder: Path, *, limit: int = OPERATOR_FILE_LIMIT) -> None:
        self._folder = folder
        self._limit = limit

    def read(self, name: str) -> tuple[bytes, str] | None:
        """Return the content and its digest."""
        try:
            with (self._folder / name).open("rb") as file:
                content = file.read(self._limit + 1)
        except FileNotFoundError:
            return None
        return content if len(content) <= self._limit else b"", _digest(content)

    def write(self, name: str, content: bytes, *, expected: str | None) -> str:
        """Replace the whole file under the lock."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._locked():
            found = self.read(name)
            if (None if found is None else found[1]) != expected:
                raise VersionConflict
            draft = self._folder / f".{name}.draft"
            draft.write_bytes(content)
            draft.replace(self._folder / name)
        return _digest(content)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        deadline = time.monotonic() + _LOCK_SECONDS
        with (self._folder / ".lock").open("w") as lock:
            while not _try_lock(lock):
                if time.monotonic() > deadline:
                    raise TimeoutError(f"the lock in {self._folder} is held by a process that does not proceed")
                time.sleep(0.01)
            yield


class S3Files:
    """The operator's folder on S3, written with If-None-Match and If-Match; a probe first checks their support."""

    def __init__(self, store: S3Store, prefix: str, *, limit: int = OPERATOR_FILE_LIMIT) -> None:
        self._store = store
        self._prefix = prefix
        self._limit = limit
        self._obeys: bool | None = None

    def read(self, name: str) -> tuple[bytes, str] | None:
        """Return the content and the entity tag."""
        try:
            found = obstore.get(self._store, self._path(name))
        except FileNotFoundError:
            return None
        content = bytes(found.bytes()) if found.meta["size"] <= self._limit else b""
        return content, str(found.meta["e_tag"])

    def write(self, name: str, content: bytes, *, expected: str | None) -> str:
        """Write if the object is as expected."""
        self._require_conditions()
        return self._put(name, content, expected=expected)

    def _path(self, name: str) -> str:
        return f"{self._prefix}/{name}"

    def _put(self, name: str, content: bytes, *, expected: str | None) -> str:
        mode: Literal["create"] | UpdateVersion = "create" if expected is None else {"e_tag": expected}
        try:
            written = obstore.put(self._store, self._path(name), content, mode=mode)
        except (AlreadyExistsError, PreconditionError, FileNotFoundError) as error:
            raise VersionConflict from error
        return str(written["e_tag"])

    def _require_conditions(self) -> None:
        """Test both conditions once where they must fail: a store that ignores them would fence no run."""
        if self._obeys is None:
            obstore.put(self._store, self._path(_PROBE), b"")
            self._obeys = all(self._refuses(expected) for expected in (None, _ANOTHER_TAG))
        if not self._obeys:
            raise TaskFailed(
                FailureReason.INVALID_REQUEST,
                "The object store ignores the conditions If-None-Match or If-Match of a write, so two runs could "
                "work on the table at once; move the table to a store that honours them.",
            )

    def _refuses(self, expected: str | None) -> bool:
        try:
            self._put(_PROBE, b"", expected=expected)
        except VersionConflict:
            return True
        return False


def _try_lock(lock: TextIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _s3_store(bucket: str, setting: Callable[[str], str | None]) -> S3Store:
    """Open the bucket with the settings of Hadoop's S3 client; missing credentials come from the environment."""
    endpoint = setting("endpoint")
    secure = setting("connection.ssl.enabled") != "false"
    if endpoint and "://" not in endpoint:
        endpoint = f"{'https' if secure else 'http'}://{endpoint}"
    config: S3Config = {
        "region": setting("endpoint.region") or os.environ.get("AWS_REGION", "us-east-1"),
        "virtual_hosted_style_request": setting("path.style.access") != "true",
        "skip_signature": "Anonymous" in (setting("aws.credentials.provider") or ""),
    }
    if endpoint:
        config["endpoint"] = endpoint
    access, secret, token = (setting(name) for name in ("access.key", "secret.key", "session.token"))
    if access and secret:
        config["access_key_id"], config["secret_access_key"] = access, secret
    if token:
        config["session_token"] = token
    client: ClientConfig = {
        "timeout": timedelta(seconds=10),
        "connect_timeout": timedelta(seconds=5),
        "allow_http": endpoint is not None and endpoint.startswith("http:"),
    }
    retries: RetryConfig = {"max_retries": 2, "retry_timeout": timedelta(seconds=15)}
    return S3Store(bucket, config=config, client_options=client, retry_config=retries)


def _s3a_setting(setting: Callable[[str], object], bucket: str, name: str) -> str | None:
    """Return a setting of Hadoop's S3 client, preferring the bucket's own."""
    for key in (f"fs.s3a.bucket.{bucket}.{name}", f"fs.s3a.{name}"):
        value = setting(key)
        if value:
            return str(value)
    return None
