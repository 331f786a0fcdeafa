"""What the chart makes of values, and which values it refuses."""

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.chart.conftest import KUBERNETES_VERSION

from hudi_jobs.contract import Service
from hudi_operator.api.crd.kinds import KINDS, ResourceKind
from hudi_operator.api.spec.operation_kinds.decisions import DECISION_FIELDS
from hudi_operator.jobs.names import job_labels

pytestmark = pytest.mark.chart

Document = dict[str, Any]
Run = Callable[..., subprocess.CompletedProcess[str]]

EVERYTHING: Document = {
    "image": {"repository": "registry:5000/team/operator", "tag": "abc", "pullPolicy": "Always"},
    "sparkImage": {"repository": "registry.example.com/spark", "tag": "def"},
    "imagePullSecrets": [{"name": "registry"}],
    "tenants": ["team-a", "team-b"],
    "tableClasses": {
        "standard": {"default": True, "spec": {"allowedBasePaths": ["s3a://lake/{namespace}"]}},
        "large": {"spec": {"allowedBasePaths": ["s3a://lake"], "limits": {"driverMemory": "32Gi"}}},
    },
    "objectStore": {"credentialsSecretName": "s3-read-only"},
    "failedRunLogs": {"enabled": True},
    "operator": {
        "identity": "team/operator",
        "logLevel": "DEBUG",
        "logFormat": "text",
        "resyncSeconds": 60,
        "pollSeconds": 2.5,
        "maxPollSeconds": 90,
        "workers": 4,
        "extraEnv": [{"name": "AWS_CA_BUNDLE", "value": "/etc/ssl/ca.pem"}],
    },
    "replicas": 3,
    "leaderElection": {"leaseSeconds": 6, "renewDeadlineSeconds": 4, "retrySeconds": 0.5},
    "tableMetrics": {"limit": 2000000},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "prometheusRule": {"enabled": True},
    "grafanaDashboards": {"enabled": True, "annotations": {"grafana_folder": "Lake"}},
    "networkPolicy": {"enabled": True},
    "serviceAccount": {"name": "reader", "annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/reader"}},
    "podAnnotations": {"note": "x"},
    "podLabels": {"team": "platform"},
    "nodeSelector": {"kubernetes.io/arch": "amd64"},
    "tolerations": [{"key": "dedicated", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "priorityClassName": "system-cluster-critical",
}
VALUES: dict[str, Document] = {
    "defaults": {},
    "everything": EVERYTHING,
    "two namespaces only": {"watchNamespaces": ["team-a", "team-b"], "tenants": ["team-a"]},
    "no aggregated roles": {"aggregateRoles": False, "fullnameOverride": "lake"},
    "one replica without election": {"replicas": 1, "leaderElection": {"enabled": False}},
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_helm_finds_nothing_to_blame(values: Document, helm: Any, chart: Any, values_file: Any) -> None:
    result = helm("lint", "--strict", str(chart), f"--values={values_file(values)}")
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_no_role_holds_a_wildcard_or_reads_secrets(values: Document, documents: Any) -> None:
    roles = [document for document in documents(values) if document["kind"] in {"Role", "ClusterRole"}]
    assert roles
    for role in roles:
        for rule in role["rules"]:
            granted = [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
            assert "*" not in "".join(granted), role["metadata"]["name"]
            assert "secrets" not in granted, role["metadata"]["name"]


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_every_binding_leads_to_a_role_and_an_account_of_the_chart(values: Document, documents: Any) -> None:
    rendered = documents(values)
    roles = {(document["kind"], document["metadata"]["name"]) for document in rendered}
    accounts = {_place(document) for document in rendered if document["kind"] == "ServiceAccount"}
    bindings = [document for document in rendered if document["kind"].endswith("RoleBinding")]
    assert bindings
    for binding in bindings:
        assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) in roles
        assert {(subject["namespace"], subject["name"]) for subject in binding["subjects"]} <= accounts


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_the_pod_meets_the_restricted_standard(values: Document, documents: Any) -> None:
    pod = _deployment(documents(values))["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert violations(pod) == []
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert {"name": "tmp", "mountPath": "/tmp"} in container["volumeMounts"]
    assert pod["securityContext"]["runAsUser"] == 65532


def test_the_checker_of_the_restricted_standard_finds_each_violation() -> None:
    good: Document = {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}],
    }
    assert violations(good) == []
    assert violations({**good, "hostNetwork": True}) == ["hostNetwork"]
    assert violations({**good, "securityContext": {}}) == ["runAsNonRoot", "seccompProfile"]
    assert violations({**good, "containers": [{}]}) == ["allowPrivilegeEscalation", "capabilities"]
    assert violations({**good, "volumes": [{"name": "x", "hostPath": {"path": "/"}}]}) == ["volume x"]


def test_operator_gets_its_settings(documents: Any) -> None:
    (container,) = _deployment(documents(EVERYTHING))["spec"]["template"]["spec"]["containers"]
    environment = {item["name"]: item.get("value", item.get("valueFrom")) for item in container["env"]}
    assert container["image"] == "registry:5000/team/operator:abc"
    assert container["args"] == ["run"]
    assert environment == {
        "HUDI_OPERATOR_SPARK_IMAGE": "registry.example.com/spark:def",
        "HUDI_OPERATOR_OPERATOR_NAMESPACE": {"fieldRef": {"fieldPath": "metadata.namespace"}},
        "HUDI_OPERATOR_INSTANCE": {"fieldRef": {"fieldPath": "metadata.name"}},
        "HUDI_OPERATOR_IDENTITY": "team/operator",
        "HUDI_OPERATOR_REQUESTER_POLICY": "true",
        "HUDI_OPERATOR_LOG_LEVEL": "DEBUG",
        "HUDI_OPERATOR_LOG_FORMAT": "text",
        "HUDI_OPERATOR_RESYNC_SECONDS": "60",
        "HUDI_OPERATOR_POLL_SECONDS": "2.5",
        "HUDI_OPERATOR_MAX_POLL_SECONDS": "90",
        "HUDI_OPERATOR_WORKERS": "4",
        "HUDI_OPERATOR_TABLE_METRICS": "true",
        "HUDI_OPERATOR_TABLE_METRICS_LIMIT": "2000000",
        "HUDI_OPERATOR_LEADER_ELECTION": "true",
        "HUDI_OPERATOR_LEASE_NAME": "hudi-hudi-operator-leader",
        "HUDI_OPERATOR_LEASE_SECONDS": "6",
        "HUDI_OPERATOR_RENEW_DEADLINE_SECONDS": "4",
        "HUDI_OPERATOR_LEASE_RETRY_SECONDS": "0.5",
        "HUDI_OPERATOR_LIST_SOURCES": "true",
        "HUDI_OPERATOR_FAILED_RUN_LOGS": "true",
        "AWS_ACCESS_KEY_ID": {"secretKeyRef": {"name": "s3-read-only", "key": "AWS_ACCESS_KEY_ID"}},
        "AWS_SECRET_ACCESS_KEY": {"secretKeyRef": {"name": "s3-read-only", "key": "AWS_SECRET_ACCESS_KEY"}},
        "AWS_CA_BUNDLE": "/etc/ssl/ca.pem",
    }


def test_the_operator_understands_every_setting_that_the_chart_gives(
    documents: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hudi_operator.control.settings import Settings, unknown_variables  # noqa: PLC0415 - the other tests need no operator

    values = {**EVERYTHING, "watchNamespaces": ["team-a", "team-b"]}
    (container,) = _deployment(documents(values))["spec"]["template"]["spec"]["containers"]
    environment = {item["name"]: item.get("value", "from-the-pod") for item in container["env"]}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    settings = Settings.from_environment()
    assert unknown_variables(environment) == ()
    assert settings.watch_namespaces == ("team-a", "team-b")
    assert settings.workers == 4
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"health": settings.health_port, "metrics": settings.metrics_port}


def test_two_replicas_stand_apart_and_one_stays_when_nodes_are_drained(documents: Any) -> None:
    rendered = documents({})
    deployment = _deployment(rendered)["spec"]
    assert deployment["replicas"] == 2
    assert deployment["strategy"] == {"type": "RollingUpdate"}
    (preference,) = deployment["template"]["spec"]["affinity"]["podAntiAffinity"].values()
    labels = deployment["template"]["metadata"]["labels"]
    assert preference[0]["podAffinityTerm"]["labelSelector"]["matchLabels"].items() <= labels.items()
    (budget,) = [document for document in rendered if document["kind"] == "PodDisruptionBudget"]
    assert budget["spec"]["maxUnavailable"] == 1
    assert budget["spec"]["selector"] == deployment["selector"]


def test_a_single_replica_is_replaced_and_needs_no_budget(documents: Any) -> None:
    rendered = documents(VALUES["one replica without election"])
    assert _deployment(rendered)["spec"]["strategy"] == {"type": "Recreate"}
    assert "PodDisruptionBudget" not in {document["kind"] for document in rendered}


def test_parts_that_need_other_operators_are_off_by_default(documents: Any) -> None:
    optional = {"ServiceMonitor", "PrometheusRule"}
    assert not optional & {document["kind"] for document in documents({})}
    assert optional <= {document["kind"] for document in documents(EVERYTHING)}


def test_network_policies_let_only_needed_traffic_reach_a_pod(documents: Any) -> None:
    rendered = [document for document in documents(EVERYTHING) if document["kind"] == "NetworkPolicy"]
    operator, *tenants = rendered
    ports = {port["port"]: bool(rule.get("from")) for rule in operator["spec"]["ingress"] for port in rule["ports"]}
    assert ports == {"health": False, "metrics": True}
    assert [one["metadata"]["namespace"] for one in tenants] == ["team-a", "team-b"]
    labels = job_labels(table="flights", table_uid="uid", service=Service.INGESTION).items()
    for policy in (one["spec"] for one in tenants):
        assert policy["podSelector"]["matchLabels"].items() <= labels
        assert policy["ingress"] == [{"from": [{"podSelector": policy["podSelector"]}]}]
    (default,) = [document for document in documents({}) if document["kind"] == "NetworkPolicy"]
    assert default["metadata"]["namespace"] == "hudi-system"
    off = documents({**EVERYTHING, "networkPolicy": {"enabled": False}})
    assert "NetworkPolicy" not in {document["kind"] for document in off}


@pytest.mark.parametrize(
    ("value", "suffix"),
    [
        ("admissionPolicy", "-allowed-namespaces"),
        ("admissionPolicy", "-profiles"),
        ("approvalPolicy", "-approvals"),
        ("decisionPolicy", "-decisions"),
        ("requesterPolicy", "-requesters"),
        ("boundsPolicy", "-bounds"),
    ],
)
def test_a_policy_is_there_unless_it_is_switched_off(value: str, suffix: str, documents: Any) -> None:
    kinds = {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}

    def policies(values: Document) -> dict[str, Document]:
        found = [document for document in documents(values) if document["kind"] in kinds]
        return {document["kind"]: document for document in found if document["metadata"]["name"].endswith(suffix)}

    rendered = policies({})
    assert rendered.keys() == kinds
    policy, binding = (rendered[kind] for kind in sorted(kinds))
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
    assert policy["spec"]["failurePolicy"] == "Fail"
    assert policies({value: {"enabled": False}}) == {}


@pytest.mark.parametrize("listed", [True, False])
def test_the_operator_lists_sources_unless_it_is_switched_off(documents: Any, listed: bool) -> None:
    values: Document = {} if listed else {"objectStore": {"listSources": False}}
    (deployment,) = [document for document in documents(values) if document["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    told = [one["value"] for one in container["env"] if one["name"] == "HUDI_OPERATOR_LIST_SOURCES"]
    assert told == [str(listed).lower()]


@pytest.mark.parametrize("enabled", [True, False])
def test_operator_may_read_logs_only_where_it_keeps_them(documents: Any, enabled: bool) -> None:
    found = documents({"failedRunLogs": {"enabled": True}} if enabled else {})
    (container,) = _deployment(found)["spec"]["template"]["spec"]["containers"]
    told = [one["value"] for one in container["env"] if one["name"] == "HUDI_OPERATOR_FAILED_RUN_LOGS"]
    roles = [one for one in found if one["kind"] in {"Role", "ClusterRole"}]
    verbs = [rule["verbs"] for role in roles for rule in role["rules"] if "pods/log" in rule["resources"]]
    assert (told, verbs) == ((["true"], [["get"]]) if enabled else ([], []))


def test_operator_gets_whether_requesters_are_checked(documents: Any) -> None:
    def notes(values: Document) -> list[str]:
        (deployment,) = [document for document in documents(values) if document["kind"] == "Deployment"]
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        return [one["value"] for one in container["env"] if one["name"] == "HUDI_OPERATOR_REQUESTER_POLICY"]

    def rules(values: Document) -> int:
        kinds = [one for one in documents(values) if one["kind"] == "ValidatingAdmissionPolicy"]
        (policy,) = [one for one in kinds if one["metadata"]["name"].endswith("-requesters")]
        assert "system:serviceaccount:hudi-system:hudi-hudi-operator" in str(policy["spec"]["matchConditions"])
        return len(policy["spec"]["validations"])

    assert (notes({}), notes({"requesterPolicy": {"enabled": False}})) == (["true"], [])
    assert (rules({}), rules({"requesterPolicy": {"required": True}})) == (1, 2)


@pytest.mark.parametrize("enabled", [True, False])
def test_editor_of_tables_creates_operations_only_under_the_policy_for_decisions(enabled: bool, documents: Any) -> None:
    found = documents({"decisionPolicy": {"enabled": enabled}})
    roles = {document["metadata"]["name"]: document for document in found if document["kind"] == "ClusterRole"}
    rights = {
        name: {
            verb
            for rule in roles[f"hudi-hudi-operator-{name}"]["rules"]
            for verb in rule["verbs"]
            if "hudioperations" in rule["resources"]
        }
        for name in ("edit", "operate")
    }
    assert rights["edit"] == ({"create"} if enabled else set())
    assert {"create", "operate"} <= rights["operate"]
    policies = [one for one in found if one["kind"] == "ValidatingAdmissionPolicy"]
    (policy,) = [one for one in policies if one["metadata"]["name"].endswith("-decisions")] or [None]
    assert (policy is not None) == enabled
    if policy is not None:
        assert "system:serviceaccount:hudi-system:hudi-hudi-operator" in str(policy["spec"]["matchConditions"])
        fields = {
            one.removeprefix("has(object.spec.").rstrip(")")
            for one in str(policy["spec"]["matchConditions"][0]["expression"]).replace("!", "").split(" && ")
        }
        assert fields == set(DECISION_FIELDS.values())


def test_approver_is_aggregated_to_no_role(documents: Any) -> None:
    roles = {document["metadata"]["name"]: document for document in documents({}) if document["kind"] == "ClusterRole"}
    approving = [name for name, role in roles.items() if any("approve" in rule["verbs"] for rule in role["rules"])]
    assert approving == ["hudi-hudi-operator-approve"]
    assert not any("aggregate" in label for label in roles[approving[0]]["metadata"]["labels"])


def test_the_tag_defaults_to_the_version_of_the_chart(documents: Any, chart: Any) -> None:
    version = yaml.safe_load((chart / "Chart.yaml").read_text())["appVersion"]
    (container,) = _deployment(documents({}))["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"hudi-operator:{version}"


def test_rights_in_two_namespaces_are_given_there_and_nowhere_else(documents: Any) -> None:
    bindings = [document for document in documents(VALUES["two namespaces only"]) if "subjects" in document]
    given = {(item["metadata"].get("namespace"), item["roleRef"]["name"]) for item in bindings}
    assert given == {
        (None, "hudi-hudi-operator-classes"),
        ("team-a", "hudi-hudi-operator-tables"),
        ("team-b", "hudi-hudi-operator-tables"),
        ("hudi-system", "hudi-hudi-operator-claims"),
        ("team-a", "hudi-driver"),
    }


def test_each_tenant_gets_accounts_for_drivers_and_executors(documents: Any) -> None:
    rendered = documents(EVERYTHING)
    accounts = {_place(document) for document in rendered if document["kind"] == "ServiceAccount"}
    assert accounts == {
        ("hudi-system", "reader"),
        *((namespace, name) for namespace in ("team-a", "team-b") for name in ("hudi-driver", "hudi-executor")),
    }
    bound = {subject["name"] for item in rendered if "subjects" in item for subject in item["subjects"]}
    assert bound == {"reader", "hudi-driver"}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_the_operator_may_watch_every_kind_and_write_its_status(kind: ResourceKind, documents: Any) -> None:
    granted: dict[str, set[str]] = {}
    for role in (document for document in documents({}) if document["kind"] == "ClusterRole"):
        if any("aggregate-to" in label for label in role["metadata"]["labels"]):
            continue  # for people
        for rule in role["rules"]:
            for resource in rule["resources"]:
                granted.setdefault(resource, set()).update(rule["verbs"])
    assert granted[kind.plural] >= {"get", "list", "watch"}
    assert granted[f"{kind.plural}/status"] >= {"get", "update"}


def test_only_administrators_of_the_cluster_change_classes(documents: Any) -> None:
    roles = [document for document in documents({}) if document["kind"] == "ClusterRole"]
    changing = {"create", "update", "patch", "delete", "deletecollection"}
    for role in roles:
        for rule in role["rules"]:
            if "huditableclasses" in rule["resources"]:
                assert not changing & set(rule["verbs"]), role["metadata"]["name"]


def test_classes_come_from_values(documents: Any) -> None:
    classes = {item["metadata"]["name"]: item for item in documents(EVERYTHING) if item["kind"] == "HudiTableClass"}
    assert classes.keys() == {"standard", "large"}
    assert classes["standard"]["metadata"]["annotations"] == {"hudi-operator.io/is-default-class": "true"}
    assert "annotations" not in classes["large"]["metadata"]
    assert classes["large"]["spec"]["limits"] == {"driverMemory": "32Gi"}


def test_the_chart_holds_the_generated_definitions(chart: Any) -> None:
    generated = {path.name: path.read_bytes() for path in (chart.parents[1] / "crds").glob("*.yaml")}
    assert generated
    assert {path.name: path.read_bytes() for path in (chart / "crds").iterdir()} == generated


CLASS = {"spec": {"allowedBasePaths": ["s3a://lake"]}}
REFUSED: dict[str, tuple[Document, str]] = {
    "a value that does not exist": ({"replica": 2}, "additional properties 'replica' not allowed"),
    "two replicas without election": ({"leaderElection": {"enabled": False}}, "there may be one replica only"),
    "a misspelt part of a value": ({"image": {"tags": "x"}}, "additional properties 'tags' not allowed"),
    "a tag inside the name of an image": ({"sparkImage": {"repository": "spark:1"}}, "/sparkImage/repository"),
    "an unknown log level": ({"operator": {"logLevel": "LOUD"}}, "/operator/logLevel"),
    "polling all the time": ({"operator": {"pollSeconds": 0}}, "/operator/pollSeconds"),
    "a namespace with capitals": ({"tenants": ["Team"]}, "/tenants/0"),
    "watched namespaces as a text": ({"watchNamespaces": "team-a"}, "/watchNamespaces"),
    "a class without base paths": ({"tableClasses": {"standard": {"spec": {}}}}, "allowedBasePaths"),
    "a secret instead of its name": ({"objectStore": {"accessKey": "x"}}, "additional properties 'accessKey'"),
    "two default classes": (
        {"tableClasses": {"one": {"default": True, **CLASS}, "two": {"default": True, **CLASS}}},
        "only one of tableClasses may be the default, not one and two",
    ),
}


@pytest.mark.parametrize(("values", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(values: Document, message: str, template: Any) -> None:
    result = template(values)
    assert result.returncode != 0
    assert message in result.stderr


def violations(pod: Document) -> list[str]:
    """Return what in a pod breaks the restricted Pod Security Standard."""
    found = [name for name in ("hostNetwork", "hostPID", "hostIPC") if pod.get(name)]
    shared = pod.get("securityContext", {})
    for container in [*pod["containers"], *pod.get("initContainers", ())]:
        own = {**shared, **container.get("securityContext", {})}
        checks = {
            "runAsNonRoot": own.get("runAsNonRoot") is True and own.get("runAsUser") != 0,
            "seccompProfile": own.get("seccompProfile", {}).get("type") in {"RuntimeDefault", "Localhost"},
            "allowPrivilegeEscalation": own.get("allowPrivilegeEscalation") is False,
            "capabilities": own.get("capabilities", {}) == {"drop": ["ALL"]},
            "privileged": not own.get("privileged"),
            "hostPort": not any("hostPort" in port for port in container.get("ports", ())),
        }
        found += [name for name, holds in checks.items() if not holds]
    allowed = {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
    found += [f"volume {item['name']}" for item in pod.get("volumes", ()) if not set(item) - {"name"} <= allowed]
    return found


def _deployment(rendered: list[Document]) -> Document:
    (found,) = [document for document in rendered if document["kind"] == "Deployment"]
    return found


def _place(document: Document) -> tuple[str, str]:
    return document["metadata"]["namespace"], document["metadata"]["name"]


def test_names_that_look_like_numbers_stay_text(helm: Any, chart: Any, values_file: Any) -> None:
    values = EVERYTHING | {"tenants": ["2024"], "fullnameOverride": "0123", "priorityClassName": "7"}
    values["tableClasses"] = {"42": {"spec": {"allowedBasePaths": ["s3a://lake"]}}}
    place = ("--namespace=0123", f"--kube-version={KUBERNETES_VERSION}", f"--values={values_file(values)}")
    result = helm("template", "881393", str(chart), *place)
    assert result.returncode == 0, result.stderr
    for document in yaml.safe_load_all(result.stdout):
        for name, value in names_in(document):
            assert isinstance(value, str), f"{name}: {value!r} of {document['kind']}"


def names_in(node: Any) -> Iterator[tuple[str, Any]]:
    """Every name, namespace and label in a document."""
    if isinstance(node, list):
        for item in node:
            yield from names_in(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key in {"labels", "matchLabels", "annotations"}:
                yield from value.items()
            elif key.lower().endswith(("name", "namespace")) and not isinstance(value, dict):
                yield key, value
            else:
                yield from names_in(value)


def test_classes_are_read_by_the_named_groups_alone(documents: Any) -> None:
    def subjects(values: Document) -> list[list[Document]]:
        bound = [one for one in documents(values) if one["kind"] == "ClusterRoleBinding"]
        return [one["subjects"] for one in bound if one["roleRef"]["name"].endswith("-class-reader")]

    group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "data-engineers"}
    assert subjects({}) == []
    assert subjects({"classReaderGroups": ["data-engineers"]}) == [[group]]


def definitions(printed: str) -> list[int]:
    """Return how many definitions each document has: kubectl splits at lines of dashes.

    Of two equal keys of a document it keeps the last without a word.
    """
    documents = [one for one in re.split(r"^---$", printed, flags=re.MULTILINE) if one.strip()]
    return [len(re.findall(r"^kind: CustomResourceDefinition$", one, re.MULTILINE)) for one in documents]


def test_helm_prints_the_definitions_so_that_kubectl_finds_each_of_them(helm: Run, chart: Path) -> None:
    assert definitions(helm("show", "crds", str(chart)).stdout) == [1] * len(KINDS)


def test_other_helms_print_the_same_definitions_and_make_the_same_of_the_chart(
    helm: Run, other_helm: Run, chart: Path
) -> None:
    made = ("template", "hudi", str(chart), "--namespace=hudi-system", f"--kube-version={KUBERNETES_VERSION}")

    shown, rendered = other_helm("show", "crds", str(chart)), other_helm(*made)

    assert definitions(shown.stdout) == [1] * len(KINDS), shown.stderr
    assert rendered.returncode == 0, rendered.stderr
    assert by_name(rendered.stdout) == by_name(helm(*made).stdout)


def by_name(rendered: str) -> dict[tuple[str, str], Document]:
    found = [one for one in yaml.safe_load_all(rendered) if one]
    return {(one["kind"], one["metadata"]["name"]): one for one in found}
