"""Tells from texts alone, resolved like Hadoop does, whether a path in a table's metadata is inside the table.

Hadoop resolves `.` and `..` before it asks the store, and decodes nothing. A path with `..` counts as outside, wherever
it leads: no writer makes one.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from hudi_jobs.contract import OPERATOR_FOLDER, Location, NotALocation

_RESERVED = frozenset({".hoodie", OPERATOR_FOLDER})
_SCHEME = re.compile(r"[^/]*:")
_NAMED_LIMIT = 200


class Folder:
    """The folder of a table, or of its metadata table."""

    def __init__(self, base_path: str) -> None:
        """Raise `NotALocation`, a `ValueError`, unless the path is absolute."""
        self._location = Location.parse(base_path)

    def holds(self, partition: str, path: str) -> bool:
        """Tell whether a file, by its name or whole path, is in a partition of the table."""
        within = self.partition(partition)
        if within is None or not path or "\0" in path:
            return False
        if not path.startswith("/") and not _SCHEME.match(path):
            names = _names("/".join((*within, path)))
            return names is not None and len(names) > len(within) and names[0] not in _RESERVED
        try:
            location = Location.parse(path)
        except NotALocation:
            return False
        whole = replace(self._location, names=(*self._location.names, *within))
        return location != whole and whole.holds(location)

    def partition(self, path: str) -> list[str] | None:
        """Return the folder names of a partition; empty for an unpartitioned table, None when the path leads out."""
        if not stays_below(path):
            return None
        names = _names(path)
        return None if names is None or not _RESERVED.isdisjoint(names[:1]) else names

    def strangers(self, files: Iterable[tuple[str, str]]) -> list[str]:
        """Return the files outside of the table, from pairs of partition and file."""
        outside = ((partition, path) for partition, path in files if not self.holds(partition, path))
        return [f"{partition}/{path}"[:_NAMED_LIMIT] for partition, path in outside]


def stays_below(path: str) -> bool:
    """Tell whether a path is relative and stays below its folder."""
    return not (path.startswith("/") or "\0" in path or _SCHEME.match(path)) and _names(path) is not None


def _names(path: str) -> list[str] | None:
    """Return the names in a path, or None when a name leads upwards."""
    names = [name for name in path.split("/") if name not in {"", "."}]
    return None if ".." in names else names
