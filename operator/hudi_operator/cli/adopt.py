"""`hudi-operator adopt`: prints resources for observing the tables below a prefix, as a stream of YAML."""

import argparse
import math
import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from hudi_jobs.contract import Location
from hudi_jobs.contract.wording import counted, escaped, shortened
from hudi_operator.adoption.draft import Draft, draft_of
from hudi_operator.adoption.evidence import Evidence, Unreadable, read_evidence
from hudi_operator.adoption.search import Found, SearchLimits, find_tables
from hudi_operator.cli.main import Execute
from hudi_operator.cli.timeline import declare_store, s3_options
from hudi_operator.storage import S3Options, StorageError, open_filesystem

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")

_SHOWN = 300
_AT_ONCE = 8
"""Tables to read in parallel: a store is slow, and each table needs some forty requests."""

Result = TypeVar("Result")

WRITTEN, PARTLY, NOTHING = 0, 1, 2
"""Exit codes: every table is a document; some tables are comments or unsearched; no table was found."""


def declare(parser: argparse.ArgumentParser) -> Execute:
    """Declare the arguments of `adopt`."""
    limits = SearchLimits()
    parser.add_argument("prefix", metavar="PREFIX", help="folder or URL that tables lie below")
    parser.add_argument("-o", "--output", choices=["yaml"], default="yaml")
    parser.add_argument("--namespace", metavar="NAME", type=_object_name, help="namespace of the resources")
    parser.add_argument(
        "--class", dest="table_class", metavar="NAME", type=_object_name, help="tableClassName of the resources"
    )
    for name, default, most, meaning in (
        ("--depth", limits.depth, 32, "most folders between the prefix and a table"),
        ("--folders", limits.folders, sys.maxsize, "most folders to list"),
        ("--tables", limits.tables, sys.maxsize, "most tables to write"),
        ("--seconds", limits.seconds, sys.maxsize, "longest time to search"),
    ):
        bounded = _Bounded(type(default), least=0 if name == "--depth" else 1, most=most)
        parser.add_argument(name, metavar="N", type=bounded, default=default, help=f"{meaning} (default: {default:g})")
    declare_store(parser)
    return _execute


def _execute(given: argparse.Namespace) -> int:
    wanted = SearchLimits(depth=given.depth, folders=given.folders, tables=given.tables, seconds=given.seconds)
    return adopt(
        given.prefix,
        limits=wanted,
        namespace=given.namespace,
        table_class=given.table_class,
        s3=s3_options(given),
    )


class _Bounded:
    """Parses a numeric argument and refuses values outside its bounds, in argparse's words."""

    def __init__(self, kind: type[int] | type[float], *, least: int, most: int) -> None:
        self._kind, self._least, self._most = kind, least, most

    def __call__(self, text: str) -> float:
        """Return the number."""
        try:
            value = self._kind(text)
        except ValueError:
            value = math.nan
        if not self._least <= value <= self._most:
            upper = "" if self._most == sys.maxsize else f" and at most {self._most}"
            raise argparse.ArgumentTypeError(f"{text!r} is not a number that is at least {self._least}{upper}")
        return value


def _object_name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name of a Kubernetes object")
    return text


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
