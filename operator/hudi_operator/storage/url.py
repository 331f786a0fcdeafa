"""From the spelling of a table's base path to the file system that holds it."""

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from hudi_operator.storage.errors import StorageError, StorageErrorKind
from hudi_operator.storage.filesystem import FileSystem
from hudi_operator.storage.options import S3Options

S3_SCHEMES = frozenset({"s3", "s3a", "s3n"})


@dataclass(frozen=True, slots=True)
class TableLocation:
    """A base path taken apart.

    For S3, `bucket` is set and `path` is `bucket/key`; otherwise `path` is absolute.
    """

    scheme: str
    bucket: str | None
    path: str


def parse_url(url: str) -> TableLocation:
    """Take a base path apart: an absolute local path, `file:///...`, or `s3://`, `s3a://`, `s3n://`.

    S3 keys are taken literally (`%20` stays `%20`), as Hadoop does. Raises `StorageError` for anything else.
    """
    if url.startswith("/"):
        return TableLocation("file", None, url.rstrip("/") or "/")
    scheme, separator, rest = url.partition(":")
    if separator and scheme.lower() == "file":
        parts = urlsplit(url)
        if parts.netloc not in {"", "localhost"} or not parts.path.startswith("/"):
            raise _unsupported(url)
        return TableLocation("file", None, unquote(parts.path).rstrip("/") or "/")
    if separator and scheme.lower() in S3_SCHEMES and rest.startswith("//"):
        bucket, _, key = rest[2:].partition("/")
        if not bucket:
            raise _unsupported(url)
        # Hadoop's `Path` drops empty segments, so the writer has done the same.
        segments = [segment for segment in key.split("/") if segment]
        return TableLocation("s3", bucket, "/".join([bucket, *segments]))
    raise _unsupported(url)


def open_filesystem(url: str, s3: S3Options | None = None) -> tuple[FileSystem, str]:
    """Return the file system that a base path lives in, and the path inside it.

    Nothing is requested from the store yet. The S3 client is imported only when an S3 path is opened.
    """
    location = parse_url(url)
    if location.bucket is None:
        from hudi_operator.storage.local import LocalFileSystem  # noqa: PLC0415 - only what is needed is loaded

        return LocalFileSystem(), location.path
    from hudi_operator.storage.s3 import S3FileSystem  # noqa: PLC0415 - only what is needed is loaded

    return S3FileSystem(bucket=location.bucket, options=s3 or S3Options()), location.path


def _unsupported(url: str) -> StorageError:
    return StorageError(
        StorageErrorKind.UNSUPPORTED,
        f"{url!r} is no base path that can be read: use an absolute path, file:///..., s3://bucket/..., "
        "s3a://bucket/... or s3n://bucket/....",
    )
