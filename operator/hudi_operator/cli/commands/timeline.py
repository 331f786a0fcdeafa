"""`timeline`: a table of the cluster by its name, from the status; tables of a store by their paths, from the store.

By path, the command starts without kopf, Kubernetes, pydantic or the S3 client unless needed.
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from hudi_jobs.contract.wording import escaped
from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.app import program
from hudi_operator.cli.base.cluster import Place, TableName, cluster_options, in_cluster, without_kind
from hudi_operator.cli.base.exit_codes import FOUND, OK
from hudi_operator.cli.base.object_names import is_name
from hudi_operator.cli.base.store import s3_options, store_options
from hudi_operator.cli.base.store_reads import print_timelines

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_OF_PATHS = ("table", "json")


def named_table(word: str) -> str | None:
    """Return the table that a word names; None for a path.

    `ht/NAME` is a table. A bare name is a table for `kubectl hudi`, and a folder for `hudi-operator`.
    """
    name = without_kind(word)
    is_table = name != word or program() != "hudi-operator"
    return name if is_table and is_name(name) else None


class _TableOrPath(TableName):
    """A table or a path; `kubectl hudi` completes names of tables."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002 - click's signature
        """Return the word as it is."""
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        """Return the tables whose names begin with a text, where a bare name is a table."""
        return [] if program() == "hudi-operator" else super().shell_complete(ctx, param, incomplete)


class _Asked(NamedTuple):
    """The options of a store."""

    archived: bool
    s3_endpoint: str | None
    s3_region: str | None


@declare(
    details="TABLE is a table of the cluster: the newest ten instants, what is pending, and the counts, as the status "
    "has them, without a key of the store.\n\n"
    "With PATH it reads the store with your own keys: the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. It "
    "then shows every instant. The formats are then table and json.\n\n"
    "A bare name is a table for `kubectl hudi` and a folder for `hudi-operator`; `ht/NAME` is a table for both.",
    examples=[
        "timeline ht/orders",
        "timeline ht/orders -n team-a -o wide",
        "timeline s3a://lake/team-a/orders",
        "timeline --archived -o json /data/lake/orders",
    ],
    exit_codes={
        0: "printed",
        1: "there is no such table, or its status has no timeline",
        2: "a path could not be read, or the arguments make no sense",
        3: "no access to the cluster",
    },
)
@click.argument(
    "words",
    nargs=-1,
    required=True,
    type=_TableOrPath(),
    metavar="TABLE|PATH...",
    help="Name of a HudiTable, or base paths of tables: folders or URLs.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "wide", "json", "yaml", "name"]),
    default="table",
    help="The format: a table for people by default.",
)
@click.option("--archived", is_flag=True, help="With PATH: also read the archived timeline.")
@store_options
@cluster_options
def command(
    *,
    place: Place,
    words: tuple[str, ...],
    output: str,
    archived: bool,
    s3_endpoint: str | None,
    s3_region: str | None,
) -> int:
    """Show the timeline of a table, or of each path."""
    asked, tables = _Asked(archived, s3_endpoint, s3_region), [named_table(one) for one in words]
    if all(one is None for one in tables):
        return _of_paths(words, asked, output)
    (table, *others) = tables
    if table is None or others:
        raise click.UsageError("name one table, or paths only")
    if any(asked):
        raise click.UsageError("--archived and the options of a store are for paths, not for a table of the cluster")
    return _of_table(place, table, output)


def _of_table(place: Place, table: str, output: str) -> int:
    # Reading paths loads none of these.
    from hudi_operator.cli.base.output import has_colour, moment, print_documents  # noqa: PLC0415
    from hudi_operator.cli.base.read import table_of  # noqa: PLC0415
    from hudi_operator.cli.render import instant_table as render  # noqa: PLC0415
    from hudi_operator.cli.render.explanation import Shown  # noqa: PLC0415
    from hudi_operator.cli.render.text import value_as  # noqa: PLC0415

    view = in_cluster(place, lambda client: table_of(client, table))
    timeline = view.status.timeline
    if output == "name":
        print_documents([view.document], output)
    elif output in {"json", "yaml"}:
        print(value_as(render.timeline_document(view), output))
    elif timeline is not None:
        shown = Shown(now=moment(), colour=has_colour())
        print(render.timeline_text(view, timeline, shown, wide=output == "wide"))
    if timeline is None:
        why = view.why or "the operator has not written a status yet."
        print(escaped(f"The status of HudiTable {view.name} has no timeline: {why}"), file=sys.stderr)
    return FOUND if timeline is None else OK


def _of_paths(paths: Sequence[str], asked: _Asked, output: str) -> int:
    if output not in _OF_PATHS:
        raise click.UsageError(f"the formats of a path are {' and '.join(_OF_PATHS)}")
    s3 = s3_options(asked.s3_endpoint, asked.s3_region)
    return print_timelines(paths, as_json=output == "json", archived=asked.archived, s3=s3)
