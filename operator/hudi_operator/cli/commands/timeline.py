"""`hudi-operator timeline`: prints a table's timeline, for people and for programs.

Starts without kopf, Kubernetes, pydantic or the S3 client unless needed.
"""

import json
import sys
from collections.abc import Sequence
from enum import StrEnum

import click

from hudi_jobs.contract.wording import escaped
from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.store import s3_options, store_options, url_of
from hudi_operator.storage import S3Options, StorageError, open_filesystem
from hudi_operator.timeline import ContentCache, Timeline, TimelineError, TimelineReader
from hudi_operator.timeline.archive import ArchivedTimeline, read_archive
from hudi_operator.timeline.output import timeline_document, timeline_table


class Output(StrEnum):
    """Output formats: a table for people, or a JSON document per path and line."""

    TABLE = "table"
    JSON = "json"


@declare(
    details="Reads the store with your own keys: the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
    examples=["timeline s3a://lake/team-a/orders", "timeline --archived -o json /data/lake/orders"],
    exit_codes={0: "every path was read", 2: "a path could not be read, or the arguments make no sense"},
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", help="Base path of a table: a folder or a URL.")
@click.option(
    "-o",
    "--output",
    type=click.Choice([one.value for one in Output]),
    default=Output.TABLE.value,
    help="For people, or JSON.",
)
@click.option("--archived", is_flag=True, help="Also read the archived timeline.")
@store_options
def command(paths: tuple[str, ...], output: str, archived: bool, s3_endpoint: str | None, s3_region: str | None) -> int:
    """Show the timelines of the paths."""
    s3 = s3_options(s3_endpoint, s3_region)
    return show(paths, output=Output(output), archived=archived, s3=s3)


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
    filesystem, base = open_filesystem(url_of(path), s3)
    timeline = TimelineReader(filesystem, cache).read(base)
    return timeline, read_archive(filesystem, base, timeline.properties) if archived else None
