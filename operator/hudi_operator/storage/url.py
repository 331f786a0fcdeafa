"""Opens the file system for a table's base path."""

from hudi_jobs.contract import Location, NotALocation
from hudi_operator.storage.filesystem import FileSystem, S3Options, StorageError, StorageErrorKind


def parse_url(url: str) -> Location:
    """Parse a base path.

    Raises `StorageError` unless the path names a readable store: local files or S3.
    """
    try:
        location = Location.parse(url)
    except NotALocation as error:
        raise _unsupported(url) from error
    return _readable(location)


def open_filesystem(url: str, s3: S3Options | None = None) -> tuple[FileSystem, Location]:
    """Return the file system of a base path, and the path as a location. Sends no request yet."""
    location = parse_url(url)
    return filesystem_of(location, s3), location


def filesystem_of(location: Location, s3: S3Options | None = None) -> FileSystem:
    """Return the file system of a location; it imports the S3 client only for an S3 path."""
    if _readable(location).store == "file":
        from hudi_operator.storage.local import LocalFileSystem  # noqa: PLC0415 - only what is needed is loaded

        return LocalFileSystem()
    from hudi_operator.storage.s3 import S3FileSystem  # noqa: PLC0415 - only what is needed is loaded

    return S3FileSystem(bucket=location.bucket, options=s3 or S3Options())


def _readable(location: Location) -> Location:
    if location.store not in {"file", "s3"}:
        raise _unsupported(location.url)
    return location


def _unsupported(url: str) -> StorageError:
    return StorageError(
        StorageErrorKind.UNSUPPORTED,
        f"{url!r} is not a base path that can be read: use an absolute path, file:///..., s3://bucket/..., "
        "s3a://bucket/... or s3n://bucket/....",
    )
