"""Reads the store that holds the tables: lists folders, reads files, writes nothing."""

from hudi_operator.storage.filesystem import (
    LISTING_LIMIT,
    PAGE,
    PAGES_BELOW,
    CountingFileSystem,
    FileStamp,
    FileSystem,
    Folders,
    Listing,
    S3Options,
    StorageError,
    StorageErrorKind,
    StoredFile,
)
from hudi_operator.storage.url import filesystem_of, open_filesystem, parse_url

__all__ = [
    "LISTING_LIMIT",
    "PAGE",
    "PAGES_BELOW",
    "CountingFileSystem",
    "FileStamp",
    "FileSystem",
    "Folders",
    "Listing",
    "S3Options",
    "StorageError",
    "StorageErrorKind",
    "StoredFile",
    "filesystem_of",
    "open_filesystem",
    "parse_url",
]
