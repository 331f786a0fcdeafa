"""The policies on operations on a real API server: who approves has the verb `approve`, and who asks is named."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from kubernetes import client, config, utils
from tests.chart.conftest import KUBERNETES_VERSION

from hudi_operator.api.values.base import GROUP, VERSION

pytestmark = pytest.mark.cluster

Document = dict[str, Any]
CREATOR, APPROVER, BOTH, OPERATOR, EDITOR = "creator", "approver", "both", "operator", "editor"
ROLES = {
    CREATOR: ("operate",),
    APPROVER: ("approve",),
    BOTH: ("operate", "approve"),
    OPERATOR: ("operate",),
    EDITOR: ("edit", "view"),
}
TIME = "20260310114000000"
DECISIONS: Document = {
    "rescan": {},
    "acceptCommits": {"upTo": TIME},
    "takeOver": {"owner": "cluster/hudi-operator"},
    "acknowledgeBadRows": {},
}


@dataclass
class World:
    """A namespace in which people have the roles of the chart."""

    connection: client.ApiClient
    namespace: str

    def act_as(self, who: str | None) -> client.CustomObjectsApi:
        """Requests of a person of the namespace; None is a cluster administrator."""
        connection = client.ApiClient(self.connection.configuration)
        if who is not None:
            connection.set_default_header("Impersonate-User", self.user(who))
        return client.CustomObjectsApi(connection)

    def user(self, who: str) -> str:
        account = f"system:serviceaccount:default:{self.namespace}-hudi-operator"
        return account if who == OPERATOR else f"{who}-of-{self.namespace}"

    def create(self, who: str | None, name: str = "back", *, dry_run: bool = False, **spec: Any) -> str:
        """Create an operation; return the words with which that is refused, or "" where it is accepted."""
        what = {} if DECISIONS.keys() & spec.keys() or "rollback" in spec else {"restore": {"instant": TIME}}
        whole = {"tableRef": {"name": "flights"}, **what, **spec}
        body = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "HudiOperation", "metadata": {"name": name}, "spec": whole}
        place = (GROUP, VERSION, self.namespace, "hudioperations")
        options: Any = {"dry_run": "All"} if dry_run else {}
        return _words(lambda: self.act_as(who).create_namespaced_custom_object(*place, body, **options))

    def patch(self, who: str | None, changes: Document, name: str = "back") -> str:
        place = (GROUP, VERSION, self.namespace, "hudioperations", name)
        return _words(lambda: self.act_as(who).patch_namespaced_custom_object(*place, changes))

    def delete(self, name: str = "back") -> None:
        place = (GROUP, VERSION, self.namespace, "hudioperations", name)
        self.act_as(None).delete_namespaced_custom_object(*place)


def _words(act: Any) -> str:
    try:
        act()
    except client.ApiException as error:
        if error.status not in {403, 422}:
            raise
        return str(error.body)
    return ""


@pytest.fixture(scope="module")
def world(cluster: None, helm: Any, chart: Any) -> Iterator[World]:  # noqa: ARG001 - the cluster is wanted
    connection = config.new_client_from_config(os.environ["KUBECONFIG"])
    mark = f"test-{uuid.uuid4().hex[:8]}"
    names = ("approvalpolicy", "decisionpolicy", "requesterpolicy", "aggregate-roles")
    shown = [f"--show-only=templates/{name}.yaml" for name in names]
    rendered = helm("template", mark, str(chart), *shown, f"--kube-version={KUBERNETES_VERSION}")
    assert rendered.returncode == 0, rendered.stderr
    documents = [document for document in yaml.safe_load_all(rendered.stdout) if document]
    core, rights = client.CoreV1Api(connection), client.RbacAuthorizationV1Api(connection)
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=mark)))
    for document in documents:
        utils.create_from_dict(connection, document)
    world = World(connection, mark)
    for who, roles in ROLES.items():
        for role in roles:
            binding = _binding(world.user(who), f"{mark}-hudi-operator-{role}", name=who)
            rights.create_namespaced_role_binding(mark, binding)
    try:
        _wait_until_it_holds(world)
        yield world
    finally:
        admission = client.AdmissionregistrationV1Api(connection)
        for document in documents:
            name = document["metadata"]["name"]
            if document["kind"] == "ClusterRole":
                rights.delete_cluster_role(name)
            elif document["kind"] == "ValidatingAdmissionPolicy":
                admission.delete_validating_admission_policy(name)
            else:
                admission.delete_validating_admission_policy_binding(name)
        core.delete_namespace(mark)


def _binding(user: str, role: str, *, name: str | None = None) -> Any:
    return {
        "metadata": {"name": f"{name or user}-{role}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }


def _wait_until_it_holds(world: World) -> None:
    end = time.monotonic() + 30
    while "verb approve" not in world.create(CREATOR, "tried", dry_run=True, approved=True):
        assert time.monotonic() < end, world.create(CREATOR, "tried", dry_run=True, approved=True)
        time.sleep(0.1)
    while "verb operate" not in (said := world.create(EDITOR, "tried", dry_run=True)):
        assert time.monotonic() < end, said
        time.sleep(0.1)


@pytest.mark.parametrize("field", DECISIONS)
def test_editor_of_tables_decides(field: str, world: World) -> None:
    assert world.create(EDITOR, dry_run=True, **{field: DECISIONS[field]}) == ""
    assert world.create(CREATOR, dry_run=True, **{field: DECISIONS[field]}) == ""


@pytest.mark.parametrize(
    "spec",
    [
        {"restore": {"instant": TIME}},
        {"rollback": {"instant": TIME}},
        {"restore": {"instant": TIME}, "dryRun": True},
        {"restore": {"instant": TIME}, "rescan": {}},
        {"rollback": {"instant": TIME}, "takeOver": {"owner": "x"}, "acceptCommits": {"upTo": TIME}},
    ],
)
def test_editor_of_tables_creates_no_other_operation(spec: Document, world: World) -> None:
    assert world.create(EDITOR, dry_run=True, **spec) != ""
    assert ("verb operate" in world.create(EDITOR, dry_run=True, **spec)) == DECISIONS.keys().isdisjoint(spec)


def test_editor_of_tables_changes_and_deletes_no_operation(world: World) -> None:
    assert world.create(CREATOR) == ""
    try:
        assert "cannot patch" in world.patch(EDITOR, {"metadata": {"labels": {"ticket": "4711"}}})
        with pytest.raises(client.ApiException, match="cannot delete"):
            world.act_as(EDITOR).delete_namespaced_custom_object(
                GROUP, VERSION, world.namespace, "hudioperations", "back"
            )
    finally:
        world.delete()


def test_creator_of_operations_does_not_approve_them(world: World) -> None:
    assert "bind the ClusterRole" in world.create(CREATOR, approved=True)
    assert world.create(CREATOR) == ""
    try:
        assert "verb approve" in world.patch(CREATOR, {"spec": {"approved": True}})
        assert world.patch(CREATOR, {"metadata": {"labels": {"ticket": "4711"}}, "spec": {"approved": False}}) == ""
        assert world.patch(APPROVER, {"spec": {"approved": True}}) == ""
        assert world.patch(CREATOR, {"metadata": {"labels": {"ticket": "4712"}}}) == "", "it was approved before"
    finally:
        world.delete()


def test_approver_of_operations_does_not_create_them(world: World) -> None:
    assert "cannot create" in world.create(APPROVER)


@pytest.mark.parametrize("who", [BOTH, None], ids=["with both roles", "as a cluster administrator"])
def test_administrator_creates_approved_operations(who: str | None, world: World) -> None:
    assert world.create(who, dry_run=True, approved=True) == ""


def test_requester_is_the_creator_of_the_operation(world: World) -> None:
    own = f"{CREATOR}-of-{world.namespace}"
    end = time.monotonic() + 30
    while not (refused := world.create(CREATOR, dry_run=True, requestedBy="somebody-else")):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert f"who creates it: {own}" in refused
    assert world.create(CREATOR, requestedBy=own) == ""
    try:
        assert "requestedBy cannot be changed" in world.patch(CREATOR, {"spec": {"requestedBy": "somebody-else"}})
    finally:
        world.delete()


def test_the_operator_passes_on_who_asked_and_that_it_was_approved_and_approves_nothing_later(world: World) -> None:
    assert world.create(OPERATOR, dry_run=True, approved=True, requestedBy="somebody-else") == ""
    assert world.create(CREATOR) == ""
    try:
        assert "verb approve" in world.patch(OPERATOR, {"spec": {"approved": True}})
    finally:
        world.delete()


def test_creator_of_operations_cannot_give_away_the_right_to_approve(world: World) -> None:
    connection = client.ApiClient(world.connection.configuration)
    connection.set_default_header("Impersonate-User", f"{CREATOR}-of-{world.namespace}")
    rights = client.RbacAuthorizationV1Api(world.connection)
    rights.create_namespaced_role_binding(world.namespace, _binding(f"{CREATOR}-of-{world.namespace}", "admin"))
    own = client.RbacAuthorizationV1Api(connection)
    binding = _binding(f"{CREATOR}-of-{world.namespace}", f"{world.namespace}-hudi-operator-approve")
    with pytest.raises(client.ApiException, match="attempting to grant RBAC permissions"):
        own.create_namespaced_role_binding(world.namespace, binding)
