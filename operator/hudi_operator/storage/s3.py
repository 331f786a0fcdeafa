"""S3-compatible stores through `obstore`, which can start a listing at a key; `pyarrow.fs` cannot."""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, BinaryIO

import obstore
from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from hudi_operator.storage.filesystem import (
    FOLDER_REQUESTS,
    LISTING_LIMIT,
    PAGE,
    PAGES_BELOW,
    FileStamp,
    Folders,
    Listing,
    S3Options,
    StorageError,
    StorageErrorKind,
    StoredFile,
    too_large,
    too_many_below,
    too_many_files,
)

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from obstore import ObjectMeta
    from obstore.store import ClientConfig, RetryConfig, S3Config


_ODD = frozenset({"", ".", ".."})


def folders_beside_odd_keys(bucket: str, key: str, options: S3Options) -> list[str]:
    """Return the folders directly under a key, in order, except names that a path cannot express.

    The listing cannot be stopped, so its cost grows with the keys and folders at that level. Raises an `OSError`.
    """
    from pyarrow import fs  # noqa: PLC0415 - only what is needed is loaded

    scheme, _, host = (options.endpoint or "").rpartition("://")
    store = fs.S3FileSystem(
        access_key=options.access_key,
        secret_key=options.secret_key,
        session_token=options.session_token,
        anonymous=options.anonymous,
        region=options.region or "us-east-1",
        endpoint_override=host or None,
        scheme=scheme or "https",
        force_virtual_addressing=options.virtual_hosted,
        connect_timeout=options.connect_timeout,
        request_timeout=options.request_timeout,
    )
    above = f"{bucket}/{key}/" if key else f"{bucket}/"
    entries = store.get_file_info(fs.FileSelector(above, recursive=False))
    names = (each.path.removeprefix(above) for each in entries if each.type is fs.FileType.Directory)
    return sorted(name for name in names if name not in _ODD and "/" not in name)


# The pages that a listing may spend on skipped folders, in addition to those for its names.
_SKIPPED = 20
_BUFFER = 64 * 1024
# The last of the usual credential sources: its failure means that no source had credentials.
_INSTANCE_METADATA = "169.254.169.254"
_CODE = re.compile(r"<Code>(\w+)</Code>")
_ODD_KEY = re.compile(r'invalid path: [^"]*"(.*?)"(?:: | contained )', re.DOTALL)
_KEY_SHOWN = 200
# Some stores answer these refusals with 404 or 400.
_REFUSALS = frozenset(
    {
        "AccessDenied",
        "AccountProblem",
        "ExpiredToken",
        "InvalidAccessKeyId",
        "InvalidToken",
        "SignatureDoesNotMatch",
        "XAdminUserNotFound",
    }
)
_DENIED = (PermissionDeniedError, UnauthenticatedError, PermissionError)


