"""What forbids a move, and what a table forgets by it, from values."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hudi_jobs.contract.wording import counted, listed
from hudi_operator.api.resources import InvalidObject, parse_operation
from hudi_operator.api.spec.table import DeletionPolicy
from hudi_operator.api.status.operation_status import FINISHED
from hudi_operator.api.status.table_parts import Protection, TakeoverPhase
from hudi_operator.api.status.timeline import PendingOwner
from hudi_operator.cli.move.gitops import INSTANCE_LABEL, is_tracked_by_label, kept_by
from hudi_operator.cli.render.view import TableView, operation_status
from hudi_operator.kube.objects import part

Document = Mapping[str, Any]


def refusals(view: TableView, operations: Sequence[Document]) -> list[str]:
    """Return why a table cannot move to another namespace now, each with what to do."""
    return [*_of_policy(view), *_of_operations(view, operations)]


def kept_in_git(documents: Sequence[Document]) -> list[str]:
    """Return which objects a tool keeps as a repository says, and would change back."""
    return [
        f"{tool} keeps {one['kind']} {one['metadata']['name']} as its repository says, and would undo the move. "
        f"Commit the printed YAML instead.{_doubt(one)}"
        for one in documents
        if (tool := kept_by(one)) is not None
    ]


def _doubt(document: Document) -> str:
    """Return what to do where a person may have set the label by which Argo CD knows its objects."""
    if not is_tracked_by_label(document):
        return ""
    application = part(document, "metadata", "labels")[INSTANCE_LABEL]
    return (
        f" The label {INSTANCE_LABEL} names the application {application}. If Argo CD has no such application, remove "
        "the label and repeat the command."
    )


def _of_policy(view: TableView) -> Iterator[str]:
    # A policy of a later version is unknown here, and may delete.
    policy = view.declared("deletionPolicy") or DeletionPolicy.RETAIN.value
    if policy != DeletionPolicy.RETAIN.value:
        name, namespace = view.metadata.name, view.metadata.namespace
        yield (
            f"deletionPolicy of HudiTable {view.name} is {policy}, so the move would delete the data. Set Retain: "
            f'kubectl patch ht {name} -n {namespace} --type merge -p \'{{"spec": {{"deletionPolicy": "Retain"}}}}\''
        )


def _of_operations(view: TableView, operations: Sequence[Document]) -> Iterator[str]:
    parsed = [parse_operation(dict(one)) for one in operations]
    named = {one.metadata.name for one in parsed if not _is_finished(one)}
    named |= {one.resource for one in view.status.operations if one.begun and one.state not in FINISHED}
    if named:
        yield (
            f"HudiOperation {listed(sorted(named), 3)} of HudiTable {view.name} has not ended. Wait for the end, or "
            "delete what has not begun."
        )


def _is_finished(operation: Any) -> bool:  # noqa: ANN401 - what `parse_operation` returns
    if isinstance(operation, InvalidObject):
        return not operation.operation.begun
    return operation_status(operation).state in FINISHED


def losses(view: TableView) -> list[str]:
    """Return what a table forgets with its status, if it matters: each with what to do."""
    return [*_decisions(view), *_operations(view), *_writers(view), *_records(view)]


def _decisions(view: TableView) -> Iterator[str]:
    status, decided = view.status, view.status.decisions
    if decided is not None and decided.accepted_up_to:
        yield (
            f"The decision to accept commits of other writers up to {decided.accepted_up_to}: if the new table is "
            "Stalled with ForeignWriter, accept them again."
        )
    if decided is not None and decided.take_over:
        yield f"The decision to take the table over from {decided.take_over}: if OwnedElsewhere comes back, repeat it."
    if decided is not None and decided.rescans:
        yield f"{counted(len(decided.rescans), 'request')} to read input once more: create the HudiOperation again."
    if status.bad_rows is not None and status.bad_rows.total:
        yield f"{counted(status.bad_rows.total, 'quarantined row')} that nobody has acknowledged: look at them now."


def _operations(view: TableView) -> Iterator[str]:
    ended = view.status.ended_operations
    if ended:
        yield (
            f"{counted(len(ended), 'finished HudiOperation')}: do not apply their files in the new namespace, because "
            "the new table would run them again."
        )


def _writers(view: TableView) -> Iterator[str]:
    status = view.status
    own = sorted(
        {
            *status.left_behind,
            *(
                one.time
                for _, service in status.services
                if service is not None
                for one in service.pending
                if one.owner is PendingOwner.THIS_TABLE
            ),
        }
    )
    if own:
        yield (
            f"Which pending instants its own runs have left ({', '.join(own[:3])}): the new table may leave them alone "
            "for pendingInstantAlarm of its class, as those of another tool."
        )
    takeover = status.takeover
    if takeover is not None and takeover.phase is not TakeoverPhase.DONE:
        yield "How long the table has been quiet: the takeover waits for quietFor of the class again."
    if takeover is not None and takeover.protection is Protection.KEPT:
        yield (
            f"That the savepoint {takeover.savepoint} of the takeover is the operator's own: nothing removes it any "
            "more. Adopt it by a HudiSavepoint to remove it."
        )


def _records(view: TableView) -> Iterator[str]:
    status = view.status
    parts = {
        "the history of runs": bool(status.history),
        "the costs of 35 days": any(one is not None and one.costs for _, one in status.services),
        "the kept logs of failed runs": bool(status.failed_logs),
    }
    found = [name for name, is_there in parts.items() if is_there]
    if found:
        text = " and ".join(found)
        yield f"{text[0].upper()}{text[1:]}: save them first if you need them (`kubectl hudi history`, `cost`, `logs`)."
