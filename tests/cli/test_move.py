"""What a move carries, refuses and loses, from values."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cli.command import command
from tests.cli.tables import recorded
from tests.planning.operations.operations import operation
from tests.planning.world import NOW, ago, at, minutes, run

from hudi_operator.api.resources import REQUESTED_AT_ANNOTATION, SUSPEND_ANNOTATION
from hudi_operator.api.status.table_operations import DecisionsStatus
from hudi_operator.api.status.table_parts import BadRowsStatus, Protection, TakeoverPhase, TakeoverStatus
from hudi_operator.cli.move.gitops import kept_by
from hudi_operator.cli.move.move_plan import cluster_steps
from hudi_operator.cli.move.moved_objects import (
    MOVED_FROM_ANNOTATION,
    arriving,
    arriving_savepoint,
    arriving_table,
    in_files,
    leaving,
    suspension_on,
)
from hudi_operator.cli.move.obstacles import kept_in_git, losses, refusals
from hudi_operator.cli.render.view import TableView

Document = dict[str, Any]
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def orders(*, labels: Document | None = None, annotations: Document | None = None, **spec: Any) -> Document:
    document = recorded()["orders"]
    document["metadata"] |= {"labels": labels or {}, "annotations": annotations or {}}
    document["spec"] |= spec
    return document


def savepoint(*, controlled: bool = False, spec: Document | None = None, status: Document | None = None) -> Document:
    owners = [{"kind": "HudiTable", "uid": "uid-orders", "controller": True}] if controlled else []
    return {
        "apiVersion": "hudi-operator.io/v1beta1",
        "kind": "HudiSavepoint",
        "metadata": {"name": "daily", "namespace": "team-a", "uid": "uid-daily", "ownerReferences": owners},
        "spec": {"tableRef": {"name": "orders"}, "latest": True, "keepForever": True, **(spec or {})},
        "status": {"instant": ago(6), **(status or {})},
    }


def test_new_table_is_the_old_one_suspended_and_marked() -> None:
    given = orders(labels={"tier": "gold"}, annotations={"team": "sales"})
    made = arriving_table(given, "team-b", table_class="gold")
    assert made["spec"] == {**given["spec"], "tableClassName": "gold"}
    assert made["metadata"] == {
        "name": "orders",
        "namespace": "team-b",
        "labels": {"tier": "gold"},
        "annotations": {
            "team": "sales",
            SUSPEND_ANNOTATION: arriving("team-a"),
            MOVED_FROM_ANNOTATION: "team-a/orders/uid-orders",
        },
    }


@pytest.mark.parametrize(
    "annotation",
    [LAST_APPLIED, REQUESTED_AT_ANNOTATION, "argocd.argoproj.io/tracking-id", "meta.helm.sh/release-name"],
)
def test_record_of_a_tool_and_old_request_are_not_carried(annotation: str) -> None:
    (made,) = in_files(orders(annotations={annotation: "x", "team": "sales"}), (), "team-b", None)
    assert made["metadata"]["annotations"] == {"team": "sales"}


@pytest.mark.parametrize(
    ("value", "carried"),
    [("maria: backfill", "maria: backfill"), ("false", arriving("team-a")), (leaving("team-b"), arriving("team-a"))],
)
def test_suspension_by_a_person_is_carried_and_that_of_the_move_is_not(value: str, carried: str) -> None:
    made = arriving_table(orders(annotations={SUSPEND_ANNOTATION: value}), "team-b", table_class=None)
    assert suspension_on(made) == carried


def test_savepoint_names_its_commit_and_keeps_what_its_deletion_does() -> None:
    table = {
        "apiVersion": "v",
        "kind": "HudiTable",
        "metadata": {"name": "orders", "namespace": "team-b", "uid": "new"},
    }
    made = arriving_savepoint(savepoint(controlled=True), table)
    assert made["spec"] == {
        "tableRef": {"name": "orders"},
        "keepForever": True,
        "instant": ago(6),
        "deletionPolicy": "Delete",
    }
    assert [one["uid"] for one in made["metadata"]["ownerReferences"]] == ["new"]
    adopted = arriving_savepoint(savepoint(status={"adopted": True}), table)
    assert adopted["spec"]["deletionPolicy"] == "Retain"
    assert "ownerReferences" not in adopted["metadata"]
    unmade = arriving_savepoint(savepoint(status={"instant": None}), table)
    assert unmade["spec"]["latest"] is True


@pytest.mark.parametrize("policy", ["Delete", "Archive"])
def test_table_whose_data_may_go_with_its_resource_does_not_move(policy: str) -> None:
    (found,) = refusals(TableView.of(orders(deletionPolicy=policy)), [])
    assert "the move would delete the data" in found
    assert not refusals(TableView.of(orders()), [])
    assert not refusals(TableView.of(orders(deletionPolicy="Retain")), [])


def test_operation_that_has_not_ended_keeps_its_table() -> None:
    made = operation(requestedBy="anna")
    document = {
        "metadata": made.metadata.model_dump(by_alias=True),
        "spec": made.spec.model_dump(mode="json", by_alias=True, exclude_none=True),
    }
    (found,) = refusals(TableView.of(orders()), [document])
    assert made.metadata.name in found
    finished = {"finishedAt": at(NOW), "observedGeneration": 1, "conditions": []}
    assert not refusals(TableView.of(orders()), [{**document, "status": finished}])


@pytest.mark.parametrize(
    ("metadata", "tool"),
    [
        ({"annotations": {"argocd.argoproj.io/tracking-id": "lake:x"}}, "Argo CD"),
        ({"labels": {"kustomize.toolkit.fluxcd.io/name": "lake"}}, "Flux"),
        ({"managedFields": [{"manager": "argocd-controller"}]}, "Argo CD"),
        ({"managedFields": [{"manager": "kustomize-controller"}]}, "Flux"),
        ({"annotations": {"meta.helm.sh/release-name": "lake"}}, "Helm"),
        ({"labels": {"app.kubernetes.io/instance": "lake"}}, "Argo CD"),
        ({"labels": {"app.kubernetes.io/instance": "lake", "app.kubernetes.io/managed-by": "Helm"}}, "Helm"),
        (
            {
                "labels": {"app.kubernetes.io/instance": "lake", "app.kubernetes.io/managed-by": "Helm"},
                "annotations": {"argocd.argoproj.io/tracking-id": "lake:x"},
            },
            "Argo CD",
        ),
        ({"labels": {"app.kubernetes.io/instance": ""}}, None),
        ({"labels": {"app.kubernetes.io/instance": "lake", "kustomize.toolkit.fluxcd.io/name": "lake"}}, "Flux"),
        ({"managedFields": [{"manager": "kubectl-client-side-apply"}], "labels": {"app": "x"}}, None),
        ({"managedFields": "poison", "labels": None}, None),
    ],
)
def test_tool_that_keeps_a_table_is_known_by_its_marks(metadata: Document, tool: str | None) -> None:
    document = orders()
    document["metadata"] |= metadata
    assert kept_by(document) == tool
    assert [tool in one for one in kept_in_git([document]) if tool] == [True] * bool(tool)


def test_label_that_a_person_may_have_set_is_named_with_the_way_out() -> None:
    (said,) = kept_in_git([orders(labels={"app.kubernetes.io/instance": "lake"})])
    assert "The label app.kubernetes.io/instance names the application lake" in said
    assert said.endswith("remove the label and repeat the command.")
    (by_helm,) = kept_in_git([orders(annotations={"meta.helm.sh/release-name": "lake"})])
    assert "remove the label" not in by_helm


@pytest.mark.parametrize(
    ("labels", "carried"),
    [
        ({"app.kubernetes.io/instance": "lake", "tier": "gold"}, {"tier": "gold"}),
        ({"app.kubernetes.io/instance": "lake", "app.kubernetes.io/managed-by": "Helm"},) * 2,
    ],
)
def test_label_by_which_argo_cd_tracks_is_not_carried_and_that_of_helm_is(labels: Document, carried: Document) -> None:
    (made,) = in_files(orders(labels=labels), (), "team-b", None)
    assert made["metadata"]["labels"] == carried


def test_memory_that_matters_is_named_with_what_to_do() -> None:
    view = TableView.of(recorded()["quarantined"])
    status = view.status.copy_with(
        decisions=DecisionsStatus(accepted_up_to=ago(6), take_over="cluster-b/hudi", rescans=("all",)),
        bad_rows=BadRowsStatus(total=50, since=at(NOW - minutes(9))),
        left_behind=(ago(30),),
        history=(run(),),
        takeover=TakeoverStatus(phase=TakeoverPhase.DONE, protection=Protection.KEPT, savepoint=ago(40)),
    )
    found = " ".join(losses(TableView(document=view.document, metadata=view.metadata, status=status)))
    for text in (ago(6), "cluster-b/hudi", "1 request", "50 quarantined rows", ago(30), ago(40), "The history of runs"):
        assert text in found


def test_new_table_forgets_nothing() -> None:
    document = recorded()["orders"]
    document["status"] = {}
    assert losses(TableView.of(document)) == []


def test_steps_to_another_cluster_name_the_table() -> None:
    text = cluster_steps(TableView.of(orders()), program="kubectl hudi")
    assert "managementPolicy: Observe on team-a/orders" in text
    assert "takeOver: {owner: OPERATOR}" in text


@pytest.mark.parametrize(
    "arguments",
    ["", "--to-cluster --to-class gold", "--to-namespace team-b --timeout soon"],
)
def test_move_without_a_destination_or_with_two_is_refused(arguments: str) -> None:
    assert command("move", "orders", *arguments.split()).returncode == 2
