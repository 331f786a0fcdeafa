"""`hudi-operator timeline`: prints a table's timeline, for people and for programs.

Starts without kopf, Kubernetes, pydantic or the S3 client unless needed.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from enum import StrEnum

from hudi_jobs.contract.wording import escaped
from hudi_operator.cli.main import Execute
from hudi_operator.storage import S3Options, StorageError, open_filesystem
from hudi_operator.timeline import ContentCache, Timeline, TimelineError, TimelineReader
from hudi_operator.timeline.archive import ArchivedTimeline, read_archive
from hudi_operator.timeline.output import timeline_document, timeline_table


class Output(StrEnum):
    """Output formats: a table for people, or a JSON document per path and line."""

    TABLE = "table"
    JSON = "json"


def declare(parser: argparse.ArgumentParser) -> Execute:
    """Declare the arguments of `timeline`; it exits with 2 if a path could not be read."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="base path of a table: a folder or a URL")
    parser.add_argument("-o", "--output", choices=[one.value for one in Output], default=Output.TABLE.value)
    parser.add_argument("--archived", action="store_true", help="also read the archived timeline")
    declare_store(parser)
    return lambda given: show(given.paths, output=Output(given.output), archived=given.archived, s3=s3_options(given))


def declare_store(parser: argparse.ArgumentParser) -> None:
    """Declare the object store's arguments; `s3_options` reads them."""
    parser.add_argument(
        "--s3-endpoint", metavar="URL", help="endpoint of an S3-compatible store (default: $AWS_ENDPOINT_URL)"
    )
    parser.add_argument("--s3-region", metavar="NAME", help="region of the store (default: $AWS_REGION)")


def s3_options(given: argparse.Namespace) -> S3Options:
    """Return the S3 options; missing arguments come from the environment, as in the AWS command line."""
    environment = os.environ
    return S3Options(
        endpoint=given.s3_endpoint or environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL"),
        region=given.s3_region or environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION"),
        access_key=environment.get("AWS_ACCESS_KEY_ID"),
        secret_key=environment.get("AWS_SECRET_ACCESS_KEY"),
        session_token=environment.get("AWS_SESSION_TOKEN"),
    )


def show(paths: Sequence[str], *, output: Output, archived: bool, s3: S3Options) -> int:
    """Print every readable path; report each unreadable path in a sentence on standard error."""
    cache = ContentCache()
    code = 0
    for position, path in enumerate(paths):
        try:
            timeline, archive = _read(path, archived=archived, s3=s3, cache=cache)
        except (TimelineError, StorageError) as error:
            print(escaped(f"{path}: {error}"), file=sys.stderr)
            code = 2
            continue
        if output is Output.JSON:
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
    url = path if "://" in path or path.startswith("file:") else os.path.abspath(path)  # noqa: PTH100 - keeps URLs whole
    filesystem, base = open_filesystem(url, s3)
    timeline = TimelineReader(filesystem, cache).read(base)
    return timeline, read_archive(filesystem, base, timeline.properties) if archived else None
