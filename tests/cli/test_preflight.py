"""The checks of `preflight`, on values."""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field
from tests.cli.tables import recorded, view
from tests.planning.world import NOW, active

from hudi_operator.api.crd.definitions import KINDS, crd_document
from hudi_operator.api.status.runs import LiveStatus
from hudi_operator.api.status.table_parts import OwnerStatus
from hudi_operator.api.values.base import Model
from hudi_operator.cli.preflight.answers import preflight_document, preflight_text, summary, worst_of
from hudi_operator.cli.preflight.check import ClusterState, Line, Verdict
from hudi_operator.cli.preflight.check_order import CHECKS
from hudi_operator.cli.preflight.checks.definitions import has_these_definitions
from hudi_operator.cli.preflight.checks.rights import CLUSTER_WIDE, IN_ITS_NAMESPACE
from hudi_operator.cli.preflight.checks.unreadable import deprecated_fields
from hudi_operator.cli.render.view import TableView

Document = dict[str, Any]
TEMPLATES = Path(__file__).parents[2] / "charts" / "hudi-operator" / "templates"
CLASS: Document = {
    "apiVersion": "hudi-operator.io/v1beta1",
    "kind": "HudiTableClass",
    "metadata": {"name": "standard"},
    "spec": {"allowedBasePaths": ["s3a://lake"], "allowedSourcePaths": ["s3a://landing"]},
}


def installed() -> list[Document]:
    """The definitions of this version as an API server returns them."""
    established = {"type": "Established", "status": "True"}
    found = [deepcopy(crd_document(kind)) for kind in KINDS]
    for one in found:
        one["spec"]["conversion"] = {"strategy": "None"}
        one["status"] = {"storedVersions": ["v1beta1"], "conditions": [established]}
    return found


def deployment(name: str = "hudi-operator", *, ready: int = 1, watched: str | None = None) -> Document:
    variables = [{"name": "HUDI_OPERATOR_WATCH_NAMESPACES", "value": watched}] if watched else []
    container = {"image": "hudi-operator:0.1.0", "env": variables}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": name},
        "spec": {"replicas": 1, "template": {"spec": {"containers": [container]}}},
        "status": {"readyReplicas": ready},
    }


def cluster(**changes: Any) -> ClusterState:
    """A cluster in which nothing speaks against the upgrade."""
    state = ClusterState(
        now=NOW,
        tables=[view("orders")],
        definitions=installed(),
        classes=[CLASS],
        deployments=[deployment()],
        server_version="v1.34.4",
        refused={},
    )
    return replace(state, **changes)


def answers(family: str, state: ClusterState) -> list[Line]:
    return list(CHECKS[family](state))


def worst(family: str, state: ClusterState) -> Line:
    return max(answers(family, state), key=lambda one: [*Verdict].index(one.verdict))


def named(**spec: Any) -> TableView:
    document = recorded()["orders"]
    document["spec"] |= spec
    return TableView.of(document)


def at_work(*, continuous: bool) -> TableView:
    known = view("orders")
    job = active(live=LiveStatus()) if continuous else active()
    return replace(known, status=known.status.copy_with(active_jobs=(job,)))


def test_nothing_speaks_against_the_upgrade_of_a_healthy_cluster() -> None:
    state = replace(cluster(), tables=[replace(view("orders"), status=view("orders").status.copy_with(active_jobs=()))])
    found = {family: list(check(state)) for family, check in CHECKS.items()}
    assert worst_of(found) is Verdict.OK, preflight_text(found, colour=False)
    assert all(found.values()), "every family says something"


def test_remedy_stands_below_everything_that_is_not_in_order() -> None:
    bare = ClusterState(now=NOW, tables=[], missing_rights=["create secrets"])
    found = {family: list(check(bare)) for family, check in CHECKS.items()}
    assert all(bool(one.remedy) is (one.verdict is not Verdict.OK) for lines in found.values() for one in lines)
    assert preflight_document(found)["verdict"] == "Warning"
    assert "0 blocked" in summary(found)


def test_definition_with_other_fields_is_named_with_them() -> None:
    state = cluster()
    assert has_these_definitions(state)
    spec = state.definitions[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]  # type: ignore[index]
    del spec["properties"]["suspend"]
    assert not has_these_definitions(state)
    assert "1 field new (spec.suspend)" in worst("definitions", state).message
    spec["properties"] |= {"suspend": {"type": "boolean"}, "older": {"type": "string"}}
    assert "spec.older" in worst("definitions", state).message


def test_missing_definition_is_a_warning_and_an_unknown_stored_version_blocks() -> None:
    assert worst("definitions", cluster(definitions=[])).verdict is Verdict.WARNING
    assert "may not read" in worst("definitions", cluster(definitions=None)).message
    state = cluster()
    state.definitions[1]["status"]["storedVersions"] = ["v1alpha1", "v1beta1"]  # type: ignore[index]
    assert worst("definitions", state).verdict is Verdict.BLOCKED
    assert "v1alpha1" in worst("definitions", state).message
    state = cluster()
    state.definitions[0]["status"]["conditions"] = "poison"  # type: ignore[index]
    assert "not Established" in worst("definitions", state).message


def test_object_that_this_version_cannot_read_blocks_and_an_ignored_field_does_not() -> None:
    assert worst("objects", cluster(tables=[named(type="MergeOnWrite")])).verdict is Verdict.BLOCKED
    unknown = worst("objects", cluster(tables=[named(colour="red"), named(colour="blue")]))
    assert (unknown.verdict, "spec.colour" in unknown.message) == (Verdict.WARNING, True)


