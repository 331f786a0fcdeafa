"""`hudi-operator adopt`: the resources by which the tables below a prefix can be observed, as a stream of YAML."""

import re
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from hudi_operator.adoption.draft import Draft, draft_of
from hudi_operator.adoption.evidence import Evidence, Unreadable, read_evidence
from hudi_operator.adoption.search import Found, SearchLimits, find_tables
from hudi_operator.cli.timeline import s3_options
from hudi_operator.storage import S3Options, StorageError, open_filesystem, parse_url

if TYPE_CHECKING:
    import typer

_SUMMARY = "Write the resources by which the Hudi tables below a prefix can be observed, as YAML to review."
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")

_AT_ONCE = 8
"""Tables that are read at the same time: a store answers slowly, and each needs some forty requests."""

WRITTEN, PARTLY, NOTHING = 0, 1, 2
"""Exit codes: every table is a document; some are comments or were not looked at; none was found."""


class Output(StrEnum):
    """How the command prints: a stream of YAML documents."""

    YAML = "yaml"


def register(application: "typer.Typer") -> None:
    """Add the command to a typer application."""
    import typer  # noqa: PLC0415 - other commands do without it

    limits = SearchLimits()

    @application.command("adopt", help=_SUMMARY)
    def adopt_tables(
        prefix: Annotated[str, typer.Argument(metavar="PREFIX", help="folder or URL that tables lie below")],
        *,
        output: Annotated[Output, typer.Option("-o", "--output")] = Output.YAML,  # noqa: ARG001 - there is one so far
        namespace: Annotated[str | None, typer.Option(help="namespace of the resources")] = None,
        table_class: Annotated[str | None, typer.Option("--class", help="tableClassName of the resources")] = None,
        depth: Annotated[int, typer.Option(min=0, max=32, help="most folders between")] = limits.depth,
        folders: Annotated[int, typer.Option(min=1, help="most folders to look at")] = limits.folders,
        tables: Annotated[int, typer.Option(min=1, help="most tables to write")] = limits.tables,
        seconds: Annotated[float, typer.Option(min=1, help="longest time to search")] = limits.seconds,
        s3_endpoint: Annotated[str | None, typer.Option(help="endpoint of an S3-compatible store")] = None,
        s3_region: Annotated[str | None, typer.Option(help="region of the store")] = None,
    ) -> None:
        for name in (namespace, table_class):
            if name is not None and not _NAME.fullmatch(name):
                raise typer.BadParameter(f"{name!r} is no name of a Kubernetes object")
        wanted = SearchLimits(depth=depth, folders=folders, tables=tables, seconds=seconds)
        s3 = s3_options(endpoint=s3_endpoint, region=s3_region)
        raise typer.Exit(adopt(prefix, limits=wanted, namespace=namespace, table_class=table_class, s3=s3))


def adopt(prefix: str, *, limits: SearchLimits, namespace: str | None, table_class: str | None, s3: S3Options) -> int:
    """Print a document for every table and a summary on standard error; return the exit code."""
    try:
        location = parse_url(prefix)
        filesystem, path = open_filesystem(prefix, s3)
        found = find_tables(filesystem, path, limits)
    except StorageError as error:
        return _nothing(str(error))
    scheme = "file" if location.bucket is None else prefix.partition(":")[0].lower()
    drafts: dict[str, Draft] = {}

    def read(table: str) -> Evidence | Unreadable:
        return read_evidence(filesystem, table, base_path=f"{scheme}://{table}")

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for evidence in pool.map(read, found.tables):
            draft = draft_of(evidence, taken=drafts, namespace=namespace, table_class=table_class)
            drafts[draft.name] = draft
            print(draft.text, end="")
    if not drafts:
        return _nothing(*_printable(found.problems), f"There is no Hudi table at or below {prefix}.")
    commented = [draft for draft in drafts.values() if draft.reasons]
    _summarise(found, len(drafts), len(commented))
    return PARTLY if commented or found.problems else WRITTEN


def _summarise(found: Found, tables: int, commented: int) -> None:
    for problem in _printable(found.problems):
        print(problem, file=sys.stderr)
    print(
        f"{tables - commented} of {tables} tables in {found.folders} folders are written as resources"
        + (f"; {commented} cannot be managed and are comments with the reason." if commented else ".")
        + " Search for `decide:` before you apply them.",
        file=sys.stderr,
    )


def _nothing(*sentences: str) -> int:
    for sentence in _printable(sentences):
        print(sentence, file=sys.stderr)
    return NOTHING


def _printable(sentences: Iterable[str]) -> Iterator[str]:
    """Yield what may be shown on a terminal, whatever a folder is called."""
    for sentence in sentences:
        yield "".join(each if each.isprintable() else "?" for each in sentence)
