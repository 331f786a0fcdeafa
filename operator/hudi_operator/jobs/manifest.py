"""Builds the manifests of a run: a `batch/v1` Job for the Spark driver, and the pod template of executors.

Every pod meets the `restricted` Pod Security Standard. The request travels as a pod annotation and is mounted from
there, so that launching a run is a single write to the API server.
"""

from typing import Any

import yaml

from hudi_jobs.contract import ContinuousTask, IngestionTableTask, JobRequest, OperationTableTask, Service, TableTask
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.spec.placement import PodTemplate
from hudi_operator.api.spec.table import ExecutionMode
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.values.base import parse_duration
from hudi_operator.jobs.names import (
    ATTEMPT_ANNOTATION,
    BASE_INSTANT_ANNOTATION,
    CLASS_LABEL,
    CONTINUOUS_ANNOTATION,
    DECIDED_AT_ANNOTATION,
    EXECUTOR_TEMPLATE_ANNOTATION,
    GENERATION_ANNOTATION,
    IMAGE_ANNOTATION,
    QUEUE_LABEL,
    REQUEST_ANNOTATION,
    ROLE_LABEL,
    job_labels,
    label_value,
)
from hudi_operator.jobs.placement import (
    Placement,
    environment,
    mounts,
    pod_placement,
    resolve_placement,
    volumes,
)
from hudi_operator.jobs.settings.spark_conf import (
    ACCESS_KEY_VARIABLE,
    EXECUTOR_TEMPLATE_FILE,
    JOB_FOLDER,
    SECRET_KEY_VARIABLE,
)
from hudi_operator.jobs.sizing import Sizing
from hudi_operator.sources.definition import SourceSecret
from hudi_operator.sources.registry import declared_source

DRIVER_CONTAINER = "driver"
EXECUTOR_CONTAINER = "executor"

_NO_MESH_LABELS = {"sidecar.istio.io/inject": "false"}
_NO_MESH_ANNOTATIONS = {"linkerd.io/inject": "disabled"}
_USER = 185  # the user of Spark's own images
_GRACE_SECONDS = 60


def build_job(
    *,
    table: HudiTable,
    table_class: HudiTableClassSpec,
    request: JobRequest,
    sizing: Sizing,
    image: str,
    class_name: str,
    attempt: int,
    base_instant: str | None,
    decided_at: str = "",
    generation: int | None = None,
    class_version: str | None = None,
) -> dict[str, Any]:
    """Return the Job of a run. The operator retries; the Job itself never starts a second pod.

    A Job that removes the data, or finishes an operation on a deleted table, has no owner: `kubectl delete
    --cascade=foreground`, and Argo CD, would delete it together with its table. Its time to live removes it, so that
    its log outlives the table.
    """
    task = request.task_of(table.metadata.uid)
    service = task.service
    labels = job_labels(table=table.metadata.name, table_uid=table.metadata.uid, service=service)
    annotations = {
        ATTEMPT_ANNOTATION: str(attempt),
        BASE_INSTANT_ANNOTATION: base_instant or "",
        DECIDED_AT_ANNOTATION: decided_at,
        GENERATION_ANNOTATION: "" if generation is None else str(generation),
        IMAGE_ANNOTATION: image,
    }
    continuous = _continuous(task)
    if continuous is not None:
        annotations[CONTINUOUS_ANNOTATION] = class_version or ""
    job, secrets = table_class.job, _secrets(table, task)
    placement = resolve_placement(table.spec, table_class)
    driver_labels = {**labels, ROLE_LABEL: "driver"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": request.run,
            "namespace": table.metadata.namespace,
            "labels": {**_queue_labels(placement), **labels, CLASS_LABEL: label_value(class_name)},
            "annotations": annotations,
            **({"ownerReferences": [owner_reference(table)]} if _has_owner(table, service) else {}),
        },
        "spec": {
            **({"suspend": True} if placement.queue_name else {}),
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            "podReplacementPolicy": "Failed",
            "activeDeadlineSeconds": _deadline_seconds(table_class, continuous),
            "ttlSecondsAfterFinished": int(parse_duration(job.ttl_after_finished).total_seconds()),
            "template": {
                "metadata": _pod_metadata(
                    table_class,
                    placement.templates.driver,
                    labels=driver_labels,
                    annotations=_documents(
                        request,
                        table_class=table_class,
                        template=placement.templates.executor,
                        sizing=sizing,
                        labels=labels,
                        secrets=secrets,
                    ),
                ),
                "spec": _driver_pod(
                    table_class,
                    placement.templates.driver,
                    labels=driver_labels,
                    sizing=sizing,
                    image=image,
                    secrets=secrets,
                    grace=_grace_seconds(continuous),
                ),
            },
        },
    }


