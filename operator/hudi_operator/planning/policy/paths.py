"""Paths that a class allows, and one form of each path, so that no two tables share a folder.

An allowed path lies below a prefix twice: as the store compares it, by `Location`, and in the canonical form, which is
equal for all spellings that a tool might take for the same folder. The overlap of two tables is compared by the
canonical form.
"""

import hashlib
import posixpath
import re
from collections.abc import Iterable
from urllib.parse import unquote

from hudi_jobs.contract import Location, NotALocation, store_of
from hudi_operator.api.values.paths import INNER_FOLDERS

_ONE_SLASH = re.compile(r"^file:/", re.IGNORECASE)
_END = re.compile(r"[\s/]+$")


def canonical_path(url: str) -> str:
    """Return `scheme://bucket/path` with one spelling: s3, s3a and s3n alike, no empty or dot segments, decoded.

    Claims are named after its hash, so it must never change. Percent escapes are decoded here although S3 takes them
    literally: two tables with paths that differ only by that are refused rather than distinguished.
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


def path_hash(canonical: str) -> str:
    """Return a short digest that names a canonical path."""
    return hashlib.sha256(canonical.encode()).hexdigest()[:32]


def is_allowed(url: str, prefixes: Iterable[str], *, namespace: str) -> bool:
    """Whether a path lies under a prefix of a class; `{namespace}` stands for the table's namespace.

    Prefixes end at folder boundaries: `s3://lake/team` does not allow `s3://lake/team-b`.
    """
    path, location = canonical_path(url), _location(url)
    for written in prefixes:
        prefix = written.replace("{namespace}", namespace)
        form, folder = canonical_path(prefix), _location(prefix)
        exactly = location is not None and folder is not None and folder.holds(location)
        if exactly and (path == form or path.startswith(_inside(form))):
            return True
    return False


def _location(url: str) -> Location | None:
    try:
        return Location.parse(url)
    except NotALocation:
        return None


def contains_prefix(url: str, prefixes: Iterable[str], *, namespace: str) -> bool:
    """Whether a path is a prefix of a class or a parent of a prefix: then it is no folder for a table."""
    path = canonical_path(url)
    roots = (canonical_path(prefix.replace("{namespace}", namespace)) for prefix in prefixes)
    return any(root == path or root.startswith(_inside(path)) for root in roots)


def path_problem(url: str) -> str | None:
    """Return why a path is refused whatever the class allows, or None.

    The API server refuses the same, but not paths that it stored before it knew these rules. The canonical form ignores
    the case of a bucket, which is right only for the comparison of two tables.
    """
    location, canonical = _location(url), canonical_path(url)
    if location is None:
        return "is not an absolute path in a known store, or contains '..'"
    if location.bucket != location.bucket.lower():
        return "has capital letters in its bucket, so it is not the bucket that the class allows"
    if any(segment.lower() in INNER_FOLDERS for segment in canonical.split("/")):
        return f"lies in a folder {' or '.join(INNER_FOLDERS)}"
    return None


def is_below_bucket(canonical: str) -> bool:
    """Whether a canonical path is a folder below a bucket, or below a top folder of the file system."""
    scheme, _, rest = canonical.partition("://")
    least = 3 if scheme == "file" else 2  # a path of files begins with a slash, and its first folder may be a volume
    return len(rest.split("/")) >= least and all(rest.split("/")[1:])


def _inside(folder: str) -> str:
    """Return the prefix of the paths below a canonical path; only the root of the file system ends with a slash."""
    return folder if folder.endswith("/") else f"{folder}/"
