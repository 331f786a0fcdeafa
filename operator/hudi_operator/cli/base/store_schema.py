"""Reads the history of a table's columns from the store."""

from itertools import islice

from hudi_operator.cli.base.store import url_of
from hudi_operator.storage import S3Options, open_filesystem
from hudi_operator.timeline import TimelineReader
from hudi_operator.timeline.rules.schema_steps import SchemaHistory, schema_history

MOST_COMMITS = 1_000
"""The most commits of the active timeline whose schemas are read, the newest first."""


def read_schema_history(path: str, s3: S3Options) -> SchemaHistory:
    """Return the history of a table's columns; raises `TimelineError` or `StorageError`."""
    filesystem, base = open_filesystem(url_of(path), s3)
    reader = TimelineReader(filesystem)
    commits = list(islice(reader.newest_commits(base, reader.read(base)), MOST_COMMITS))
    return schema_history(reversed(commits))