def _queue_labels(placement: Placement) -> dict[str, str]:
    return {QUEUE_LABEL: placement.queue_name} if placement.queue_name else {}


def _has_owner(table: HudiTable, service: Service) -> bool:
    goes = table.metadata.deletion_timestamp is not None
    return service is not Service.DELETION and not (goes and service is Service.OPERATION)


def _secrets(table: HudiTable, task: TableTask) -> tuple[SourceSecret, ...]:
    """Return the source's Secrets, mounted only in pods that read the source."""
    if not isinstance(task, IngestionTableTask | OperationTableTask) or task.ingestion is None:
        return ()
    source = declared_source(table.spec)
    return source.secrets if source is not None else ()


def build_executor_template(
    table_class: HudiTableClassSpec,
    template: PodTemplate,
    *,
    labels: dict[str, str],
    secrets: tuple[SourceSecret, ...] = (),
) -> dict[str, Any]:
    """Return the pod template that Spark completes for each executor."""
    labels = {**labels, ROLE_LABEL: "executor"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _pod_metadata(table_class, template, labels=labels, annotations={}),
        "spec": {
            **_common_pod(table_class, template, labels=labels),
            "automountServiceAccountToken": False,
            "containers": [
                {
                    "name": EXECUTOR_CONTAINER,
                    "env": environment(template, local_dirs=False),
                    "securityContext": _container_security(),
                    "volumeMounts": [*mounts(template), _scratch_mount(), *(secret.mount for secret in secrets)],
                }
            ],
            "volumes": [*volumes(template), _scratch_volume(), *(secret.volume for secret in secrets)],
        },
    }


def _pod_metadata(
    table_class: HudiTableClassSpec, template: PodTemplate, *, labels: dict[str, str], annotations: dict[str, str]
) -> dict[str, Any]:
    """Return the pod's labels and annotations: no mesh injection, then the class's, the template's, the operator's.

    An injected container would run on after the driver and keep the pod running.
    """
    job = table_class.job
    return {
        "labels": {**_NO_MESH_LABELS, **job.pod_labels, **template.labels, **labels},
        "annotations": {**_NO_MESH_ANNOTATIONS, **job.pod_annotations, **template.annotations, **annotations},
    }


def owner_reference(table: HudiTable) -> dict[str, Any]:
    """Return the owner reference that deletes an object together with the table."""
    return {
        "apiVersion": "hudi-operator.io/v1beta1",
        "kind": "HudiTable",
        "name": table.metadata.name,
        "uid": table.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }


def _documents(
    request: JobRequest,
    *,
    table_class: HudiTableClassSpec,
    template: PodTemplate,
    sizing: Sizing,
    labels: dict[str, str],
    secrets: tuple[SourceSecret, ...],
) -> dict[str, str]:
    documents = {REQUEST_ANNOTATION: request.model_dump_json(by_alias=True, exclude_none=True)}
    if sizing.mode is ExecutionMode.CLUSTER:
        pod = build_executor_template(table_class, template, labels=labels, secrets=secrets)
        documents[EXECUTOR_TEMPLATE_ANNOTATION] = yaml.safe_dump(pod, sort_keys=False)
    return documents


def _continuous(task: TableTask) -> ContinuousTask | None:
    return task.ingestion.continuous if isinstance(task, IngestionTableTask) else None


def _deadline_seconds(table_class: HudiTableClassSpec, continuous: ContinuousTask | None) -> int:
    """Return the Job's deadline; a continuous Job, which ends by itself, gets a whole run's time for its last batch."""
    deadline = parse_duration(table_class.job.deadline).total_seconds()
    if continuous is None:
        return int(deadline)
    return int(continuous.recycle_after_seconds + continuous.drain_seconds + deadline)


