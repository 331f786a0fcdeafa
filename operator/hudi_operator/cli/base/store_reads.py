"""Reads tables by their paths: prints their timelines, and returns the history of their columns.

Starts without kopf, Kubernetes, pydantic or the S3 client unless needed.
"""

import json
import sys
from collections.abc import Sequence
from itertools import islice

from hudi_jobs.contract.wording import escaped
from hudi_operator.cli.base.exit_codes import OK, USAGE
from hudi_operator.cli.base.store import url_of
from hudi_operator.storage import S3Options, StorageError, open_filesystem
from hudi_operator.timeline import ContentCache, Timeline, TimelineError, TimelineReader
from hudi_operator.timeline.archive import ArchivedTimeline, read_archive
from hudi_operator.timeline.output import timeline_document, timeline_table
from hudi_operator.timeline.rules.schema_steps import SchemaHistory, schema_history

MOST_COMMITS = 1_000
"""The most commits of the active timeline whose schemas are read, the newest first."""


def print_timelines(paths: Sequence[str], *, as_json: bool, archived: bool, s3: S3Options) -> int:
    """Print every readable path; report each unreadable path in a sentence on standard error."""
    cache = ContentCache()
    code = OK
    for position, path in enumerate(paths):
        try:
            timeline, archive = _read(path, archived=archived, s3=s3, cache=cache)
        except (TimelineError, StorageError) as error:
            print(escaped(f"{path}: {error}"), file=sys.stderr)
            code = USAGE
            continue
        if as_json:
            document = timeline_document(
                path,
                timeline,
                archived=archive.instants if archive else None,
                archive_problems=archive.problems if archive else (),
            )
            print(json.dumps(document))
        else:
            print("\n" * bool(position) + timeline_table(path, timeline, archive))
    return code


def _read(path: str, *, archived: bool, s3: S3Options, cache: ContentCache) -> tuple[Timeline, ArchivedTimeline | None]:
    filesystem, base = open_filesystem(url_of(path), s3)
    timeline = TimelineReader(filesystem, cache).read(base)
    return timeline, read_archive(filesystem, base, timeline.properties) if archived else None


def read_schema_history(path: str, s3: S3Options) -> SchemaHistory:
    """Return the history of a table's columns; raises `TimelineError` or `StorageError`."""
    filesystem, base = open_filesystem(url_of(path), s3)
    reader = TimelineReader(filesystem)
    commits = list(islice(reader.newest_commits(base, reader.read(base)), MOST_COMMITS))
    return schema_history(reversed(commits))
