"""S3-compatible stores through `obstore`, which can start a listing at a key; `pyarrow.fs` cannot."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import BinaryIO, cast

import obstore
from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import ClientConfig, RetryConfig, S3Config, S3Store

from hudi_operator.storage.errors import StorageError, StorageErrorKind
from hudi_operator.storage.filesystem import Listing
from hudi_operator.storage.options import S3Options

# S3 gives at most this many keys per page.
_PAGE = 1000


class S3FileSystem:
    """One bucket. Paths are `bucket/key`, as in `pyarrow.fs`; a leading slash is not part of a key."""

    def __init__(self, *, bucket: str, options: S3Options) -> None:
        self._bucket = bucket
        self._endpoint = options.endpoint or ""
        self._store = S3Store(
            bucket,
            config=_config(options),
            client_options=_client_options(options),
            retry_config=_retries(options),
        )

    @property
    def identity(self) -> str:
        """The endpoint and the bucket."""
        return f"s3:{self._endpoint}/{self._bucket}"

    def list_directory(self, path: str, *, start_after: str | None = None) -> Listing:
        """List the keys directly under a folder, one request per 1,000 keys, sizes and times included."""
        prefix = self._key(path)
        with self._translated(path):
            if start_after is None:
                return self._list_all(prefix)
            return self._list_after(prefix, start_after)

    def read_file(self, path: str) -> bytes:
        """Return the whole content of an object."""
        with self._translated(path):
            return bytes(obstore.get(self._store, self._key(path)).bytes())

    def open_file(self, path: str) -> BinaryIO:
        """Open an object; its parts are fetched with range requests, a megabyte at a time."""
        with self._translated(path):
            return cast("BinaryIO", obstore.open_reader(self._store, self._key(path)))

    def size(self, path: str) -> int:
        """Return the size of an object in bytes (one HEAD request)."""
        with self._translated(path):
            return obstore.head(self._store, self._key(path))["size"]

    def modified(self, path: str) -> int:
        """Return when an object was written, in epoch milliseconds (one HEAD request)."""
        with self._translated(path):
            return int(obstore.head(self._store, self._key(path))["last_modified"].timestamp() * 1000)

    def _list_all(self, prefix: str) -> Listing:
        result = obstore.list_with_delimiter(self._store, prefix)
        objects = result["objects"]
        start = len(prefix) + 1
        found = len(objects) + len(result["common_prefixes"])
        return Listing(
            names=[meta["path"][start:] for meta in objects],
            sizes={meta["path"][start:]: meta["size"] for meta in objects},
            modified={
                meta["path"][start:]: int(meta["last_modified"].timestamp() * 1000) for meta in objects
            },
            requests=max(1, -(-found // _PAGE)),
        )

    def _list_after(self, prefix: str, start_after: str) -> Listing:
        """List from a key on. The store descends here, but instants sort before all folders of Hudi."""
        start = len(prefix) + 1
        names: list[str] = []
        sizes: dict[str, int] = {}
        modified: dict[str, int] = {}
        seen = 0
        for chunk in obstore.list(self._store, prefix, offset=f"{prefix}/{start_after}", chunk_size=_PAGE):
            seen += len(chunk)
            for meta in chunk:
                name = meta["path"][start:]
                if "/" not in name:
                    names.append(name)
                    sizes[name] = meta["size"]
                    modified[name] = int(meta["last_modified"].timestamp() * 1000)
            if chunk and "/" in chunk[-1]["path"][start:]:
                break
        return Listing(names=names, sizes=sizes, modified=modified, requests=max(1, -(-seen // _PAGE)))

    def _key(self, path: str) -> str:
        return path.removeprefix(self._bucket).strip("/")

    @contextmanager
    def _translated(self, path: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise StorageError(StorageErrorKind.NOT_FOUND, f"s3://{path} does not exist.") from error
        except (PermissionDeniedError, UnauthenticatedError, PermissionError) as error:
            message = f"The store refused to read s3://{path}: check the credentials and the bucket policy."
            raise StorageError(StorageErrorKind.ACCESS_DENIED, message) from error
        except (BaseError, OSError, ValueError) as error:
            where = self._endpoint or "the S3 endpoint of the region"
            message = f"s3://{path} cannot be read from {where}: {_first_line(error)}"
            raise StorageError(StorageErrorKind.UNREACHABLE, message) from error


def _config(options: S3Options) -> S3Config:
    config = S3Config(
        region=options.region or "us-east-1",
        virtual_hosted_style_request=options.virtual_hosted,
        skip_signature=options.anonymous,
    )
    if options.endpoint:
        config["endpoint"] = options.endpoint
    if options.access_key and options.secret_key:
        config["access_key_id"] = options.access_key
        config["secret_access_key"] = options.secret_key
    if options.session_token:
        config["session_token"] = options.session_token
    return config


def _client_options(options: S3Options) -> ClientConfig:
    return ClientConfig(
        allow_http=bool(options.endpoint and options.endpoint.startswith("http://")),
        connect_timeout=timedelta(seconds=options.connect_timeout),
        timeout=timedelta(seconds=options.request_timeout),
    )


def _retries(options: S3Options) -> RetryConfig:
    return RetryConfig(
        max_retries=options.max_attempts - 1,
        retry_timeout=timedelta(seconds=options.request_timeout * options.max_attempts),
    )


def _first_line(error: Exception) -> str:
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return text if len(text) <= 300 else f"{text[:300]}..."