def _grace_seconds(continuous: ContinuousTask | None) -> int:
    return _GRACE_SECONDS if continuous is None else _GRACE_SECONDS + int(continuous.drain_seconds)


def _driver_pod(
    table_class: HudiTableClassSpec,
    template: PodTemplate,
    *,
    labels: dict[str, str],
    sizing: Sizing,
    image: str,
    secrets: tuple[SourceSecret, ...],
    grace: int,
) -> dict[str, Any]:
    in_cluster = sizing.mode is ExecutionMode.CLUSTER
    return {
        **_common_pod(table_class, template, labels=labels),
        **({"serviceAccountName": table_class.job.driver_service_account_name} if in_cluster else {}),
        "automountServiceAccountToken": in_cluster,
        "terminationGracePeriodSeconds": grace,
        "containers": [
            {
                "name": DRIVER_CONTAINER,
                "image": image,
                "imagePullPolicy": table_class.job.image_pull_policy.value,
                "env": [
                    *environment(template, local_dirs=not in_cluster),
                    *_environment(table_class),
                    *(secret.presence for secret in secrets),
                ],
                "resources": {
                    "requests": {"cpu": sizing.driver.cpu, "memory": sizing.driver.memory},
                    "limits": {"memory": sizing.driver.memory},
                },
                "securityContext": _container_security(),
                "terminationMessagePolicy": "File",
                "volumeMounts": [
                    *mounts(template),
                    _scratch_mount(),
                    {"name": "job", "mountPath": JOB_FOLDER, "readOnly": True},
                    *(secret.mount for secret in secrets),
                ],
            }
        ],
        "volumes": [
            *volumes(template),
            _scratch_volume(),
            _job_volume(executor_template=in_cluster),
            *(secret.volume for secret in secrets),
        ],
    }


def _common_pod(table_class: HudiTableClassSpec, template: PodTemplate, *, labels: dict[str, str]) -> dict[str, Any]:
    """Return what drivers and executors share; the template's fields stand first, so that none replaces another."""
    job = table_class.job
    nodes = {**job.node_selector, **template.node_selector}
    return {
        **pod_placement(template, labels=labels),
        "restartPolicy": "Never",
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        **({"nodeSelector": nodes} if nodes else {}),
        **(
            {"imagePullSecrets": [{"name": name} for name in job.image_pull_secret_names]}
            if job.image_pull_secret_names
            else {}
        ),
    }


def _container_security() -> dict[str, Any]:
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def _environment(table_class: HudiTableClassSpec) -> list[dict[str, Any]]:
    fields = {
        "POD_NAME": "metadata.name",
        "POD_IP": "status.podIP",
        "JOB_UID": "metadata.labels['batch.kubernetes.io/controller-uid']",
    }
    environment: list[dict[str, Any]] = [
        {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()
    ]
    store = table_class.object_store
    if store is not None and store.credentials_secret_name is not None:
        environment += [
            {
                "name": variable,
                "valueFrom": {"secretKeyRef": {"name": store.credentials_secret_name, "key": variable}},
            }
            for variable in (ACCESS_KEY_VARIABLE, SECRET_KEY_VARIABLE)
        ]
    return environment


def _job_volume(*, executor_template: bool) -> dict[str, Any]:
    files = {"request.json": REQUEST_ANNOTATION}
    if executor_template:
        files[EXECUTOR_TEMPLATE_FILE] = EXECUTOR_TEMPLATE_ANNOTATION
    items = [
        {"path": path, "fieldRef": {"fieldPath": f"metadata.annotations['{annotation}']"}}
        for path, annotation in files.items()
    ]
    return {"name": "job", "downwardAPI": {"items": items}}


def _scratch_volume() -> dict[str, Any]:
    return {"name": "scratch", "emptyDir": {}}


def _scratch_mount() -> dict[str, Any]:
    return {"name": "scratch", "mountPath": "/tmp"}  # noqa: S108 - the pod's own scratch volume
