"""Turns the pod template that holds for a table into parts of manifests of pods."""

from dataclasses import dataclass
from typing import Any

from hudi_operator.api.spec.placement import (
    VOLUME_KINDS,
    VOLUMES_FOLDER,
    EphemeralVolume,
    PodTemplate,
    PodTemplates,
    Volume,
)
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.values.base import Model
from hudi_operator.jobs.names import MANAGED_BY_LABEL, ROLE_LABEL, SERVICE_LABEL, TABLE_UID_LABEL

_VOLUME_PREFIX = "class-"
_LOCAL_DIR_PREFIX = "spark-local-dir-"  # an executor uses mounts of this name (Spark's LocalDirsFeatureStep)
_READABLE_BY_THE_GROUP = 0o440


@dataclass(frozen=True, kw_only=True)
class Placement:
    """What a class decides about the pods of a table: by the table's profile, or for all tables."""

    templates: PodTemplates
    queue_name: str | None


def profile_of(spec: HudiTableSpec, table_class: HudiTableClassSpec) -> str | None:
    """Return the name of the profile that a table has: its own, or the default of its class."""
    return spec.execution.profile or table_class.execution.profile


def resolve_placement(spec: HudiTableSpec, table_class: HudiTableClassSpec) -> Placement:
    """Return the placement of a table's pods; a profile that the class does not offer counts as none.

    The operator starts nothing for such a table (`ProfileNotAllowed`).
    """
    name = profile_of(spec, table_class)
    profile = next((one for one in table_class.profiles if one.name == name), None)
    templates = profile.pod_template if profile else None
    queue = profile.queue_name if profile else None
    return Placement(
        templates=templates or table_class.pod_template,
        queue_name=queue or table_class.job.queue_name,
    )


def pod_placement(template: PodTemplate, *, labels: dict[str, str]) -> dict[str, Any]:
    """Return the fields of a pod's spec that decide where the pod runs; `labels` are the operator's own of the pod."""
    spread = [
        {**_document(one), "labelSelector": {"matchLabels": _spread_among(labels)}}
        for one in template.topology_spread_constraints
    ]
    fields = {
        "tolerations": [_document(one) for one in template.tolerations],
        "affinity": _document(template.affinity) if template.affinity else None,
        "topologySpreadConstraints": spread,
        "priorityClassName": template.priority_class_name,
        "runtimeClassName": template.runtime_class_name,
    }
    return {name: value for name, value in fields.items() if value}


def _spread_among(labels: dict[str, str]) -> dict[str, str]:
    """Return the labels of the pods that a pod spreads among: all drivers, or the executors of its run.

    A table has one run of a service at a time.
    """
    keys = [MANAGED_BY_LABEL, ROLE_LABEL]
    if labels[ROLE_LABEL] == "executor":
        keys += [TABLE_UID_LABEL, SERVICE_LABEL]
    return {key: labels[key] for key in keys}


def environment(template: PodTemplate, *, local_dirs: bool) -> list[dict[str, Any]]:
    """Return the variables of a template's container; Kubernetes replaces `$(NAME)`, so every `$` is doubled.

    With `local_dirs` Spark also gets the folders for its local data, as a driver needs and executors find themselves.
    """
    found = [{"name": one.name, "value": one.value.replace("$", "$$")} for one in template.env]
    folders = [_folder(one) for one in template.volumes if one.spark_local_dir]
    if folders and local_dirs:
        found.append({"name": "SPARK_LOCAL_DIRS", "value": ",".join(folders)})
    return found


def volumes(template: PodTemplate) -> list[dict[str, Any]]:
    """Return the volumes of a template."""
    return [{"name": _name(one), **_source(one)} for one in template.volumes]


def mounts(template: PodTemplate) -> list[dict[str, Any]]:
    """Return the mounts of a template's volumes, each in a folder of its own."""
    return [
        {
            "name": _name(one),
            "mountPath": _folder(one),
            **({"readOnly": True} if _is_read_only(one) else {}),
        }
        for one in template.volumes
    ]


def _source(volume: Volume) -> dict[str, Any]:
    if volume.ephemeral is not None:
        return {"ephemeral": _made_for_a_pod(volume.ephemeral)}
    source = _document(volume)
    found = {kind: source[kind] for kind in VOLUME_KINDS if kind in source}
    if volume.secret is not None:
        found["secret"]["defaultMode"] = _READABLE_BY_THE_GROUP
    return found


def _made_for_a_pod(volume: EphemeralVolume) -> dict[str, Any]:
    storage = volume.storage_class_name
    claim = {
        "accessModes": ["ReadWriteOnce"],
        **({"storageClassName": storage} if storage else {}),
        "resources": {"requests": {"storage": volume.size}},
    }
    return {"volumeClaimTemplate": {"spec": claim}}


def _is_read_only(volume: Volume) -> bool:
    claim = volume.persistent_volume_claim
    shared_for_reading = claim is not None and claim.read_only
    return volume.config_map is not None or volume.secret is not None or shared_for_reading


def _name(volume: Volume) -> str:
    return f"{_LOCAL_DIR_PREFIX if volume.spark_local_dir else _VOLUME_PREFIX}{volume.name}"


def _folder(volume: Volume) -> str:
    return f"{VOLUMES_FOLDER}/{volume.name}"


def _document(value: Model) -> dict[str, Any]:
    """Return a value as Kubernetes reads it, without fields that have their default."""
    return value.model_dump(mode="json", by_alias=True, exclude_defaults=True)
