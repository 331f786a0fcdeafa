"""`kubectl hudi preflight`: what must be done or known before the operator is upgraded."""

import sys

from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.cluster import Place, cluster_options, in_cluster
from hudi_operator.cli.base.exit_codes import FOUND, OK
from hudi_operator.cli.base.output import has_colour, output_option
from hudi_operator.cli.preflight.answers import preflight_document, preflight_text, summary, worst_of
from hudi_operator.cli.preflight.check import Verdict
from hudi_operator.cli.preflight.check_order import CHECKS
from hudi_operator.cli.preflight.observe import read_cluster
from hudi_operator.cli.render.text import value_as


@declare(
    details="Compares the cluster with the version of this command, so use the command line of the release to upgrade "
    "to. Looks at definitions, stored objects, classes, what is under way, the operators and your rights, and changes "
    "nothing.\n\n"
    "Rules between fields are checked once the definitions of this version are applied: run it again then.",
    examples=["preflight", "preflight -o yaml"],
    exit_codes={
        0: "nothing is Blocked",
        1: "something is Blocked: do first what the line says",
        2: "the arguments make no sense",
        3: "the cluster is unreachable, or does not let you read the tables",
    },
)
@output_option("json", "yaml")
@cluster_options
def command(*, place: Place, output: str) -> int:
    """Print the answers of all checks."""
    state = in_cluster(place, read_cluster)
    found = {family: list(check(state)) for family, check in CHECKS.items()}
    if output == "table":
        print(preflight_text(found, colour=has_colour()))
        print(summary(found), file=sys.stderr)
    else:
        print(value_as(preflight_document(found), output))
    return FOUND if worst_of(found) is Verdict.BLOCKED else OK
