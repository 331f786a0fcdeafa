"""Tells from a run's options whether the table has a bucket index."""

from collections.abc import Mapping

INDEX, BUCKET = "hoodie.index.type", "BUCKET"


def is_in_buckets(options: Mapping[str, str]) -> bool:
    """Tell whether the hash of a key decides its file within the partition."""
    return options.get(INDEX) == BUCKET
