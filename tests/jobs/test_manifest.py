"""The Job of a run and the pod template of its executors."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.jobs.pod_security import violations
from tests.planning.world import IMAGE, JOB, UID, active, observe, table, table_class

from hudi_jobs.contract import JobRequest, Service
from hudi_operator.jobs.decided_job import build_manifest
from hudi_operator.jobs.names import job_labels, job_name, label_value

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
LABEL_KEY = re.compile(r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")

STORE = {
    "endpoint": "http://s3.storage.svc:9000",
    "pathStyleAccess": True,
    "credentialsSecretName": "lake-credentials",
}


def manifest(*, spec: dict[str, Any] | None = None, **policy: Any) -> dict[str, Any]:
    observation = observe(table(**(spec or {})), table_class=table_class(**policy))
    return build_manifest(observation, active(), default_image=IMAGE)


def local(**policy: Any) -> dict[str, Any]:
    return manifest(**policy)


def cluster(**policy: Any) -> dict[str, Any]:
    return manifest(spec={"execution": {"mode": "Cluster"}}, **policy)


def driver_pod(job: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = job["spec"]["template"]["spec"]
    return found


def annotations_of(job: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = job["spec"]["template"]["metadata"]["annotations"]
    return found


def documents(job: dict[str, Any]) -> list[str]:
    return [key for key in annotations_of(job) if key.startswith("hudi-operator.io/")]


def executor_template(job: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(annotations_of(job)["hudi-operator.io/executor-template"])
    return found


@pytest.mark.parametrize(
    "policy",
    [
        {},
        {"objectStore": STORE},
        {"job": {"nodeSelector": {"pool": "spark"}, "imagePullSecretNames": ["registry"]}},
    ],
)
@pytest.mark.parametrize("mode", ["Local", "Cluster"])
def test_the_drivers_pod_meets_the_restricted_standard(mode: str, policy: dict[str, Any]) -> None:
    assert violations(driver_pod(manifest(spec={"execution": {"mode": mode}}, **policy))) == []


@pytest.mark.parametrize("policy", [{}, {"job": {"nodeSelector": {"pool": "spark"}, "imagePullSecretNames": ["r"]}}])
def test_the_executors_pod_meets_the_restricted_standard(policy: dict[str, Any]) -> None:
    assert violations(executor_template(cluster(**policy))["spec"]) == []


BREAKS = {
    "hostNetwork": lambda pod: pod.update(hostNetwork=True),
    "volume hostPath": lambda pod: pod["volumes"].append({"name": "node", "hostPath": {"path": "/"}}),
    "driver: runAsNonRoot": lambda pod: pod["securityContext"].pop("runAsNonRoot"),
    "driver: runAsUser": lambda pod: pod["securityContext"].update(runAsUser=0),
    "driver: seccompProfile": lambda pod: pod["securityContext"].pop("seccompProfile"),
    "driver: privileged": lambda pod: pod["containers"][0]["securityContext"].update(privileged=True),
    "driver: allowPrivilegeEscalation": lambda pod: pod["containers"][0]["securityContext"].pop(
        "allowPrivilegeEscalation"
    ),
    "driver: capabilities.drop": lambda pod: pod["containers"][0]["securityContext"]["capabilities"].pop("drop"),
    "driver: capabilities.add": lambda pod: pod["containers"][0]["securityContext"]["capabilities"].update(
        add=["NET_ADMIN"]
    ),
    "driver: hostPort": lambda pod: pod["containers"][0].update(ports=[{"containerPort": 1, "hostPort": 1}]),
}


@pytest.mark.parametrize("broken", BREAKS)
def test_the_check_of_the_standard_finds_what_breaks_it(broken: str) -> None:
    pod = copy.deepcopy(driver_pod(local()))
    BREAKS[broken](pod)
    assert violations(pod) == [broken]


def test_a_local_driver_has_no_token_and_no_service_account() -> None:
    pod = driver_pod(local())
    assert pod["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in pod


def test_a_driver_with_executors_has_the_token_of_its_own_service_account() -> None:
    pod = driver_pod(cluster(job={"driverServiceAccountName": "spark-driver"}))
    assert pod["automountServiceAccountToken"] is True
    assert pod["serviceAccountName"] == "spark-driver"


def test_executors_have_no_token() -> None:
    assert executor_template(cluster())["spec"]["automountServiceAccountToken"] is False


def test_a_local_run_brings_no_executor_template() -> None:
    job = local()
    assert list(documents(job)) == ["hudi-operator.io/request"]
    (volume,) = [one for one in driver_pod(job)["volumes"] if one["name"] == "job"]
    assert [item["path"] for item in volume["downwardAPI"]["items"]] == ["request.json"]


def test_the_files_of_a_run_with_executors_are_mounted_from_its_annotations() -> None:
    job = cluster()
    (volume,) = [one for one in driver_pod(job)["volumes"] if one["name"] == "job"]
    paths = {item["path"]: item["fieldRef"]["fieldPath"] for item in volume["downwardAPI"]["items"]}
    assert paths == {
        "request.json": "metadata.annotations['hudi-operator.io/request']",
        "executor.yaml": "metadata.annotations['hudi-operator.io/executor-template']",
    }
    assert {f"metadata.annotations['{key}']" for key in documents(job)} == set(paths.values())


def test_a_job_never_starts_a_second_pod_and_cleans_up_after_itself() -> None:
    spec = local(job={"deadline": "90m", "ttlAfterFinished": "30m"})["spec"]
    assert (spec["backoffLimit"], spec["completions"], spec["parallelism"]) == (0, 1, 1)
    assert spec["podReplacementPolicy"] == "Failed"
    assert spec["template"]["spec"]["restartPolicy"] == "Never"
    assert (spec["activeDeadlineSeconds"], spec["ttlSecondsAfterFinished"]) == (5400, 1800)


def test_a_continuous_job_may_run_until_it_begins_anew_and_finish_a_batch_when_it_is_asked_to_end() -> None:
    continuous = {"mode": "Continuous", "continuous": {"recycleAfter": "6h"}}
    policy = {"deadline": "2h", "drainTimeout": "10m"}
    observation = observe(table(ingestion=continuous), table_class=table_class(job=policy))
    known = active(live={"class_version": "0123"})
    job = build_manifest(observation, known, default_image=IMAGE)

    assert job["spec"]["activeDeadlineSeconds"] == (6 + 2) * 3600 + 600
    assert driver_pod(job)["terminationGracePeriodSeconds"] == 660
    assert job["metadata"]["annotations"]["hudi-operator.io/continuous"] == "0123"
    assert driver_pod(local())["terminationGracePeriodSeconds"] == 60
    assert "hudi-operator.io/continuous" not in local()["metadata"]["annotations"]


@pytest.mark.parametrize(("service", "has_both"), [("Ingestion", True), ("Cleaning", False)])
def test_of_a_continuous_table_the_driver_that_goes_on_has_both_compilers(service: str, *, has_both: bool) -> None:
    observation = observe(table(ingestion={"mode": "Continuous"}), table_class=table_class())
    job = build_manifest(observation, active(service=service), default_image=IMAGE)
    request = JobRequest.model_validate_json(annotations_of(job)["hudi-operator.io/request"])
    options = request.spark_conf["spark.driver.extraJavaOptions"]
    assert ("-XX:TieredStopAtLevel=1" not in options) is has_both


def test_a_job_belongs_to_its_table_and_goes_with_it() -> None:
    metadata = local()["metadata"]
    assert (metadata["name"], metadata["namespace"]) == (JOB, "team-a")
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "hudi-operator.io/v1beta1",
            "kind": "HudiTable",
            "name": "flights",
            "uid": UID,
            "controller": True,
            "blockOwnerDeletion": False,
        }
    ]


def test_jobs_drivers_and_executors_are_found_by_their_labels() -> None:
    job = cluster()
    common = {
        "app.kubernetes.io/managed-by": "hudi-operator",
        "app.kubernetes.io/name": "hudi-job",
        "app.kubernetes.io/component": "ingestion",
        "hudi-operator.io/table": "flights",
        "hudi-operator.io/table-uid": UID,
        "hudi-operator.io/service": "Ingestion",
    }
    assert job["metadata"]["labels"] == {**common, "hudi-operator.io/table-class": "standard"}
    common["sidecar.istio.io/inject"] = "false"
    assert job["spec"]["template"]["metadata"]["labels"] == {**common, "hudi-operator.io/role": "driver"}
    assert executor_template(job)["metadata"]["labels"] == {**common, "hudi-operator.io/role": "executor"}


def test_the_request_travels_whole() -> None:
    request = JobRequest.model_validate_json(annotations_of(local())["hudi-operator.io/request"])
    assert request.run == JOB
    assert [task.service for task in request.tasks] == [Service.INGESTION]
    assert request.tasks[0].table.base_path == "s3a://lake/team-a/flights"


def test_the_driver_asks_for_the_memory_that_it_may_use_and_has_no_limit_on_cpu() -> None:
    spec = {"execution": {"driver": {"cpu": "1500m", "memory": "4Gi"}}}
    (container,) = driver_pod(manifest(spec=spec))["containers"]
    assert container["resources"] == {"requests": {"cpu": "1500m", "memory": "4Gi"}, "limits": {"memory": "4Gi"}}


def test_the_image_of_the_class_wins_over_the_operators() -> None:
    assert driver_pod(local())["containers"][0]["image"] == IMAGE
    assert driver_pod(local(sparkImage="mirror/spark:2"))["containers"][0]["image"] == "mirror/spark:2"


def test_credentials_are_named_and_never_read() -> None:
    job = cluster(objectStore=STORE)
    environment = {one["name"]: one["valueFrom"] for one in driver_pod(job)["containers"][0]["env"]}
    assert environment["AWS_ACCESS_KEY_ID"] == {
        "secretKeyRef": {"name": "lake-credentials", "key": "AWS_ACCESS_KEY_ID"}
    }
    assert environment["AWS_SECRET_ACCESS_KEY"] == {
        "secretKeyRef": {"name": "lake-credentials", "key": "AWS_SECRET_ACCESS_KEY"}
    }


def test_without_a_secret_no_credentials_are_mounted() -> None:
    names = {one["name"] for one in driver_pod(local(objectStore={"region": "eu-west-1"}))["containers"][0]["env"]}
    assert names == {"POD_NAME", "POD_IP", "JOB_UID"}


def test_class_settings_reach_driver_and_executors() -> None:
    job = cluster(job={"nodeSelector": {"pool": "spark"}, "imagePullSecretNames": ["one", "two"]})
    for pod in (driver_pod(job), executor_template(job)["spec"]):
        assert pod["nodeSelector"] == {"pool": "spark"}
        assert pod["imagePullSecrets"] == [{"name": "one"}, {"name": "two"}]


def test_containers_write_to_their_scratch_volume_and_nowhere_else() -> None:
    for pod in (driver_pod(local()), executor_template(cluster())["spec"]):
        (container,) = pod["containers"]
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        writable = [mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")]
        assert writable == ["/tmp"]
        assert {"name": "scratch", "emptyDir": {}} in pod["volumes"]


def test_every_mount_has_its_volume() -> None:
    for job in (local(), cluster()):
        pods = [driver_pod(job)] + (
            [executor_template(job)["spec"]] if "hudi-operator.io/executor-template" in annotations_of(job) else []
        )
        for pod in pods:
            volumes = {one["name"] for one in pod["volumes"]}
            mounts = [mount for container in pod["containers"] for mount in container["volumeMounts"]]
            assert {mount["name"] for mount in mounts} == volumes
            assert len({mount["mountPath"] for mount in mounts}) == len(mounts)


def test_the_same_decision_gives_the_same_manifest_and_it_is_plain_json() -> None:
    assert json.loads(json.dumps(cluster(objectStore=STORE))) == cluster(objectStore=STORE)


segment = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?", fullmatch=True)
table_names = st.lists(segment, min_size=1, max_size=5).map(".".join).filter(lambda name: len(name) <= 253)
attempts = st.integers(1, 10**6)


def named(table_name: str, **changes: Any) -> str:
    given_values: dict[str, Any] = {
        "table_uid": UID,
        "service": Service.INGESTION,
        "decision": ("2026-03-10T12:00:00Z", None, 1),
        **changes,
    }
    return job_name(table_name=table_name, **given_values)


@given(table_names, st.sampled_from(Service), attempts)
def test_the_name_of_a_job_suits_jobs_pods_and_spark_and_is_always_the_same(
    table_name: str, service: Service, attempt: int
) -> None:
    name = named(table_name, service=service, decision=(attempt,))
    assert len(name) <= 47
    assert DNS_LABEL.fullmatch(name)
    assert name == named(table_name, service=service, decision=(attempt,))
    assert service.lower() in name


@given(table_names, attempts)
def test_every_part_of_a_decision_counts_in_the_name(table_name: str, attempt: int) -> None:
    decision = (attempt, None, "")
    names = [
        named(table_name, decision=decision),
        named(table_name, decision=decision, table_uid="another"),
        named(table_name, decision=decision, service=Service.CLEANING),
        named(table_name, decision=(attempt + 1, None, "")),
        named(table_name, decision=(attempt, "", "")),
        named(table_name, decision=(attempt, "", None)),
        named(table_name, decision=(str(attempt), None, "")),
    ]
    assert len(set(names)) == len(names)


def test_a_name_that_exists_is_not_given_again() -> None:
    names: list[str] = []
    for _ in range(5):
        names.append(named("flights", taken=names))
    assert len(set(names)) == 5
    assert names[0] == named("flights", taken=names[1:])


@given(table_names, st.sampled_from(Service))
def test_labels_are_valid_for_every_table(table_name: str, service: Service) -> None:
    for key, value in job_labels(table=table_name, table_uid=UID, service=service).items():
        assert LABEL_KEY.fullmatch(key)
        assert len(value) <= 63
        assert LABEL_VALUE.fullmatch(value)


@given(table_names)
def test_a_short_name_is_its_own_label_and_a_long_one_keeps_its_beginning(table_name: str) -> None:
    value = label_value(table_name)
    assert (value == table_name) is (len(table_name) <= 63)
    assert value[:30] == table_name[:30] or value.startswith(table_name[:52].rstrip("-."))


def test_long_names_that_begin_alike_have_different_labels() -> None:
    assert label_value("a" * 100) != label_value("a" * 101)


def test_the_name_of_a_table_with_dots_reads_well() -> None:
    assert re.fullmatch(r"lake-bronze-flights-ingestion-[0-9a-f]{10}", named("lake.bronze.flights"))


def metadata_of_pods(job: dict[str, Any]) -> list[dict[str, Any]]:
    return [job["spec"]["template"]["metadata"], executor_template(job)["metadata"]]


def test_no_mesh_is_asked_to_inject_a_container_that_would_outlive_ours() -> None:
    for metadata in metadata_of_pods(cluster()):
        assert metadata["labels"]["sidecar.istio.io/inject"] == "false"
        assert metadata["annotations"]["linkerd.io/inject"] == "disabled"


def test_the_class_labels_and_annotates_all_pods_and_takes_nothing_from_the_operator() -> None:
    mine = {"team": "a", "sidecar.istio.io/inject": "true"}
    stolen = {"hudi-operator.io/role": "x", "hudi-operator.io/request": "x", "app.kubernetes.io/managed-by": "x"}
    usual = metadata_of_pods(cluster())
    job = {"podLabels": {**mine, **stolen}, "podAnnotations": {"note": "b", **stolen}}
    for metadata, before in zip(metadata_of_pods(cluster(job=job)), usual, strict=True):
        assert {key: metadata["labels"][key] for key in mine} == mine
        assert metadata["annotations"]["note"] == "b"
        for key in before["labels"].keys() - mine.keys():
            assert metadata["labels"][key] == before["labels"][key]
    driver = metadata_of_pods(cluster(job=job))[0]
    assert driver["annotations"]["hudi-operator.io/request"].startswith("{")
