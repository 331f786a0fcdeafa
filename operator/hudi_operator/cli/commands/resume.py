"""`kubectl hudi resume`: ends what `suspend` has begun."""

from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.cluster import Place, cluster_options
from hudi_operator.cli.base.exit_codes import WRITE_CODES
from hudi_operator.cli.base.suspension import Chosen, annotate_chosen, choice_options


@declare(
    details="Removes the annotation. A table stays suspended while its spec or namespace suspends it: see `explain`.",
    examples=["resume orders", "resume --all -n team-a", "resume --namespace-wide -n team-a"],
    exit_codes=WRITE_CODES,
)
@choice_options
@cluster_options
def command(
    *, place: Place, tables: tuple[str, ...], selector: str | None, every: bool, namespace_wide: bool, dry_run: bool
) -> int:
    """Resume the chosen tables, or the namespace."""
    return annotate_chosen(place, Chosen(tables, selector, every, namespace_wide), None, dry_run=dry_run)
