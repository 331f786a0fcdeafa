"""Locations of tables, files and sources: one value for all spellings of a path, equal where the store's paths are."""

import re
from dataclasses import dataclass

_STORES = {
    "file": "file",
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gs",
    "abfs": "abfs",
    "abfss": "abfs",
}
"""The store of each scheme. The readers and writers of a store decide which schemes they serve."""

_BUCKET = {
    "s3": re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*"),
    "gs": re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*"),
    "abfs": re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*@[A-Za-z0-9][A-Za-z0-9.-]*"),
}
"""The pattern of each store's bucket: no `..`, no credentials; a container has an account."""

_LONGEST = 8_192
"""No store has a longer path: a key of S3 has 1,024 bytes at most, a path of Linux 4,096."""

_URL = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/]*))?(.*)", re.DOTALL)


class NotALocation(ValueError):
    """A text that is no absolute path in a known store, leads upwards, or is too long for any store."""


def store_of(scheme: str) -> str:
    """Return the name of a scheme's store: `s3` for `s3a`; an unknown scheme is its own store."""
    return _STORES.get(scheme.lower(), scheme.lower())


@dataclass(frozen=True, slots=True)
class Location:
    """A folder or a file in a store.

    Names and keys are literal, as Hadoop's `Path` and S3 take them: capitals matter, and `%20` is three characters.
    """

    store: str
    """`file`, `s3`, `gs` or `abfs`."""

    bucket: str
    """Empty for files; for `abfs` the container and its account."""

    names: tuple[str, ...]
    """The folders from the root of the bucket on, then the last name."""

    @classmethod
    def parse(cls, url: str) -> "Location":
        """Take a path apart as Hadoop's `Path` does, but refuse `..`; raise `NotALocation`."""
        match = _URL.fullmatch(url) if len(url) <= _LONGEST else None
        if match is None or "\0" in url:
            raise NotALocation(url[:_LONGEST])
        scheme, bucket, path = match[1] or "file", match[2] or "", match[3]
        store = _STORES.get(scheme.lower())
        names = tuple(name for name in path.split("/") if name not in {"", "."})
        if store is None or ".." in names or (path and not path.startswith("/")):
            raise NotALocation(url)
        if store == "file":
            if bucket not in {"", "localhost"} or not path:
                raise NotALocation(url)
            return cls(store, "", names)
        if not _BUCKET[store].fullmatch(bucket):
            raise NotALocation(url)
        return cls(store, bucket, names)

    @property
    def key(self) -> str:
        """The path in the bucket, or from the root of the file system, without a slash at either end."""
        return "/".join(self.names)

    @property
    def path(self) -> str:
        """The path for a file system of `hudi_operator.storage`: `bucket/key`, or the absolute path of a file."""
        return "/".join((self.bucket, *self.names)) or "/"

    def __str__(self) -> str:
        """Return the canonical spelling of all equal locations."""
        return f"{self.store}://{self.path}"

    def holds(self, other: "Location") -> bool:
        """Whether another location is this location or lies inside it."""
        same_bucket = (self.store, self.bucket) == (other.store, other.bucket)
        return same_bucket and other.names[: len(self.names)] == self.names
