"""Classes with settings that this version holds for unsafe, and tables that it would refuse by their class."""

from collections.abc import Iterator

from hudi_jobs.contract.wording import counted
from hudi_operator.api.resources import HudiTable, HudiTableClass, parse_table, parse_table_class
from hudi_operator.api.status.conditions import ConditionStatus, ConditionType
from hudi_operator.cli.plan.decision import class_of, unsafe_settings
from hudi_operator.cli.plan.files import Resource
from hudi_operator.cli.preflight.check import ClusterState, Document, Line, blocked, fine, name_of, unread, warning
from hudi_operator.cli.render.view import TableView
from hudi_operator.planning.policy.class_policy import policy_blockers

_SHOWN = 5


def check_classes(state: ClusterState) -> Iterator[Line]:
    """Say what this version holds against classes, and which tables it would stop by them."""
    if state.classes is None:
        yield unread("HudiTableClasses")
        return
    readable = [one for one in state.classes if isinstance(parse_table_class(dict(one)), HudiTableClass)]
    for one in readable:
        unsafe = unsafe_settings(Resource(file="", document=dict(one)), now=state.now)
        if unsafe is not None:
            yield warning(f"{name_of(one)} allows unsafe settings: {unsafe}", "Remove the setting, or accept it.")
    stopped = [(one, why) for one in state.tables if (why := _newly_refused(one, readable)) is not None]
    for view, why in stopped[:_SHOWN]:
        yield blocked(f"This version would stop HudiTable {view.name}: {why}", "Correct the table or its class first.")
    if len(stopped) > _SHOWN:
        yield blocked(
            f"This version would stop {len(stopped) - _SHOWN:,} more tables.", "Correct the named ones first."
        )
    if not stopped:
        yield fine(f"{counted(len(state.classes), 'class', 'classes')}: no table would be refused anew.")


def _newly_refused(view: TableView, classes: list[Document]) -> str | None:
    """Return why a class refuses a table by the rules of this version, if the table is not stopped already."""
    table = parse_table(dict(view.document))
    if view.is_condition(ConditionType.STALLED, ConditionStatus.TRUE) or not isinstance(table, HudiTable):
        return None
    table_class = class_of(view.document, classes)
    blockers = policy_blockers(table, table_class) if table_class is not None else ()
    return f"{blockers[0].reason}: {blockers[0].message}" if blockers else None
