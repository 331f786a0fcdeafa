"""`suspend` and `resume`: which tables or which namespace, and the annotation."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import click

from hudi_operator.api.resources import SUSPEND_ANNOTATION
from hudi_operator.cli.base.app import combined
from hudi_operator.cli.base.cluster import Place, TableName, in_cluster
from hudi_operator.cli.base.read import tables_of
from hudi_operator.kube.keys import table_key
from hudi_operator.kube.objects import NAMESPACE, ObjectKey

if TYPE_CHECKING:
    from hudi_operator.kube.person import PersonClient


class Chosen(NamedTuple):
    """What a command is about: tables by name, by label, all of a namespace, or the namespace itself."""

    tables: tuple[str, ...]
    selector: str | None
    every: bool
    namespace_wide: bool


def choice_options(function: Callable[..., int]) -> Callable[..., int]:
    """Declare the ways to choose tables."""
    return combined(
        click.argument("tables", nargs=-1, type=TableName(), metavar="[TABLE...]"),
        click.option("-l", "--selector", metavar="LABELS", help="The tables of the namespace with these labels."),
        click.option("--all", "every", is_flag=True, help="All tables that the namespace has now."),
        click.option("--namespace-wide", is_flag=True, help="The Namespace itself: its tables of today and tomorrow."),
        click.option("--dry-run", is_flag=True, help="Only have the API server check the request."),
    )(function)


def annotate_chosen(place: Place, chosen: Chosen, value: "Callable[[str | None], str] | None", *, dry_run: bool) -> int:
    """Set the annotation of what was chosen to `value(who)`, or remove it without `value`; print each object."""
    given = (bool(chosen.tables), chosen.selector is not None, chosen.every, chosen.namespace_wide)
    if sum(given) != 1:
        raise click.UsageError("name tables, or give one of -l, --all and --namespace-wide")

    async def write(client: "PersonClient") -> list[ObjectKey]:
        keys = await _keys(client, chosen)
        text = value(await client.who_am_i()) if value is not None else None
        for key in keys:
            await client.annotate(key, {SUSPEND_ANNOTATION: text}, dry_run=dry_run)
            done = "resumed" if text is None else f"suspended by {text!r}"
            print(f"{key.kind.name.lower()}/{key.name} {done}{' (dry run)' if dry_run else ''}")
        return keys

    if not in_cluster(place, write):
        print("No table was chosen.", file=sys.stderr)
    return 0


async def _keys(client: "PersonClient", chosen: Chosen) -> list[ObjectKey]:
    if chosen.namespace_wide:
        return [ObjectKey(NAMESPACE, "", client.namespace)]
    if chosen.tables:
        return [table_key(client.namespace, name) for name in chosen.tables]
    found = await tables_of(client, selector=chosen.selector)
    return [table_key(client.namespace, one.metadata.name) for one in found]