class S3FileSystem:
    """A bucket. Paths are `bucket/key`, as in `pyarrow.fs`; a leading slash is not part of a key."""

    def __init__(self, *, bucket: str, options: S3Options) -> None:
        self._bucket = bucket
        self._endpoint = options.endpoint or ""
        self._options = options
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

    @property
    def lists_from_offset(self) -> bool:
        """Always True: S3 lists from any key."""
        return True

    def list_directory(
        self, path: str, *, start_after: str | None = None, before: str | None = None, limit: int = LISTING_LIMIT
    ) -> Listing:
        """List the keys directly under a folder with sizes and times, one request per 1,000 keys.

        The store's own single-level listing cannot be stopped, so all levels are listed; where a page ends inside a
        folder, the next page starts after that folder.
        """
        found = _Found(start_after=start_after, before=before)
        while found.unfinished:
            with self._translated(path):
                self._list_on(self._key(path), found, limit=limit)
            if len(found.names) > limit or found.requests > _SKIPPED + limit // PAGE:
                raise too_many_files(f"s3://{path}", limit=limit)
        return Listing(names=found.names, sizes=found.sizes, modified=found.modified, requests=found.requests)

    def list_below(self, path: str, *, pages: int = PAGES_BELOW) -> Iterator[Sequence[StoredFile]]:
        """Yield the object at a path and all objects below it: one HEAD request, and one request for each page.

        Raises `ODD_KEY` for a key that `obstore` cannot express.
        """
        prefix = self._key(path)
        if (itself := self._itself(path)) is not None:
            yield [StoredFile("", itself)]
        with self._translated(path):
            stream = iter(obstore.list(self._store, prefix or None, chunk_size=PAGE))
        start = len(prefix) + 1 if prefix else 0
        for number in range(pages + 1):
            with self._translated(path):
                page = next(stream, None)
            if page is None:
                return
            if number == pages:
                raise too_many_below(f"s3://{path}", pages=pages, page=PAGE)
            files = (StoredFile(meta["path"][start:], _stamp(meta)) for meta in page)
            yield [file for file in files if file.path]  # the client drops the slash of the path's own folder marker

    def _itself(self, path: str) -> FileStamp | None:
        """Return the stamp of the object at a path, or None without an object or for a whole bucket."""
        try:
            return self.stamp(path) if self._key(path) else None
        except StorageError as error:
            if error.kind is StorageErrorKind.NOT_FOUND:
                return None
            raise

    def list_folders(self, path: str, *, limit: int) -> Folders:
        """List the folders under a folder, even next to keys that `obstore` refuses."""
        try:
            return self._list_folders(path, limit)
        except StorageError as error:
            if error.kind is not StorageErrorKind.ODD_KEY:
                raise
        with self._translated(path):
            names = folders_beside_odd_keys(self._bucket, self._key(path), self._options)
        return Folders(tuple(names[:limit]), complete=len(names) <= limit)

    def _list_folders(self, path: str, limit: int) -> Folders:
        """List folders, skipping the keys inside each folder a page at a time."""
        prefix, found, offset = self._key(path), dict[str, None](), None
        start = len(prefix) + 1 if prefix else 0
        for _ in range(FOLDER_REQUESTS):
            with self._translated(path):
                page = next(iter(obstore.list(self._store, prefix or None, offset=offset, chunk_size=PAGE)), [])
            names = [meta["path"][start:].partition("/") for meta in page]
            found |= dict.fromkeys(name for name, separator, _ in names if separator)
            if len(page) < PAGE:
                return Folders(tuple(found)[:limit], complete=len(found) <= limit)
            if len(found) > limit:
                break
            name, separator, _ = names[-1]
            # The character after the slash: greater than every key of the folder.
            offset = f"{page[-1]['path'][:start]}{name}0" if separator else page[-1]["path"]
        return Folders(tuple(found)[:limit], complete=False)

    def read_file(self, path: str, *, limit: int) -> bytes:
        """Return the whole content of an object, or raise `TOO_LARGE` beyond the limit."""
        with self._translated(path):
            result = obstore.get(self._store, self._key(path))
            size = result.meta["size"]
            if size > limit:
                raise too_large(f"s3://{path}", size=size, limit=limit)
            # The size comes from the response header; the client reads no more than that.
            return bytes(result.bytes())

    def open_file(self, path: str) -> BinaryIO:
        """Open an object for partial reads with range requests."""
        return io.BufferedReader(_ObjectReader(self, path), buffer_size=_BUFFER)

    def read_range(self, path: str, *, start: int, length: int) -> bytes:
        """Return a part of an object."""
        with self._translated(path):
            return bytes(obstore.get_range(self._store, self._key(path), start=start, length=length))

    def size(self, path: str) -> int:
        """Return the size of an object in bytes (one HEAD request)."""
        with self._translated(path):
            return obstore.head(self._store, self._key(path))["size"]

    def modified(self, path: str) -> int:
        """Return the write time of an object in epoch milliseconds (one HEAD request)."""
        with self._translated(path):
            return _milliseconds(obstore.head(self._store, self._key(path)))

    def stamp(self, path: str) -> FileStamp:
        """Return size, time and tag of an object (one HEAD request)."""
        with self._translated(path):
            return _stamp(obstore.head(self._store, self._key(path)))

    def _list_on(self, prefix: str, found: "_Found", *, limit: int) -> None:
        """List on from the current offset, up to the end, the limit, or a page that ends in a folder."""
        offset = f"{prefix}/{found.start_after}" if found.start_after is not None else None
        for page in obstore.list(self._store, prefix, offset=offset, chunk_size=PAGE):
            if not found.take(page, start=len(prefix) + 1) or len(found.names) > limit:
                return
        found.unfinished = False

    def _key(self, path: str) -> str:
        return path.removeprefix(self._bucket).strip("/")

    @contextmanager
    def _translated(self, path: str) -> Iterator[None]:
        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            raise self._storage_error(path, error) from error

    def _storage_error(self, path: str, error: Exception) -> StorageError:
        text = str(error)
        code = found.group(1) if (found := _CODE.search(text)) else None
        where = self._endpoint or "the S3 endpoint of the region"
        if code == "NoSuchBucket":
            message = f"{where} has no bucket {self._bucket!r}: create it or correct the path."
            return StorageError(StorageErrorKind.NO_BUCKET, message)
        # A HEAD response has no body. Any other 404 of an S3 store says what is missing; a proxy's does not.
        if isinstance(error, FileNotFoundError) and (code == "NoSuchKey" or "method: HEAD" in text):
            return StorageError(StorageErrorKind.NOT_FOUND, f"s3://{path} does not exist.")
        if odd := _ODD_KEY.search(text):
            message = (
                f"s3://{path} cannot be listed, because it holds an object with the key {odd[1][:_KEY_SHOWN]!a}: a "
                "part of it is empty, '.' or '..', or has a control character. Remove the object, or rename it."
            )
            return StorageError(StorageErrorKind.ODD_KEY, message)
        if _INSTANCE_METADATA in text:
            message = f"There are no credentials for s3://{path}: neither given nor in the environment."
            return StorageError(StorageErrorKind.ACCESS_DENIED, message)
        if code in _REFUSALS or isinstance(error, _DENIED) or "403 Forbidden" in text or "401 Unauthorized" in text:
            message = f"{where} refused to read s3://{path}: check the credentials and the bucket policy."
            return StorageError(StorageErrorKind.ACCESS_DENIED, message)
        message = f"s3://{path} cannot be read from {where}: {code or _short(text)}."
        return StorageError(StorageErrorKind.UNREACHABLE, message)


