"""Pods and Jobs by the templates, profiles and queues of a class."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from pydantic import ValidationError
from tests.jobs.pod_security import violations
from tests.planning.world import IMAGE, active, class_spec, observe, table, table_class

from hudi_jobs.contract import JobRequest
from hudi_operator.api.spec.placement import PodTemplate
from hudi_operator.jobs.decided_job import build_manifest
from hudi_operator.jobs.names import QUEUE_LABEL
from hudi_operator.jobs.placement import environment

TERM = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["spark"]}]}
NEAR = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"team": "a"}}}
AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [TERM]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": TERM}],
    },
    "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [NEAR]},
    "podAntiAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": NEAR}],
    },
}
TOLERATIONS = [
    {"key": "dedicated", "value": "spark", "effect": "NoSchedule"},
    {"key": "spot", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30},
]
VOLUMES = [
    {"name": "spill", "emptyDir": {"sizeLimit": "10Gi"}, "sparkLocalDir": True},
    {"name": "disk", "ephemeral": {"storageClassName": "fast", "size": "100Gi"}, "sparkLocalDir": True},
    {"name": "conf", "configMap": {"name": "hadoop"}},
    {"name": "trust", "secret": {"secretName": "ca"}},
    {"name": "shared", "persistentVolumeClaim": {"claimName": "models", "readOnly": True}},
    {"name": "cache", "persistentVolumeClaim": {"claimName": "cache"}},
]
EVERYTHING: dict[str, Any] = {
    "nodeSelector": {"pool": "spark"},
    "tolerations": TOLERATIONS,
    "affinity": AFFINITY,
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}
    ],
    "priorityClassName": "batch",
    "runtimeClassName": "gvisor",
    "labels": {"team": "a"},
    "annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
    "env": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
    "volumes": VOLUMES,
}
BOTH = {"driver": EVERYTHING, "executor": EVERYTHING}


def manifest(mode: str = "Cluster", *, profile: str | None = None, **policy: Any) -> dict[str, Any]:
    execution = {"mode": mode, **({"profile": profile} if profile else {})}
    observation = observe(table(execution=execution), table_class=table_class(**policy))
    return build_manifest(observation, active(), default_image=IMAGE)


def driver(job: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = job["spec"]["template"]
    return found


def executor(job: dict[str, Any]) -> dict[str, Any]:
    annotations = driver(job)["metadata"]["annotations"]
    found: dict[str, Any] = yaml.safe_load(annotations["hudi-operator.io/executor-template"])
    return found


def pods(**policy: Any) -> list[dict[str, Any]]:
    """Return the pods of a run in both modes: two drivers and the template of the executors."""
    return [driver(manifest("Local", **policy)), driver(manifest(**policy)), executor(manifest(**policy))]


def variables(pod: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one.get("value") for one in pod["spec"]["containers"][0]["env"]}


def test_template_places_pods_in_both_modes() -> None:
    for pod in pods(podTemplate=BOTH):
        spec = pod["spec"]
        assert spec["nodeSelector"] == {"pool": "spark"}
        assert spec["tolerations"] == TOLERATIONS
        assert spec["affinity"] == AFFINITY
        assert (spec["priorityClassName"], spec["runtimeClassName"]) == ("batch", "gvisor")
        assert pod["metadata"]["labels"]["team"] == "a"
        assert pod["metadata"]["annotations"]["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false"
        assert variables(pod)["HTTPS_PROXY"] == "http://proxy:3128"


def test_pods_with_every_field_of_a_template_meet_the_restricted_standard() -> None:
    for pod in pods(podTemplate=BOTH):
        assert violations(pod["spec"]) == []


def test_driver_and_executor_have_templates_of_their_own() -> None:
    job = manifest(podTemplate={"driver": {"priorityClassName": "high"}, "executor": {"priorityClassName": "low"}})
    assert driver(job)["spec"]["priorityClassName"] == "high"
    assert executor(job)["spec"]["priorityClassName"] == "low"


def test_class_without_a_template_adds_nothing_to_pods() -> None:
    for pod in pods():
        assert not pod["spec"].keys() & {
            "nodeSelector",
            "tolerations",
            "affinity",
            "topologySpreadConstraints",
            "priorityClassName",
            "runtimeClassName",
        }
        assert not [one for one in pod["spec"]["volumes"] if one["name"].startswith("class-")]


def test_every_kind_of_volume_is_mounted_by_its_name() -> None:
    for pod in pods(podTemplate=BOTH):
        volumes = {one["name"]: one for one in pod["spec"]["volumes"]}
        mounts = {one["name"]: one for one in pod["spec"]["containers"][0]["volumeMounts"]}
        assert volumes.keys() == mounts.keys()
        assert volumes["spark-local-dir-spill"]["emptyDir"] == {"sizeLimit": "10Gi"}
        claim = volumes["spark-local-dir-disk"]["ephemeral"]["volumeClaimTemplate"]["spec"]
        assert claim == {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "resources": {"requests": {"storage": "100Gi"}},
        }
        assert volumes["class-conf"]["configMap"] == {"name": "hadoop"}
        assert volumes["class-trust"]["secret"] == {"secretName": "ca", "defaultMode": 0o440}
        assert volumes["class-shared"]["persistentVolumeClaim"] == {"claimName": "models", "readOnly": True}
        assert volumes["class-cache"]["persistentVolumeClaim"] == {"claimName": "cache"}
        read_only = {name for name, mount in mounts.items() if mount.get("readOnly")} - {"job"}
        assert read_only == {"class-conf", "class-trust", "class-shared"}
        assert mounts["class-conf"]["mountPath"] == "/mnt/conf"
        assert mounts["spark-local-dir-disk"]["mountPath"] == "/mnt/disk"


def test_volume_with_the_name_of_an_operators_volume_stands_beside_it() -> None:
    taken: list[dict[str, Any]] = [{"name": name, "emptyDir": {}} for name in ("scratch", "job")]
    for pod in pods(podTemplate={"driver": {"volumes": taken}, "executor": {"volumes": taken}}):
        names = [one["name"] for one in pod["spec"]["volumes"]]
        paths = [one["mountPath"] for one in pod["spec"]["containers"][0]["volumeMounts"]]
        assert len(set(names)) == len(names)
        assert len(set(paths)) == len(paths)
        assert {"/mnt/scratch", "/mnt/job", "/tmp"} <= set(paths)


def test_local_driver_spills_to_the_volumes_for_it() -> None:
    assert variables(driver(manifest("Local", podTemplate=BOTH)))["SPARK_LOCAL_DIRS"] == "/mnt/spill,/mnt/disk"
    # Executors would take the variable of their driver for their own folders.
    assert "SPARK_LOCAL_DIRS" not in variables(driver(manifest(podTemplate=BOTH)))


def test_drivers_spread_among_drivers_and_executors_among_those_of_their_run() -> None:
    local, in_cluster, of_run = pods(podTemplate=BOTH)
    everyone = {"app.kubernetes.io/managed-by": "hudi-operator", "hudi-operator.io/role": "driver"}
    for pod in (local, in_cluster):
        (constraint,) = pod["spec"]["topologySpreadConstraints"]
        assert constraint["labelSelector"]["matchLabels"] == everyone
    (constraint,) = of_run["spec"]["topologySpreadConstraints"]
    selected = constraint["labelSelector"]["matchLabels"]
    assert selected["hudi-operator.io/role"] == "executor"
    assert selected.keys() >= {"hudi-operator.io/table-uid", "hudi-operator.io/service"}
    assert selected.items() <= of_run["metadata"]["labels"].items()


def test_value_of_a_variable_refers_to_no_other_variable() -> None:
    found = environment(
        PodTemplate.model_validate({"env": [{"name": "APP_KEY", "value": "$(AWS_SECRET_ACCESS_KEY) $$"}]}),
        local_dirs=False,
    )
    assert found == [{"name": "APP_KEY", "value": "$$(AWS_SECRET_ACCESS_KEY) $$$$"}]


def test_operators_own_keys_are_written_last() -> None:
    own = {"hudi-operator.io/role": "x", "hudi-operator.io/request": "x", "app.kubernetes.io/managed-by": "x"}
    template = {"labels": own, "annotations": own}
    usual = pods()
    for pod, before in zip(pods(podTemplate={"driver": template, "executor": template}), usual, strict=True):
        assert pod["metadata"]["labels"].items() >= before["metadata"]["labels"].items()
    for pod in pods(podTemplate={"driver": template, "executor": template})[:2]:
        assert JobRequest.model_validate_json(pod["metadata"]["annotations"]["hudi-operator.io/request"])


def test_template_adds_to_what_holds_for_all_pods_and_wins_for_equal_keys() -> None:
    job = {
        "nodeSelector": {"kubernetes.io/arch": "amd64", "pool": "any"},
        "podLabels": {"team": "all", "cost": "1"},
        "podAnnotations": {"note": "all"},
    }
    template = {"nodeSelector": {"pool": "spark"}, "labels": {"team": "a"}, "annotations": {"more": "b"}}
    for pod in pods(job=job, podTemplate={"driver": template, "executor": template}):
        assert pod["spec"]["nodeSelector"] == {"kubernetes.io/arch": "amd64", "pool": "spark"}
        assert pod["metadata"]["labels"].items() >= {"team": "a", "cost": "1"}.items()
        assert pod["metadata"]["annotations"].items() >= {"note": "all", "more": "b"}.items()


PROFILES = [
    {"name": "spot", "podTemplate": {"executor": {"priorityClassName": "low"}}, "queueName": "spot"},
    {"name": "plain"},
]
OFFER: dict[str, Any] = {
    "podTemplate": {"driver": {"priorityClassName": "high"}},
    "profiles": PROFILES,
    "job": {"queueName": "standard"},
}


def test_template_of_a_profile_takes_the_place_of_the_classs_as_a_whole() -> None:
    job = manifest(profile="spot", **OFFER)
    assert "priorityClassName" not in driver(job)["spec"]
    assert executor(job)["spec"]["priorityClassName"] == "low"


def test_profile_without_a_template_or_a_queue_has_those_of_the_class() -> None:
    job = manifest(profile="plain", **OFFER)
    assert driver(job)["spec"]["priorityClassName"] == "high"
    assert job["metadata"]["labels"][QUEUE_LABEL] == "standard"


def test_table_without_a_profile_has_the_default_profile_of_its_class() -> None:
    job = manifest(**OFFER, execution={"profile": "spot"})
    assert job["metadata"]["labels"][QUEUE_LABEL] == "spot"
    own = manifest(profile="plain", **OFFER, execution={"profile": "spot"})
    assert own["metadata"]["labels"][QUEUE_LABEL] == "standard"


def test_profile_that_a_class_does_not_offer_counts_as_none() -> None:
    job = manifest(profile="gone", **OFFER)
    assert driver(job)["spec"]["priorityClassName"] == "high"


def test_job_with_a_queue_is_created_suspended() -> None:
    for mode in ("Local", "Cluster"):
        job = manifest(mode, job={"queueName": "lake"})
        assert job["metadata"]["labels"][QUEUE_LABEL] == "lake"
        assert job["spec"]["suspend"] is True
        # Kueue admits the Job; a pod with the label would be admitted once more, by itself.
        assert QUEUE_LABEL not in driver(job)["metadata"]["labels"]


def test_job_without_a_queue_starts_at_once() -> None:
    job = manifest()
    assert QUEUE_LABEL not in job["metadata"]["labels"]
    assert "suspend" not in job["spec"]


def test_driver_and_executors_pull_the_image_by_the_policy_of_the_class() -> None:
    job = manifest(job={"imagePullPolicy": "Always"})
    assert driver(job)["spec"]["containers"][0]["imagePullPolicy"] == "Always"
    request = JobRequest.model_validate_json(driver(job)["metadata"]["annotations"]["hudi-operator.io/request"])
    assert request.spark_conf["spark.kubernetes.container.image.pullPolicy"] == "Always"


def test_run_writes_its_event_log_below_the_path_of_the_class() -> None:
    for mode in ("Local", "Cluster"):
        conf = {"spark.eventLog.dir": "s3a://elsewhere", "spark.eventLog.enabled": "false"}
        job = manifest(mode, job={"eventLogPath": "s3a://logs/{namespace}/spark"}, sparkConf=conf)
        request = JobRequest.model_validate_json(driver(job)["metadata"]["annotations"]["hudi-operator.io/request"])
        assert request.spark_conf["spark.eventLog.dir"] == "s3a://logs/team-a/spark"
        assert request.spark_conf["spark.eventLog.enabled"] == "true"


def test_run_without_a_path_writes_no_event_log() -> None:
    request = JobRequest.model_validate_json(driver(manifest())["metadata"]["annotations"]["hudi-operator.io/request"])
    assert not [key for key in request.spark_conf if key.startswith("spark.eventLog")]


def test_manifest_with_every_field_of_a_template_is_plain_json() -> None:
    job = manifest(podTemplate=BOTH)
    assert json.loads(json.dumps(job)) == job


def test_class_with_a_volume_of_an_unknown_kind_is_unreadable() -> None:
    with pytest.raises(ValidationError, match="the volume later needs exactly one of"):
        class_spec(podTemplate={"driver": {"volumes": [{"name": "later", "image": {"reference": "x"}}]}})


@pytest.mark.parametrize(
    "name",
    [
        "SPARK_LOCAL_DIRS",
        "AWS_PROFILE",
        "HADOOP_CONF_DIR",
        "JAVA_TOOL_OPTIONS",
        "_JAVA_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "CLASSPATH",
        "PYTHONPATH",
        "LD_PRELOAD",
        "PATH",
        "TZ",
        "LC_ALL",
        "POD_NAME",
        "JOB_UID",
        "HUDI_SECRET_CA",
        "KUBERNETES_SERVICE_HOST",
        "APP_",
        "APP_A\n",
        "XAPP_A",
    ],
)
def test_variable_that_the_operator_or_a_runtime_reads_is_not_allowed(name: str) -> None:
    with pytest.raises(ValidationError, match=r"env\.0\.name"):
        PodTemplate.model_validate({"env": [{"name": name, "value": "x"}]})
