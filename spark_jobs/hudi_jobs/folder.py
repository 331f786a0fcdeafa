"""Tells from texts alone, resolved like Hadoop does, whether a path in a table's metadata is inside the table.

Hadoop resolves `.` and `..` before it asks the store, and decodes nothing. A path with `..` counts as outside, wherever
it leads: no writer makes one.
"""

import re
from collections.abc import Iterable

from hudi_jobs.contract import OPERATOR_FOLDER, Location
from hudi_jobs.contract.table.location import relative_names

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
            names = relative_names("/".join((*within, path)))
            return names is not None and len(names) > len(within) and names[0] not in _RESERVED
        location = Location.parse_or_none(path)
        whole = self._location / "/".join(within) if within else self._location
        return location is not None and location != whole and whole.holds(location)

    def partition(self, path: str) -> list[str] | None:
        """Return the folder names of a partition; empty for an unpartitioned table, None when the path leads out."""
        names = relative_names(path)
        return None if names is None or not _RESERVED.isdisjoint(names[:1]) else list(names)

    def strangers(self, files: Iterable[tuple[str, str]]) -> list[str]:
        """Return the files outside of the table, from pairs of partition and file."""
        outside = ((partition, path) for partition, path in files if not self.holds(partition, path))
        return [f"{partition}/{path}"[:_NAMED_LIMIT] for partition, path in outside]
