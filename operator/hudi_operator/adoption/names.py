"""Chooses resource names for tables, which have only a path. Pure."""

import re
from collections.abc import Collection

from hudi_jobs.contract import Location, NotALocation

_LONGEST = 63


def name_for(base_path: str, *, taken: Collection[str]) -> str:
    """Return a valid unused name: the last folder, prefixed by parent folders as needed."""
    parts = [slug for part in folders_of(base_path) if (slug := _slug(part))]
    candidates = ["-".join(parts[-number:]) for number in range(1, len(parts) + 1)]
    for candidate in candidates:
        if candidate not in taken and len(candidate) <= _LONGEST:
            return candidate
    first = candidates[0] if candidates else "table"
    number = 1
    while (name := _numbered(first, number)) in taken:
        number += 1
    return name


def folders_of(base_path: str) -> tuple[str, ...]:
    """Return the bucket, if any, and the folders of a base path; empty if the path is no location."""
    try:
        location = Location.parse(base_path)
    except NotALocation:
        return ()
    return tuple(filter(None, (location.bucket, *location.names)))


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _numbered(name: str, number: int) -> str:
    suffix = "" if number == 1 else f"-{number}"
    return name[: _LONGEST - len(suffix)].rstrip("-") + suffix