class _Found:
    """Progress of a listing: the names so far and the next offset."""

    def __init__(self, *, start_after: str | None, before: str | None) -> None:
        self.start_after = start_after
        self.names: list[str] = []
        self.sizes: dict[str, int] = {}
        self.modified: dict[str, int] = {}
        self.requests = 0
        self.unfinished = True
        self._before = before

    def take(self, page: "Sequence[ObjectMeta]", *, start: int) -> bool:
        """Take the names of a page; return True if the next page is needed."""
        self.requests += 1
        name = ""
        for meta in page:
            name = meta["path"][start:]
            if name and "/" not in name and (self._before is None or name < self._before):
                self.names.append(name)
                self.sizes[name] = meta["size"]
                self.modified[name] = _milliseconds(meta)
        if len(page) < PAGE or (self._before is not None and name >= self._before):
            self.unfinished = False
        folder, separator, _ = name.partition("/")
        if separator:
            # The character after the slash: greater than every key of the folder.
            self.start_after = f"{folder}0"
        return self.unfinished and not separator


def _stamp(meta: "ObjectMeta") -> FileStamp:
    return FileStamp(meta["size"], _milliseconds(meta), meta["e_tag"])


def _milliseconds(meta: "ObjectMeta") -> int:
    return int(meta["last_modified"].timestamp() * 1000)


class _ObjectReader(io.RawIOBase):
    """A seekable view of an object."""

    def __init__(self, filesystem: S3FileSystem, path: str) -> None:
        self._filesystem = filesystem
        self._path = path
        self._size = filesystem.size(path)
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer).cast("B")
        length = min(len(view), self._size - self._position)
        if length <= 0:
            return 0
        data = self._filesystem.read_range(self._path, start=self._position, length=length)
        view[: len(data)] = data
        self._position += len(data)
        return len(data)


def _config(options: S3Options) -> "S3Config":
    config: S3Config = {
        "region": options.region or "us-east-1",
        "virtual_hosted_style_request": options.virtual_hosted,
        "skip_signature": options.anonymous,
    }
    if options.endpoint:
        config["endpoint"] = options.endpoint
    if options.access_key and options.secret_key:
        config["access_key_id"] = options.access_key
        config["secret_access_key"] = options.secret_key
    if options.session_token:
        config["session_token"] = options.session_token
    return config


def _client_options(options: S3Options) -> "ClientConfig":
    return {
        "allow_http": bool(options.endpoint and options.endpoint.startswith("http://")),
        "connect_timeout": timedelta(seconds=options.connect_timeout),
        "timeout": timedelta(seconds=options.request_timeout),
    }


def _retries(options: S3Options) -> "RetryConfig":
    return {
        "max_retries": options.max_attempts - 1,
        "retry_timeout": timedelta(seconds=options.request_timeout * options.max_attempts),
    }


def _short(text: str) -> str:
    """Return the cause from an error text, without the request and the retries."""
    first = text.strip().splitlines()[0] if text.strip() else "unknown error"
    return first.rpartition(" - ")[2].strip().rstrip(".:")[:300]
