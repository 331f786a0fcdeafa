"""The families of checks, in the order in which they are shown."""

from collections.abc import Mapping

from hudi_operator.cli.preflight.check import Check
from hudi_operator.cli.preflight.checks.classes import check_classes
from hudi_operator.cli.preflight.checks.definitions import check_definitions
from hudi_operator.cli.preflight.checks.operators import check_operators
from hudi_operator.cli.preflight.checks.rights import check_rights
from hudi_operator.cli.preflight.checks.tables import check_tables
from hudi_operator.cli.preflight.checks.unreadable import check_objects
from hudi_operator.cli.preflight.checks.work import check_work

CHECKS: Mapping[str, Check] = {
    "definitions": check_definitions,
    "objects": check_objects,
    "classes": check_classes,
    "work": check_work,
    "tables": check_tables,
    "operators": check_operators,
    "rights": check_rights,
}
