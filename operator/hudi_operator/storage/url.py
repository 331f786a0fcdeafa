"""Opens the file system for a table's base path."""

from hudi_jobs.contract import Location, NotALocation
from hudi_operator.storage.errors import StorageError, StorageErrorKind
from hudi_operator.storage.filesystem import FileSystem
from hudi_operator.storage.options import S3Options


def parse_url(url: str) -> Location:
    """Parse a base path.

    Raises `StorageError` unless the path names a readable store: local files or S3.
    """
    try:
        location = Location.parse(url)
    except NotALocation as error:
        raise _unsupported(url) from error
    if location.store not in {"file", "s3"}:
        raise _unsupported(url)
    return location


def open_filesystem(url: str, s3: S3Options | None = None) -> tuple[FileSystem, str]:
    """Return the file system of a base path, and the path inside it.

    Sends no request yet. The S3 client is imported only for an S3 path.
    """
    location = parse_url(url)
    if location.store == "file":
        from hudi_operator.storage.local import LocalFileSystem  # noqa: PLC0415 - only what is needed is loaded

        return LocalFileSystem(), location.path
    from hudi_operator.storage.s3 import S3FileSystem  # noqa: PLC0415 - only what is needed is loaded

    return S3FileSystem(bucket=location.bucket, options=s3 or S3Options()), location.path


def _unsupported(url: str) -> StorageError:
    return StorageError(
        StorageErrorKind.UNSUPPORTED,
        f"{url!r} is not a base path that can be read: use an absolute path, file:///..., s3://bucket/..., "
        "s3a://bucket/... or s3n://bucket/....",
    )
