"""`hudi-operator adopt`: prints resources for observing the tables below a prefix, as a stream of YAML."""

import math
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import click

from hudi_jobs.contract import Location
from hudi_jobs.contract.wording import counted, escaped, shortened
from hudi_operator.adoption.draft import Draft, draft_of
from hudi_operator.adoption.evidence import Evidence, Unreadable, read_evidence
from hudi_operator.adoption.search import Found, SearchLimits, find_tables
from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.object_names import ObjectName
from hudi_operator.cli.base.store import s3_options, store_options
from hudi_operator.storage import S3Options, StorageError, open_filesystem

_SHOWN = 300
_AT_ONCE = 8
"""Tables to read in parallel: a store is slow, and each table needs some forty requests."""

Result = TypeVar("Result")
Decorator = Callable[[Callable[..., int]], Callable[..., int]]

WRITTEN, PARTLY, NOTHING = 0, 1, 2
"""Exit codes: every table is a document; some tables are comments or unsearched; no table was found."""


class _Bounded(click.ParamType[float]):
    """A number within bounds; click's own range lets NaN pass."""

    name = "number"

    def __init__(self, kind: type[int] | type[float], *, least: int, most: int) -> None:
        self._kind, self._least, self._most = kind, least, most

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        try:
            number = self._kind(str(value))
        except ValueError:
            number = math.nan
        if not self._least <= number <= self._most:
            upper = "" if self._most == sys.maxsize else f" and at most {self._most}"
            self.fail(f"{value!r} is not a number that is at least {self._least}{upper}", param, ctx)
        return number


_LIMITS = SearchLimits()


def _limit(name: str, default: float, meaning: str, *, least: int = 1, most: int = sys.maxsize) -> Decorator:
    bounded = _Bounded(type(default), least=least, most=most)
    return click.option(
        f"--{name}", metavar="N", type=bounded, default=default, help=f"{meaning} (default: {default:g})."
    )


@declare(
    details="Reads the store with your own keys: the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
    examples=["adopt s3a://lake/ --namespace team-a --class standard"],
    exit_codes={WRITTEN: "every table is a resource", PARTLY: "some are comments or unsearched", NOTHING: "no table"},
)
@click.argument("prefix", help="Folder or URL that tables lie below.")
@click.option("-o", "--output", type=click.Choice(["yaml"]), default="yaml", expose_value=False, help="The format.")
@click.option("--namespace", metavar="NAME", type=ObjectName(), help="Namespace of the resources.")
@click.option("--class", "table_class", metavar="NAME", type=ObjectName(), help="tableClassName of the resources.")
@_limit("depth", _LIMITS.depth, "Most folders between the prefix and a table", least=0, most=32)
@_limit("folders", _LIMITS.folders, "Most folders to list")
@_limit("tables", _LIMITS.tables, "Most tables to write")
@_limit("seconds", _LIMITS.seconds, "Longest time to search")
@store_options
def command(
    *,
    prefix: str,
    namespace: str | None,
    table_class: str | None,
    depth: int,
    folders: int,
    tables: int,
    seconds: float,
    s3_endpoint: str | None,
    s3_region: str | None,
) -> int:
    """Write the resources."""
    limits = SearchLimits(depth=depth, folders=folders, tables=tables, seconds=seconds)
    s3 = s3_options(s3_endpoint, s3_region)
    return adopt(prefix, limits=limits, namespace=namespace, table_class=table_class, s3=s3)


def adopt(prefix: str, *, limits: SearchLimits, namespace: str | None, table_class: str | None, s3: S3Options) -> int:
    """Print a document for every table, and a summary on standard error; return the exit code."""
    try:
        filesystem, location = open_filesystem(prefix, s3)
        found = find_tables(filesystem, location, limits)
    except StorageError as error:
        return _nothing(str(error))
    drafts: dict[str, Draft] = {}

    def read(table: Location) -> Evidence | Unreadable:
        base_path = table.plain_url
        return _one(lambda: read_evidence(filesystem, table, base_path=base_path), base_path)

    def draft(evidence: Evidence | Unreadable) -> Draft:
        return draft_of(evidence, taken=drafts, namespace=namespace, table_class=table_class)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for evidence in pool.map(read, found.tables):
            written = _one(partial(draft, evidence), evidence.base_path)
            written = draft(written) if isinstance(written, Unreadable) else written
            drafts[written.name] = written
            print(written.text, end="")
    if not drafts and found.problems:
        _say(*found.problems, f"No Hudi table was found in {counted(found.folders, 'folder')} at or below {prefix}.")
        return PARTLY
    if not drafts:
        return _nothing(f"There is no Hudi table at or below {prefix}.")
    commented = [draft for draft in drafts.values() if draft.reasons]
    _summarise(found, len(drafts), len(commented))
    return PARTLY if commented or found.problems else WRITTEN


def _one(work: Callable[[], Result], base_path: str) -> Result | Unreadable:
    """Return the result for a table; an unforeseen error makes that table `Unreadable` and spares the others."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - the files of a table may be anything
        return Unreadable(base_path=base_path, reason=f"{type(error).__name__}: {shortened(str(error), _SHOWN)}")


def _summarise(found: Found, tables: int, commented: int) -> None:
    resources = "is written as a resource" if tables - commented == 1 else "are written as resources"
    comments = "is a comment" if commented == 1 else "are comments"
    _say(
        *found.problems,
        f"{tables - commented} of {counted(tables, 'table')} in {counted(found.folders, 'folder')} {resources}"
        + (f"; {commented} cannot be managed and {comments} with the reason." if commented else ".")
        + " Search for `decide:` before you apply them.",
    )


def _nothing(sentence: str) -> int:
    _say(sentence)
    return NOTHING


def _say(*sentences: str) -> None:
    """Print sentences on standard error, escaped for a terminal."""
    for sentence in sentences:
        print(escaped(sentence), file=sys.stderr)
