"""Paths that a class allows.

An allowed path lies below a prefix twice: as the store compares it (`Location.holds`), and as any tool might take it
(`Location.may_hold`).
"""

import hashlib
from collections.abc import Iterable, Iterator

from hudi_jobs.contract.table.location import Location, canonical_path, covers
from hudi_operator.api.values.paths import INNER_FOLDERS


def path_hash(canonical: str) -> str:
    """Return a short digest that names a canonical path."""
    return hashlib.sha256(canonical.encode()).hexdigest()[:32]


def is_allowed(location: Location | None, prefixes: Iterable[str], *, namespace: str) -> bool:
    """Whether a path lies under a prefix of a class; `{namespace}` stands for the table's namespace.

    Prefixes end at folder boundaries: `s3://lake/team` does not allow `s3://lake/team-b`. None is no location, which no
    class allows.
    """
    if location is None:
        return False
    folders = (Location.parse_or_none(one) for one in _written_out(prefixes, namespace))
    return any(one is not None and one.holds(location) and one.may_hold(location) for one in folders)


def contains_prefix(location: Location, prefixes: Iterable[str], *, namespace: str) -> bool:
    """Whether a path is a prefix of a class or a parent of a prefix: then it is no folder for a table."""
    return any(covers(location.canonical, canonical_path(one)) for one in _written_out(prefixes, namespace))


def path_problem(location: Location | None) -> str | None:
    """Return why a path is refused whatever the class allows, or None.

    The API server refuses the same, but not paths that it stored before it knew these rules. The canonical form ignores
    the case of a bucket, which is right only for the comparison of two tables.
    """
    if location is None:
        return "is not an absolute path in a known store, or contains '..'"
    if location.bucket != location.bucket.lower():
        return "has capital letters in its bucket, so it is not the bucket that the class allows"
    if any(segment.lower() in INNER_FOLDERS for segment in location.canonical.split("/")):
        return f"lies in a folder {' or '.join(INNER_FOLDERS)}"
    return None


def _written_out(prefixes: Iterable[str], namespace: str) -> Iterator[str]:
    return (prefix.replace("{namespace}", namespace) for prefix in prefixes)
