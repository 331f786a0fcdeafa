"""`kubectl hudi suspend`: stops new Jobs of tables."""

import click

from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.cluster import Place, cluster_options
from hudi_operator.cli.base.exit_codes import WRITE_CODES
from hudi_operator.cli.base.suspension import Chosen, annotate_chosen, choice_options
from hudi_operator.cli.render.request import suspension


@declare(
    details="Sets an annotation that says who suspends and why. A GitOps tool leaves it alone unless Git names it.\n\n"
    "A running Job finishes; HudiOperations still run.",
    examples=[
        "suspend orders --reason 'backfill until Friday'",
        "suspend --all -n team-a --reason 'the bucket moves'",
        "suspend -l tier=gold",
        "suspend --namespace-wide -n team-a",
    ],
    exit_codes=WRITE_CODES,
)
@choice_options
@click.option("--reason", metavar="TEXT", help="Why, for everybody who reads the status.")
@cluster_options
def command(
    *,
    place: Place,
    tables: tuple[str, ...],
    selector: str | None,
    every: bool,
    namespace_wide: bool,
    reason: str | None,
    dry_run: bool,
) -> int:
    """Suspend the chosen tables, or the namespace."""
    chosen = Chosen(tables, selector, every, namespace_wide)
    return annotate_chosen(place, chosen, lambda who: suspension(who, reason), dry_run=dry_run)