def test_rules_between_fields_are_those_of_the_api_server() -> None:
    assert "were not checked" in worst("objects", cluster(refused=None)).message
    refused = worst("objects", cluster(refused={"HudiTable team-a/orders": "freshness must not be shorter"}))
    assert (refused.verdict, "freshness" in refused.message) == (Verdict.WARNING, True)
    assert "7 more objects" in worst("objects", cluster(unasked=7)).message


class _Inner(Model):
    old: Annotated[str | None, Field(deprecated="use `new`")] = None
    new: str | None = None


class _Outer(Model):
    inner: _Inner = _Inner()
    several: tuple[_Inner, ...] = ()


def test_deprecated_field_is_found_at_every_depth() -> None:
    given = {"inner": {"old": "x", "new": "y"}, "several": [{"new": "x"}, {"old": "z"}], "other": {"old": "x"}}
    assert [*deprecated_fields(given, _Outer, "spec")] == ["spec.inner.old", "spec.several[].old"]
    assert [*deprecated_fields("poison", _Outer, "spec")] == []


def test_class_that_refuses_a_table_by_the_rules_of_this_version_blocks() -> None:
    other = {**CLASS, "spec": {**CLASS["spec"], "allowedBasePaths": ["s3a://other"]}}
    found = worst("classes", cluster(classes=[other]))
    assert (found.verdict, "PathNotAllowed" in found.message) == (Verdict.BLOCKED, True)
    stopped = cluster(classes=[other], tables=[view("blocked")])
    assert worst("classes", stopped).verdict is Verdict.OK, "the table is stopped already"
    assert "may not read" in worst("classes", cluster(classes=None)).message


def test_continuous_driver_starts_again_and_a_run_goes_on() -> None:
    assert "start again with the new Spark image" in worst("work", cluster(tables=[at_work(continuous=True)])).message
    run = worst("work", cluster(tables=[at_work(continuous=False)]))
    assert (run.verdict, "1 run under way" in run.message) == (Verdict.OK, True)


def test_operation_that_has_begun_is_named_and_a_waiting_one_is_not() -> None:
    document = {"kind": "HudiOperation", "metadata": {"name": "back", "namespace": "team-a"}, "spec": {}, "status": {}}
    quiet = cluster(tables=[], others=[document])
    assert worst("work", quiet).verdict is Verdict.OK
    begun = {**document, "status": {"begun": True}}
    assert "HudiOperation team-a/back" in worst("work", cluster(tables=[], others=[begun])).message


def test_table_that_is_unhealthy_or_being_deleted_is_named() -> None:
    assert "team-a/failing" in worst("tables", cluster(tables=[view("failing")])).message
    document = recorded()["orders"]
    document["metadata"]["deletionTimestamp"] = "2026-03-10T12:00:00Z"
    assert "being deleted" in worst("tables", cluster(tables=[TableView.of(document)])).message
    suspended = [one.message for one in answers("tables", cluster(tables=[view("paused")]))]
    assert any("team-a/paused" in one and "stays so" in one for one in suspended)


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        (None, None, Verdict.BLOCKED),
        ("team-a", None, Verdict.BLOCKED),
        ("team-a,team-b", "team-b", Verdict.BLOCKED),
        ("team-a", "team-b", Verdict.WARNING),
    ],
)
def test_two_operators_on_one_namespace_block(first: str | None, second: str | None, verdict: Verdict) -> None:
    both = [deployment("one", watched=first), deployment("two", watched=second)]
    assert worst("operators", cluster(deployments=both)).verdict is verdict


def test_operator_that_is_not_ready_and_an_old_api_server_are_named() -> None:
    assert "0 of 1 pods ready" in worst("operators", cluster(deployments=[deployment(ready=0)])).message
    assert worst("operators", cluster(server_version="v1.30.9")).verdict is Verdict.BLOCKED
    assert worst("operators", cluster(server_version="")).verdict is Verdict.WARNING
    assert "No Deployment" in worst("operators", cluster(deployments=[])).message
    owned = [
        replace(known, status=known.status.copy_with(owner=OwnerStatus(operator=name, table="a/b", run="c")))
        for known, name in ((view("orders"), "here/hudi"), (view("paused"), "there/hudi"))
    ]
    assert "there/hudi" in worst("operators", cluster(tables=owned)).message


def test_rights_are_those_on_the_kinds_of_the_chart() -> None:
    """What only some values of the chart make is left out, with what a cluster may lack."""
    text = "".join(path.read_text() for path in TEMPLATES.glob("*.yaml"))
    optional = {"ConfigMap", "HudiTableClass", "Namespace", "PrometheusRule", "ResourceQuota", "ServiceMonitor"}
    made = set(re.findall(r"^kind: (\w+)$", text, re.MULTILINE)) - optional
    asked = {one.name for one in (*CLUSTER_WIDE, *IN_ITS_NAMESPACE)}
    assert made <= asked
    assert asked - made <= {"CustomResourceDefinition", "Secret"}


def test_text_of_an_object_cannot_drive_the_terminal() -> None:
    found = {"objects": [Line(verdict=Verdict.BLOCKED, message="\x1b[2J", remedy="\x1b]0;x\x07")]}
    assert "\x1b" not in preflight_text(found, colour=False)
