"""Locations of tables, files and sources: parsed once at the edge, and the only value that joins paths."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

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


_SCHEME = re.compile(r"[^/]*:")
_NO_NAMES = frozenset({"", ".", ".."})
_ONE_SLASH = re.compile(r"^file:/", re.IGNORECASE)
_END = re.compile(r"[\s/]+$")


class NotALocation(ValueError):
    """A text that is no absolute path in a known store, leads upwards, or is too long for any store.

    Also a text that is no path below a folder.
    """


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

    url: str = field(compare=False)
    """The spelling that was given, for Hadoop and for messages; locations are equal whatever it is."""

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
            return cls(store, "", names, url)
        if not _BUCKET[store].fullmatch(bucket):
            raise NotALocation(url)
        return cls(store, bucket, names, url)

    @classmethod
    def parse_or_none(cls, url: str) -> "Location | None":
        """Take a path apart, or return None."""
        try:
            return cls.parse(url)
        except NotALocation:
            return None

    def __truediv__(self, below: str) -> "Location":
        """Return a file or folder below this folder.

        Raises `NotALocation` for an absolute path, and for an empty name, `.` or `..` in it.
        """
        names = tuple(below.split("/"))
        if not _NO_NAMES.isdisjoint(names) or "\0" in below:
            raise NotALocation(below[:_LONGEST])
        return Location(self.store, self.bucket, (*self.names, *names), f"{self.url.rstrip('/')}/{below}")

    def join(self, path: str) -> "Location":
        """Return the file or folder of a relative path from a table's file, or raise `NotALocation`.

        Empty and dot names are dropped, as in Hadoop. The name of a partition may hold a colon.
        """
        names = [name for name in path.split("/") if name not in {"", "."}]
        if path.startswith("/") or ".." in names:
            raise NotALocation(path[:_LONGEST])
        return self / "/".join(names) if names else self

    @property
    def key(self) -> str:
        """The path in the bucket, or from the root of the file system, without a slash at either end."""
        return "/".join(self.names)

    @property
    def path(self) -> str:
        """The path for a file system of `hudi_operator.storage`: `bucket/key`, or the absolute path of a file."""
        return "/".join((self.bucket, *self.names)) or "/"

    def path_of(self, name: str) -> str:
        """Return `(self / name).path` for a file in this folder, at a third of the cost: readers ask it per file."""
        if "/" in name or name in _NO_NAMES or "\0" in name:
            raise NotALocation(name[:_LONGEST])
        return "/".join((self.bucket, *self.names, name))

    @property
    def plain_url(self) -> str:
        """The spelling that the API server accepts: the scheme in lower case, no empty names, no slash at the end."""
        scheme = "file" if self.store == "file" else self.url.partition(":")[0].lower()
        return f"{scheme}://{self.path}"

    @property
    def canonical(self) -> str:
        """The form that is equal for all spellings that any tool might take for this location (`canonical_path`)."""
        return canonical_path(self.url)

    def __str__(self) -> str:
        """Return one spelling for all equal locations."""
        return f"{self.store}://{self.path}"

    def holds(self, other: "Location") -> bool:
        """Whether another location is this location or lies inside it."""
        same_bucket = (self.store, self.bucket) == (other.store, other.bucket)
        return same_bucket and other.names[: len(self.names)] == self.names

    def relative(self, other: "Location") -> str | None:
        """Return the path of another location below this location; empty for itself, None if it is elsewhere."""
        return "/".join(other.names[len(self.names) :]) if self.holds(other) else None

    def may_hold(self, other: "Location") -> bool:
        """Whether any tool might take another location for this location, or for a location inside it."""
        return covers(self.canonical, other.canonical)


def beginning_of(folder: str) -> str:
    """Return the beginning of the paths in a folder, as a listing spells both: not for comparing two spellings."""
    return f"{folder.rstrip('/')}/"


def relative_names(text: str) -> tuple[str, ...] | None:
    """Return the names of a relative path that a file of the table gives, as Hadoop reads it; None if it leads out.

    Hadoop drops empty and dot names, and takes a first name with a colon for a scheme.
    """
    if text.startswith("/") or "\0" in text or _SCHEME.match(text):
        return None
    names = tuple(name for name in text.split("/") if name not in {"", "."})
    return None if ".." in names else names


def canonical_path(url: str) -> str:
    """Return `scheme://bucket/path` with one spelling: s3, s3a and s3n alike, no empty or dot segments, decoded.

    Claims are named after its hash, so it must never change. It ignores the case of a bucket, and decodes percent
    escapes although S3 takes them literally: two tables with paths that differ only by that are refused rather than
    distinguished. A text that is no location has a form too, because a claim or a resource may hold it.
    """
    scheme, separator, rest = url.strip().partition("://")
    if not separator:
        # Hadoop also writes a path of files with one slash.
        scheme, rest = "file", _ONE_SLASH.sub("/", url.strip())
    scheme = store_of(scheme)
    decoded = unquote(_END.sub("", rest)).replace("\\", "/")
    if scheme == "file":
        decoded = decoded.removeprefix("localhost")
        return f"file://{posixpath.normpath('/' + decoded.lstrip('/'))}"
    authority, _, path = decoded.partition("/")
    normal = posixpath.normpath("/" + path.lstrip("/"))
    return f"{scheme}://{authority.lower()}{'' if normal == '/' else normal}"


def is_below_bucket(canonical: str) -> bool:
    """Whether a canonical path is a folder below a bucket, or below a top folder of the file system."""
    scheme, _, rest = canonical.partition("://")
    least = 3 if scheme == "file" else 2  # a path of files begins with a slash, and its first folder may be a volume
    return len(rest.split("/")) >= least and all(rest.split("/")[1:])


def covers(folder: str, path: str) -> bool:
    """Whether a canonical path is a folder, or lies inside it."""
    return folder == path or folder in folders_above(path)


def folders_above(canonical: str) -> Iterator[str]:
    """Yield the parent folders of a canonical path, nearest first."""
    scheme, _, rest = canonical.partition("://")
    parts = rest.split("/")
    for length in range(len(parts) - 1, 0, -1):
        folder = f"{scheme}://{'/'.join(parts[:length]) or '/'}"
        if folder != canonical:
            yield folder
