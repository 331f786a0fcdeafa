"""Whether the index of a table is by buckets, and of which kind: a pure reading of the options of a run."""

from collections.abc import Mapping

INDEX, BUCKET = "hoodie.index.type", "BUCKET"
_ENGINE, _NUMBERED = "hoodie.index.bucket.engine", "SIMPLE"


def is_in_buckets(options: Mapping[str, str]) -> bool:
    """Tell whether a key's hash says in which file of its partition it lies."""
    return options.get(INDEX) == BUCKET


def are_divided(options: Mapping[str, str]) -> bool:
    """Tell whether the table has buckets that are divided as they grow, by consistent hashing."""
    return is_in_buckets(options) and options.get(_ENGINE, _NUMBERED) != _NUMBERED
