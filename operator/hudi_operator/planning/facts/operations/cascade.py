"""Whether an erasure may continue on the tables that read its table; checked before anything is written.

Records that are erased upstream are gone for every later run of a reader. The reader's own erasure removes what it has
read before, with the table to itself. So the upstream table comes first, and no key can come back. A reader ingests
commits and does not follow a deletion.
"""

from collections.abc import Iterator

from hudi_jobs.contract import ConcurrencyMode, Location, OperationKind
from hudi_jobs.contract.operations.erase import MOST_CASCADED
from hudi_operator.api.resources import HudiOperation, HudiTable
from hudi_operator.api.spec.operation import OperationApproval
from hudi_operator.api.spec.table import ManagementPolicy
from hudi_operator.api.status.operation_status import FINISHED
from hudi_operator.planning.facts.operations.operation_kind import Answer, fails, waits
from hudi_operator.planning.model import Derived, DerivedTable, Observation, Reading, Related
from hudi_operator.planning.model.reasons import OperationReason
from hudi_operator.planning.policy.class_policy import is_allowed

_UNCHANGED = "Nothing was changed."
_ALONE = "erase from each table with a HudiOperation of its own, upstream tables first"


def cascade_problem(resource: HudiOperation, observation: Observation) -> Answer | None:
    """Return why an erasure cannot continue on other tables, and so does not begin; None if it can."""
    if not resource.spec.cascades:
        return None
    derived = observation.derived
    if derived is None:
        return waits(OperationReason.PENDING, "The operator does not know yet which tables read this table.")
    if (refused := _lineage_problem(derived, observation.table)) is not None:
        return refused
    found = [answer for one in derived.tables for answer in _problems(one, resource, observation.table)]
    # Problems that no time solves come first.
    return min(found, key=lambda answer: answer.reason in _MENDED, default=None)


_MENDED = frozenset({OperationReason.BLOCKED.value, OperationReason.NOT_ALLOWED.value})


def awaits_lineage(related: Related) -> bool:
    """Whether an operation has to continue on other tables, and may not have begun."""
    return any(
        one.spec.cascades and one.status.state not in FINISHED and not one.status.begun
        for one in related.operations
        if one.status.reason != OperationReason.CASCADING
    )


def cascade_asks_for_approval(resource: HudiOperation, observation: Observation) -> bool:
    """Whether the class of a reader requires approval of operations."""
    tables = observation.derived.tables if observation.derived is not None and resource.spec.cascades else ()
    classes = (one.table_class for one in tables)
    return any(one is not None and one.spec.operations.approval is OperationApproval.MANUAL for one in classes)


def cascade_wording(resource: HudiOperation, observation: Observation) -> str:
    """Return the tables that an erasure continues on, as the end of "erasure"."""
    tables = observation.derived.lineage.tables if observation.derived is not None and resource.spec.cascades else ()
    return f" from this table and {', '.join(tables)}" if tables else ""


def _lineage_problem(derived: Derived, table: HudiTable) -> Answer | None:
    lineage = derived.lineage
    if lineage.circle is not None:
        return _refused(_circle(table, lineage.circle))
    if len(lineage.tables) > MOST_CASCADED:
        return _refused(
            f"{len(lineage.tables):,} tables read this table, directly or through others, and the limit is "
            f"{MOST_CASCADED}: {_ALONE}."
        )
    return None


def _circle(table: HudiTable, other: Reading) -> str:
    """Return the sentence that refuses a circle; it names the other table only inside its namespace."""
    name, is_own = table.metadata.name, other.namespace == table.metadata.namespace
    who = f"tables {name} and {other.name}" if is_own else f"table {name} and a table of another namespace"
    named = "" if is_own else " The operator's log names the other table."
    return (
        f"The {who} read each other, so erased rows could come back from the other table: remove the source of one, or "
        f"{_ALONE}, while the others are suspended.{named}"
    )


def _problems(one: DerivedTable, resource: HudiOperation, upstream: HudiTable) -> Iterator[Answer]:
    """Yield why the same keys cannot be erased from a table."""
    table = one.table
    if table is None:
        yield _refused(f"The HudiTable {one.name} reads this table and is not valid: correct or delete it.")
        return
    if (problem := key_problem(table, upstream)) is not None:
        yield _refused(problem)
    if table.spec.concurrency.mode is ConcurrencyMode.OPTIMISTIC and not _may_be_beside_others(resource):
        message = (
            f"The table {one.name}, which reads this table, is Optimistic: stop its other writers, then create another "
            f"HudiOperation with acceptOtherWriters: true. {_UNCHANGED}"
        )
        yield fails(OperationReason.OTHER_WRITERS, message)
    yield from _not_allowed(one, table, resource)


def _may_be_beside_others(resource: HudiOperation) -> bool:
    return resource.spec.accept_other_writers or resource.spec.dry_run


def key_problem(table: HudiTable, upstream: HudiTable) -> str | None:
    """Return why the record key of a table may differ from the key of the table that it reads, or None."""
    name, fields = table.metadata.name, upstream.spec.record_key
    if set(table.spec.record_key) != set(fields):
        own = ", ".join(table.spec.record_key) or "none"
        return (
            f"The table {name} reads this table and has other record keys ({own} instead of {', '.join(fields)}), so "
            "the "
            f"operator cannot tell which of its records hold the keys: {_ALONE}."
        )
    if table.spec.ingestion is not None and table.spec.ingestion.transform is not None:
        return (
            f"The table {name} reads this table through a transform, so its record key may not be the same value: "
            f"{_ALONE}."
        )
    return None


def _not_allowed(one: DerivedTable, table: HudiTable, resource: HudiOperation) -> Iterator[Answer]:
    """Yield what a person or the platform team has to change first."""
    for blocker in one.blockers:
        yield waits(OperationReason.BLOCKED, f"Nothing starts on the table {one.name}: {blocker.message}")
    if table.metadata.deletion_timestamp is not None:
        yield waits(OperationReason.BLOCKED, f"The table {one.name}, which reads this table, is being deleted.")
    if table.spec.management_policy is ManagementPolicy.OBSERVE:
        yield waits(OperationReason.BLOCKED, f"The table {one.name}, which reads this table, is only observed.")
    if one.table_class is None:
        return
    name, policy = one.table_class.metadata.name, one.table_class.spec
    asks = f"for table {one.name}: ask the platform team to"
    if OperationKind.ERASE not in policy.operations.allowed:
        message = f"The HudiTableClass {name} does not allow Erase {asks} add it to operations.allowed."
        yield waits(OperationReason.NOT_ALLOWED, message)
    keys_from = resource.spec.erase.keys_from if resource.spec.erase is not None else None
    namespace = table.metadata.namespace
    if keys_from is not None and not is_allowed(
        Location.parse_or_none(keys_from.path), policy.allowed_source_paths, namespace=namespace
    ):
        message = f"The HudiTableClass {name} does not allow the path of keysFrom {asks} add it to allowedSourcePaths."
        yield waits(OperationReason.NOT_ALLOWED, message)


def _refused(sentence: str) -> Answer:
    return fails(OperationReason.REFUSED, f"{sentence} {_UNCHANGED}")
