"""Whether the index of a table is by buckets: a pure reading of the options of a run."""

from collections.abc import Mapping

INDEX, BUCKET = "hoodie.index.type", "BUCKET"


def is_in_buckets(options: Mapping[str, str]) -> bool:
    """Tell whether a key's hash says in which file of its partition it lies."""
    return options.get(INDEX) == BUCKET
