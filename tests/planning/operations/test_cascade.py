"""An erasure that goes on to the tables that read its own: which those are, what is in its way, how far it came."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.operations.operations import allowing, decided, entry, launches, of, operation, world
from tests.planning.operations.test_lineage import reading
from tests.planning.operations.told import told_as
from tests.planning.world import NOW, table, table_class

from hudi_operator.api.resources import HudiOperation
from hudi_operator.api.status.operation_status import HudiOperationStatus, OperationState
from hudi_operator.jobs.requests.erasure import build_erase_task
from hudi_operator.jobs.resources import build_cascaded, cascaded_name
from hudi_operator.planning.facts.operations.cascade import awaits_lineage
from hudi_operator.planning.facts.operations.declared import may_have_begun
from hudi_operator.planning.model import Derived, DerivedTable, Lineage, Observation
from hudi_operator.planning.model.observation import Related
from hudi_operator.planning.outcome.status.cascade_status import CascadeSeen
from hudi_operator.planning.outcome.status.operation_status import OperationStep, decide_operation

KEY = "customer-of-ours"
ANOTHER = "Another HudiOperation, which does not ask for the same, has this name."
SOURCE = {"source": {"hudi": {"path": "s3a://lake/flights"}}}


def erasing(**changes: Any) -> HudiOperation:
    given = {key: changes.pop(key) for key in ("keys", "keysFrom") if key in changes} or {"keys": [{"id": KEY}]}
    return operation(erase={**given, "cascade": True}, **changes)


def reader(name: str = "totals", *, of_class: Any = None, **changes: Any) -> DerivedTable:
    spec = {"recordKey": ["id"], "basePath": f"s3a://lake/{name}", "ingestion": SOURCE, **changes}
    return DerivedTable(name=name, table=table(name=name, **spec), table_class=of_class or allowing())


def seen(*readers: DerivedTable, asked: HudiOperation | None = None, **changes: Any) -> Observation:
    lineage = changes.pop("lineage", Lineage(tables=tuple(one.name for one in readers)))
    found = world(asked or erasing(), recordKey=["id"], **{"table_class": allowing(), **changes})
    return replace(found, derived=Derived(lineage=lineage, tables=readers))


def test_cascade_begins_if_the_same_keys_can_be_erased_from_all_tables() -> None:
    recorded = (entry(kind="Erase"),)
    assert len(launches(seen(reader(), remembered=recorded))) == 1
    assert launches(replace(seen(reader(), remembered=recorded), derived=None)) == [], "not known yet"


@pytest.mark.parametrize(
    ("readers", "changes", "reason", "said"),
    [
        ((reader(recordKey=["day"]),), {}, "OperationRefused", "other record keys (day instead of id)"),
        (
            (reader(ingestion={**SOURCE, "transform": {"sql": "SELECT md5(id) AS id FROM source"}}),),
            {},
            "OperationRefused",
            "totals reads this table through a transform",
        ),
        ((DerivedTable(name="totals"),), {}, "OperationRefused", "totals reads this table and is not valid"),
        (
            (reader(concurrency={"mode": "Optimistic"}),),
            {},
            "OtherWriters",
            "acceptOtherWriters: true",
        ),
        ((reader(managementPolicy="Observe"),), {}, "Blocked", "only observed"),
        ((reader(of_class=table_class()),), {}, "OperationNotAllowed", "does not allow Erase for table totals"),
        (
            (),
            {"lineage": Lineage(circle=reading("totals", None))},
            "OperationRefused",
            "The tables flights and totals read each other",
        ),
        (
            (),
            {"lineage": Lineage(circle=reading("totals", None, namespace="team-b"))},
            "OperationRefused",
            "The table flights and a table of another namespace read each other",
        ),
        (
            (),
            {"lineage": Lineage(tables=tuple(f"t{number}" for number in range(21)))},
            "OperationRefused",
            "the limit is 20",
        ),
    ],
)
def test_obstacle_of_any_table_is_reported_before_anything_is_written(
    readers: tuple[DerivedTable, ...], changes: dict[str, Any], reason: str, said: str
) -> None:
    found = of(seen(*readers, **changes))
    assert found.reason == reason
    assert said in found.message
    assert KEY not in found.message
    assert launches(seen(*readers, **changes, remembered=(entry(kind="Erase"),))) == []


def test_a_file_of_keys_has_to_be_allowed_to_each_table() -> None:
    asked = erasing(keysFrom={"path": "s3a://lake/forget/keys.jsonl"})
    allows = table_class(operations={"allowed": ["Erase"]}, allowedSourcePaths=["s3a://lake/forget"])
    assert of(seen(reader(of_class=allows), asked=asked, table_class=allows)).state is OperationState.DRAINING
    assert "the path of keysFrom for table totals" in of(seen(reader(), asked=asked, table_class=allows)).message


def test_where_one_table_asks_for_approval_all_wait_for_it_and_the_approver_sees_which() -> None:
    manual = allowing(approval="Manual")
    found = of(seen(reader(of_class=manual)))
    assert found.state is OperationState.AWAITING_APPROVAL
    assert "from this table and totals" in found.message
    assert of(seen(reader(of_class=manual), asked=erasing(approved=True))).state is OperationState.DRAINING
    assert of(seen(reader(of_class=manual), asked=erasing(dryRun=True))).state is OperationState.DRAINING


def test_the_tables_are_looked_for_only_until_it_has_begun() -> None:
    assert awaits_lineage(Related.of({"HudiOperation": (erasing(),)}))
    tried = told_as(OperationState.RUNNING, "Retrying")
    assert awaits_lineage(Related.of({"HudiOperation": (erasing(status=tried),)})), "its first run has changed nothing"
    begun = erasing(status=tried.copy_with(begun=True))
    assert not awaits_lineage(Related.of({"HudiOperation": (begun, operation())}))


def done_here() -> Any:
    remembered = entry(
        kind="Erase", state="Succeeded", message="Erased 1 row.", job=decided(kind="Erase", instant=None)
    )
    return world(remembered=(remembered,)).table


def look(asked: HudiOperation, found: CascadeSeen, **changes: Any) -> OperationStep:
    return decide_operation(asked, changes.pop("of", done_here()), now=NOW, seen=found, **changes)


def child(parent: HudiOperation, name: str, state: str, **changes: Any) -> HudiOperation:
    made = build_cascaded(parent, name)
    owners = [{"kind": "HudiOperation", "uid": changes.pop("owner", parent.metadata.uid), "controller": True}]
    told = told_as(state, changes.pop("reason", None), message=changes.pop("message", None))
    spec = {**made["spec"], **changes}
    found = operation(made["metadata"]["name"], status=told, **spec)
    metadata = HudiOperation.model_validate(
        {"metadata": {"name": "x", "ownerReferences": owners}, "spec": made["spec"]}
    ).metadata.owner_references
    return found.copy_with(metadata=found.metadata.copy_with(owner_references=metadata))


def test_the_other_tables_follow_once_the_first_is_done_each_by_an_operation_that_is_made_once() -> None:
    asked = erasing(approved=True)
    first = look(asked, CascadeSeen(readers=("totals",)))
    assert first.creates == ("totals",)
    assert first.status is not None
    assert (first.status.state, first.status.reason) == (OperationState.RUNNING, "Cascading")
    assert first.status.finished_at is None

    going = asked.copy_with(status=first.status)
    name = cascaded_name(asked, "totals")
    there = look(going, CascadeSeen(operations={name: child(asked, "totals", "Running")}))
    assert there.creates == ()
    assert there.status is not None
    assert (there.status.cascade[0].ready, there.status.cascade[0].reason) == (None, "Running")
    over = look(
        going,
        CascadeSeen(
            operations={name: child(asked, "totals", "Succeeded")}, elsewhere=("team-b/copy", "team-a/of-the-copy")
        ),
    )
    assert over.status is not None
    assert (over.status.state, over.status.reason) == (OperationState.SUCCEEDED, "Succeeded")
    assert over.status.message == (
        "Erased 1 row. The same applies to totals. NOT erased from 1 table of other namespaces, which the operator's "
        "log names, nor from of-the-copy behind them."
    )
    assert over.notice is not None


@pytest.mark.parametrize(
    ("state", "changes", "said"),
    [
        ("Failed", {"message": "Savepoints keep files."}, "Savepoints keep files."),
        ("Succeeded", {"owner": "somebody"}, ANOTHER),
        ("Succeeded", {"tableRef": {"name": "others"}}, ANOTHER),
        ("Succeeded", {"dryRun": True}, ANOTHER),
        ("Succeeded", {"acceptOtherWriters": True}, ANOTHER),
        ("Succeeded", {"erase": {"keys": [{"id": "nobody"}], "cascade": True}}, ANOTHER),
        ("Succeeded", {"erase": {"keys": [{"id": KEY}]}}, ANOTHER),
        ("Succeeded", {"erase": None, "runService": {"service": "Cleaning"}}, ANOTHER),
        (None, {}, "deleted before it finished"),
    ],
)
def test_failed_erasure_of_a_reader_fails_the_cascade_and_is_named(
    state: str | None, changes: dict[str, Any], said: str
) -> None:
    asked = erasing()
    going = look(asked, CascadeSeen(readers=("totals",))).status
    assert going is not None
    seen_before = going.cascade[0].copy_with(reason="Running")
    going = going.copy_with(cascade=(seen_before,))
    name = cascaded_name(asked, "totals")
    found = child(asked, "totals", state, **changes) if state else None
    step = look(asked.copy_with(status=going), CascadeSeen(operations={name: found}))
    assert step.status is not None
    assert (step.status.state, step.status.reason) == (OperationState.FAILED, "CascadeFailed")
    assert said in (step.status.message or "")
    assert name in (step.status.message or "")
    assert step.notice is not None
    assert step.notice.warning


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({"state": "Pending"}, "CascadeFailed"),
        ({"state": "AwaitingApproval"}, "CascadeFailed"),
        ({"state": "Approved"}, "CascadeFailed"),
        ({"state": "Pending", "begun": True, "reason": "TableNotFound"}, "CascadeFailed"),
        ({"state": "Pending", "begun": True}, "Cascading"),
        ({"state": "Draining"}, "CascadeFailed"),
        ({"state": "Running"}, "Cascading"),
    ],
)
def test_erasure_that_can_no_longer_begin_fails_the_cascade(told: dict[str, Any], reason: str) -> None:
    asked = erasing()
    going = look(asked, CascadeSeen(readers=("totals",))).status
    assert going is not None
    made = child(asked, "totals", "Pending").copy_with(status=told_as(**told))
    found = CascadeSeen(operations={made.metadata.name: made}, unsuitable={"totals": "It is gone."})
    step = look(asked.copy_with(status=going), found)
    assert step.status is not None
    assert step.status.reason == reason
    assert ("It is gone." in (step.status.message or "")) is (reason == "CascadeFailed")
    goes = reason == "CascadeFailed" and not made.status.begun
    assert [one.uid for one in step.deletes] == ([made.metadata.uid] if goes else [])
    others = replace(found, operations={made.metadata.name: child(asked, "totals", "Pending", dryRun=True)})
    assert look(asked.copy_with(status=going), others).deletes == (), "it is somebody else's"


def test_approval_and_expiry_of_a_cascaded_erasure_are_its_own() -> None:
    asked = erasing()
    going = look(asked, CascadeSeen(readers=("totals",))).status
    assert going is not None
    made = child(asked, "totals", "Succeeded", approved=True, ttlAfterFinished="1h", requestedBy="anna")
    step = look(asked.copy_with(status=going), CascadeSeen(operations={made.metadata.name: made}))
    assert step.status is not None
    assert step.status.state is OperationState.SUCCEEDED


def test_no_erasure_of_a_reader_is_created_before_or_without_success() -> None:
    asked = erasing()
    for state, reason in (("Running", "Running"), ("Failed", "NotErased"), ("Pending", "Waiting")):
        remembered = entry(kind="Erase", state=state, reason=reason)
        step = look(asked, CascadeSeen(readers=("totals",)), of=world(remembered=(remembered,)).table)
        assert step.creates == ()
        assert step.status is not None
        assert [one.table for one in step.status.cascade] == ["totals"], "it is noted from the first look on"


def test_cascade_on_other_tables_is_never_taken_for_work_on_its_own_table() -> None:
    going = look(erasing(), CascadeSeen(readers=("totals",))).status
    assert going is not None
    cascading = erasing(status=going.copy_with(begun=True))
    assert not may_have_begun(cascading)
    forgotten = world(cascading, recordKey=["id"])
    assert launches(forgotten) == []
    assert of(forgotten).state is OperationState.SUCCEEDED
    gone = look(cascading, CascadeSeen(), of=None)
    assert gone.status is not None
    assert gone.status.reason == "Cascading"


def test_copy_of_a_cascading_erasure_creates_nothing_for_other_tables() -> None:
    going = look(erasing(), CascadeSeen(readers=("totals",))).status
    assert going is not None
    copied = erasing(status=going, annotations={"hudi-operator.io/operation-uid": "uid-from-before"})
    for known in (None, world().table):
        step = look(copied, CascadeSeen(readers=("totals",)), of=known)
        assert step.creates == ()
        assert step.status is not None
        assert step.status.state is OperationState.PENDING
    assert (of(world(copied)).state, of(world(copied)).reason) == (OperationState.FAILED, "CopiedOperation")


def test_deleted_cascade_is_released_and_says_what_is_left() -> None:
    going = look(erasing(), CascadeSeen(readers=("totals",))).status
    assert going is not None
    step = look(erasing(status=going, deleted=NOW), CascadeSeen())
    assert "totals" in (step.released or "")
    assert step.notice is not None
    assert step.notice.reason == "OperationIncomplete"


def test_created_erasure_asks_for_the_same_keys_and_keeps_the_approval() -> None:
    verified = HudiOperationStatus(observed_generation=1, requested_by="anna", requester_verified=True)
    asked = erasing(approved=True, dryRun=True, acceptOtherWriters=True, requestedBy="anna", status=verified)
    made = build_cascaded(asked, "totals")
    assert made["spec"] == {
        "tableRef": {"name": "totals"},
        "erase": {"keys": [{"id": KEY}], "releaseSavepoints": False, "cascade": True},
        "dryRun": True,
        "acceptOtherWriters": True,
        "approved": True,
        "requestedBy": "anna",
    }
    assert made["metadata"]["ownerReferences"][0]["uid"] == asked.metadata.uid
    assert KEY not in str(made["metadata"])
    unsure = asked.copy_with(status=verified.copy_with(requester_verified=False))
    assert "requestedBy" not in build_cascaded(unsure, "totals")["spec"]
    long = operation("x" * 253, erase={"keys": [{"id": "1"}], "cascade": True})
    assert len(cascaded_name(long, "totals")) <= 253
    assert cascaded_name(long, "totals") != cascaded_name(long, "others")


def test_the_request_says_where_the_table_lies_that_is_read_if_the_same_values_may_be_its_keys() -> None:
    source = {"hudi": {"path": "s3a://lake/events"}}
    table, of_class = world(ingestion={"source": source}).table, table_class().spec
    asked = build_erase_task(child(erasing(), "totals", "Running"), table, of_class)
    assert asked is not None
    assert (asked.cascaded_from, asked.upstream) == (erasing().metadata.uid, "s3a://lake/events")
    first = build_erase_task(erasing(), table, of_class)
    assert first is not None
    assert (first.cascaded_from, first.upstream) == (None, "s3a://lake/events")
    transform = {"sql": "SELECT id FROM source"}
    behind = world(ingestion={"source": source, "transform": transform}).table
    by_predicate = operation(erase={"where": "id = '1'"})
    for asks, reads in ((erasing(), behind), (by_predicate, table)):
        other = build_erase_task(asks, reads, of_class)
        assert other is not None
        assert other.upstream is None


def test_requester_is_noted_at_the_first_look_and_not_believed_later() -> None:
    asked = operation(requestedBy="anna")
    first = decide_operation(asked, None, now=NOW, verifies_requesters=False).status
    assert first is not None
    assert (first.requested_by, first.requester_verified) == ("anna", False)
    later = decide_operation(asked.copy_with(status=first), None, now=NOW, verifies_requesters=True).status
    assert later is not None
    assert later.requester_verified is False
