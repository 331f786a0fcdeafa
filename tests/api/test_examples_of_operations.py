"""The examples show every kind of operation, and the class of the examples allows each on the table that it names."""

from __future__ import annotations

import pytest
from tests.api.test_examples import DOCUMENTS, Document, standard_class, table
from tests.planning.world import ago, done, observe, story

from hudi_jobs.contract import ConcurrencyMode, OperationKind, RepairStep, RunnableService
from hudi_operator.api.resources import (
    HudiOperation,
    HudiTable,
    HudiTableClass,
    parse_operation,
)
from hudi_operator.api.spec.operation import OperationApproval
from hudi_operator.api.status.operation_status import OperationState
from hudi_operator.api.status.savepoints import SavepointState, TableSavepoint
from hudi_operator.api.status.table_operations import NamedOperationJob
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.facts.operations.admission import admitted
from hudi_operator.planning.facts.operations.operation_kind import Answer
from hudi_operator.planning.model import Derived, Observation, TimelineSnapshot
from hudi_operator.timeline import TableType


def named(kind: str) -> dict[str, Document]:
    """The documents of a kind, by their names."""
    shown = (document for name, document in DOCUMENTS.items() if "/" not in name)
    return {document["metadata"]["name"]: document for document in shown if document["kind"] == kind}


def operation(document: Document) -> HudiOperation:
    parsed = parse_operation(document)
    assert isinstance(parsed, HudiOperation), parsed
    return parsed


OPERATIONS = [operation(document) for document in named("HudiOperation").values()]
EVERY = pytest.mark.parametrize("shown", OPERATIONS, ids=[one.metadata.name for one in OPERATIONS])
OLDER = 6
"""The table version from which every upgrade leads, and to which every downgrade can."""


@pytest.fixture(scope="module")
def table_class() -> HudiTableClass:
    return standard_class()


def table_of(shown: HudiOperation) -> HudiTable:
    """The example of the table that an operation names, without a pin that an upgrade asks to be taken out."""
    parsed = table(named("HudiTable")[shown.spec.table_ref.name])
    if shown.spec.kind is OperationKind.UPGRADE:
        return parsed.copy_with(spec=parsed.spec.copy_with(table_version=None))
    return parsed


def before(shown: HudiOperation, table_class: HudiTableClass) -> Observation:
    """The table of an operation, with the instant or the savepoint that the operation names."""
    found, kind, instant = table_of(shown), shown.spec.kind, shown.spec.instant
    pending = (f"{instant}.commit.requested", f"{instant}.inflight") if kind is OperationKind.REPAIR and instant else ()
    commit = instant if instant is not None and not pending else ago(1)
    files = (done("commit", 240), f"{commit}_{commit}.commit", *pending)
    savepoint = shown.spec.restore.savepoint if shown.spec.restore is not None else None
    if savepoint is not None:
        kept = TableSavepoint(instant=commit, resource=savepoint, state=SavepointState.KEPT)
        found = found.copy_with(status=HudiTableStatus(savepoints=(kept,)))
    version = OLDER if kind is OperationKind.UPGRADE else 9
    timeline = story(*files, kind=TableType[found.spec.type.name], version=version)
    snapshot = TimelineSnapshot(timeline=timeline)
    return observe(found, table_class=table_class, snapshot=snapshot, derived=Derived())


def test_the_examples_show_every_kind_of_operation_every_repair_and_every_service() -> None:
    assert {one.spec.kind for one in OPERATIONS} == set(OperationKind)
    assert {one.spec.repair.step for one in OPERATIONS if one.spec.repair is not None} == set(RepairStep)
    services = {one.spec.run_service.service for one in OPERATIONS if one.spec.run_service is not None}
    assert services == set(RunnableService)


def test_the_examples_show_each_way_to_name_what_is_erased_and_by_whom() -> None:
    shown = [(one.spec.erase, one.spec.requested_by) for one in OPERATIONS if one.spec.erase is not None]
    ways = [name for erase, _ in shown for name in ("keys", "keys_from", "where") if getattr(erase, name)]
    assert set(ways) == {"keys", "keys_from", "where"}
    assert {erase.cascade for erase, _ in shown} == {True, False}
    assert all(requester for _, requester in shown), "else the proof has no name"


def test_the_examples_show_an_operation_on_a_table_whose_other_writers_are_stopped() -> None:
    accepting = [one for one in OPERATIONS if one.spec.accept_other_writers]
    assert accepting
    assert {table_of(one).spec.concurrency.mode for one in accepting} == {ConcurrencyMode.OPTIMISTIC}


def test_the_class_of_the_examples_asks_for_approval_and_keeps_reports(table_class: HudiTableClass) -> None:
    assert table_class.spec.operations.approval is OperationApproval.MANUAL
    assert table_class.spec.operations.report_path is not None


def test_a_restore_goes_back_to_a_savepoint_of_the_examples() -> None:
    restores = [(one, one.spec.restore.savepoint) for one in OPERATIONS if one.spec.restore is not None]
    assert restores
    for one, savepoint in restores:
        assert savepoint is not None
        assert named("HudiSavepoint")[savepoint]["spec"]["tableRef"] == {"name": one.spec.table_ref.name}


@EVERY
def test_an_operation_waits_for_nothing_but_its_approval(shown: HudiOperation, table_class: HudiTableClass) -> None:
    seen = before(shown, table_class)
    answer = admitted(shown, seen)
    if not shown.spec.dry_run:
        assert isinstance(answer, Answer)
        assert answer.state is OperationState.AWAITING_APPROVAL, answer.message
        spec = shown.spec.copy_with(approved=True)
        answer = admitted(shown.copy_with(spec=spec), seen)
    assert isinstance(answer, NamedOperationJob), answer
    assert (answer.kind, answer.resource) == (shown.spec.kind, shown.metadata.name)
