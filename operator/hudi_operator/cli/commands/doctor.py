"""`hudi-operator doctor`: says what is wrong with every Hudi table below some prefixes, from the store alone."""

import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial

import click

from hudi_jobs.contract import Location
from hudi_jobs.contract.wording import escaped
from hudi_operator.adoption.search import SearchLimits, find_tables
from hudi_operator.api.status.findings import Severity
from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.output import has_colour, moment
from hudi_operator.cli.base.store import s3_options, store_options, url_of
from hudi_operator.cli.render.doctor_page import as_page
from hudi_operator.cli.render.doctor_report import as_document, as_markdown, as_text
from hudi_operator.diagnosis.examine import examine
from hudi_operator.diagnosis.report import LakeReport, TableReport, lake_report, reported
from hudi_operator.storage import FileSystem, S3Options, StorageError, open_filesystem

_AT_ONCE = 8
_LIMITS = SearchLimits()

SOUND, FOUND, NOTHING = 0, 1, 2
"""Exit codes: no finding as bad as `--fail-on`; such a finding, or a table or folder that was not read; no table."""


@declare(
    details="Reads the store with your own keys: the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. "
    "Makes at most 20 requests for a usual table, and writes nothing.",
    examples=["doctor s3a://lake/", "doctor s3a://lake/ -o html > lake.html", "doctor /data/lake --fail-on Warning"],
    exit_codes={
        SOUND: "no finding is as bad as --fail-on",
        FOUND: "a finding is, or a table could not be read or searched",
        NOTHING: "no table was found, or the arguments make no sense",
    },
)
@click.argument("prefixes", nargs=-1, required=True, metavar="PREFIX...", help="Folder or URL that tables lie below.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "markdown", "html"]),
    default="table",
    help="The format: a table for people by default; html is one page without anything from elsewhere.",
)
@click.option(
    "--fail-on",
    type=click.Choice([one.value for one in Severity]),
    default=Severity.CRITICAL.value,
    help="The least severity for exit code 1 (default: Critical).",
)
@click.option(
    "--depth", type=click.IntRange(0, 32), default=_LIMITS.depth, help="Most folders between a prefix and a table."
)
@store_options
def command(
    *,
    prefixes: tuple[str, ...],
    output: str,
    fail_on: str,
    depth: int,
    s3_endpoint: str | None,
    s3_region: str | None,
) -> int:
    """Print the report."""
    limits = SearchLimits(depth=depth)
    report = diagnose(prefixes, limits=limits, s3=s3_options(s3_endpoint, s3_region), now=moment())
    for problem in report.problems:
        print(escaped(problem), file=sys.stderr)
    if not report.tables:
        print(escaped(f"There is no Hudi table at or below {', '.join(prefixes)}."), file=sys.stderr)
        return NOTHING
    print(rendered(report, output), end="" if output in {"markdown", "html"} else "\n")
    is_bad = any(one.is_at_least(Severity(fail_on)) for one in report.tables)
    return FOUND if is_bad or report.problems else SOUND


def rendered(report: LakeReport, output: str) -> str:
    """Return the report in a format."""
    match output:
        case "json":
            return json.dumps(as_document(report), indent=2)
        case "markdown":
            return as_markdown(report)
        case "html":
            return as_page(report)
        case _:
            return as_text(report, colour=has_colour())


def diagnose(prefixes: Sequence[str], *, limits: SearchLimits, s3: S3Options, now: datetime) -> LakeReport:
    """Return the report on all tables below the prefixes, each read once; no table harms another."""
    tables: dict[str, TableReport] = {}
    problems: list[str] = []
    for prefix in prefixes:
        try:
            filesystem, location = open_filesystem(url_of(prefix), s3)
            found = find_tables(filesystem, location, limits)
        except StorageError as error:
            problems.append(str(error))
            continue
        problems += found.problems
        new = [one for one in found.tables if one.plain_url not in tables]
        tables.update((one.path, one) for one in _examined(filesystem, new, now=now))
    return lake_report(tables.values(), at=now, problems=problems)


def _examined(filesystem: FileSystem, tables: Sequence[Location], *, now: datetime) -> Iterator[TableReport]:
    def report(table: Location) -> TableReport:
        return reported(table.plain_url, partial(examine, filesystem, table, now=now))

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield from pool.map(report, tables)
