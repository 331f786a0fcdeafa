"""How the platform team shapes the pods of jobs: a template for drivers and executors, and profiles to choose from."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from hudi_operator.api.spec.affinity import Affinity, Toleration, TopologySpread
from hudi_operator.api.values.base import Model, Name, OptionValue, Quantity, not_less, rules, words
from hudi_operator.api.values.namespaces import LABEL_KEY_PATTERN, LabelValue, label_keys

VOLUMES_FOLDER = "/mnt"
"""Where volumes of a class are mounted, each by its name: outside of all folders of the image and the operator."""

_RESERVED = ("kubernetes.io", "k8s.io", "hudi-operator.io", "spark-", "controller-uid", "job-name")
"""Parts of keys that Kubernetes, Spark and the operator use on pods."""

SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
"""The one annotation with a reserved part that a pod template may set: whether the autoscaler may remove the pod."""

_VARIABLES = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "MALLOC_ARENA_MAX",
)
_PREFIXES = ("APP_", "DD_", "OTEL_")

VARIABLE_PATTERN = rf"^({'|'.join(_VARIABLES)}|({'|'.join(_PREFIXES)})[A-Za-z0-9_]+)$"
"""An allowlist: other variables load code, change identities, time zones or encodings, or belong to the operator."""


def foreign_keys(field: str, *, allowed: str | None = None) -> tuple[str, str]:
    """Return the rule that the keys of labels or annotations are valid and not reserved, except `allowed`."""
    conditions = (
        f"key.matches(r'{LABEL_KEY_PATTERN}')",
        "key.size() <= 128",
        *(f"!key.contains('{part}')" for part in _RESERVED),
    )
    exception = f"key == '{allowed}' || " if allowed else ""
    return (
        f"!has(self.{field}) || self.{field}.all(key, {exception}({' && '.join(conditions)}))",
        f"{field} must have valid keys of at most 128 characters without {', '.join(_RESERVED)}"
        + (f", other than {allowed}" if allowed else ""),
    )


def _label_name(what: str) -> str:
    return f"must be the name of {what}: lower-case letters, digits and '-', with a letter or digit at both ends"


ProfileName = Annotated[
    str,
    Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63, json_schema_extra=words(_label_name("a profile"))),
]
"""The name of a profile of a class."""

QueueName = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        max_length=63,
        json_schema_extra=words(_label_name("a LocalQueue of Kueue")),
    ),
]
"""The name of a LocalQueue in the namespaces of tables."""


class ImagePullPolicy(StrEnum):
    """When a node pulls an image."""

    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"
    NEVER = "Never"


class EnvironmentVariable(Model):
    """A variable of the container."""

    name: Annotated[
        str,
        Field(
            pattern=VARIABLE_PATTERN,
            max_length=128,
            json_schema_extra=words(
                f"must be one of {', '.join(_VARIABLES)}, or begin with {', '.join(_PREFIXES[:-1])} or {_PREFIXES[-1]}"
            ),
        ),
    ]
    """Name of the variable: a proxy, a file of certificates, or a name that begins with `APP_`, `DD_` or `OTEL_`."""

    value: OptionValue
    """Value of the variable, as it is: `$(NAME)` stands for nothing."""


class EmptyDirVolume(Model):
    """A folder on the node's disk that lives as long as its pod."""

    size_limit: Quantity | None = None
    """Size at which the pod is ended."""


class ConfigMapVolume(Model):
    """A ConfigMap in the namespace of the table, read-only."""

    name: Name
    """Name of the ConfigMap."""


class SecretVolume(Model):
    """A Secret in the namespace of the table, read-only."""

    secret_name: Name
    """Name of the Secret."""


class ClaimVolume(Model):
    """A PersistentVolumeClaim in the namespace of the table, which all pods share."""

    claim_name: Name
    """Name of the PersistentVolumeClaim."""

    read_only: bool = False
    """Whether pods can only read."""


class EphemeralVolume(Model):
    """A volume that is made for each pod and deleted with it."""

    storage_class_name: Name | None = None
    """StorageClass of the volume; without it the cluster's default."""

    size: Quantity
    """Size of the volume."""

    model_config = ConfigDict(json_schema_extra=rules(not_less("size", "1Mi")))


VOLUME_KINDS = ("emptyDir", "configMap", "secret", "persistentVolumeClaim", "ephemeral")
"""An allowlist: a csi volume takes attributes that no rule can check, and hostPath is the node's own disk."""


class Volume(Model):
    """A volume of the container, mounted at `/mnt/` and its name."""

    name: Annotated[
        str,
        Field(
            pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
            max_length=40,
            json_schema_extra=words(_label_name("a volume")),
        ),
    ]
    """Name of the volume, and of its folder in `/mnt`."""

    empty_dir: EmptyDirVolume | None = None
    """A folder on the node's disk that lives as long as its pod."""

    config_map: ConfigMapVolume | None = None
    """A ConfigMap in the namespace of the table, read-only."""

    secret: SecretVolume | None = None
    """A Secret in the namespace of the table, read-only."""

    persistent_volume_claim: ClaimVolume | None = None
    """A PersistentVolumeClaim in the namespace of the table, which all pods share."""

    ephemeral: EphemeralVolume | None = None
    """A volume that is made for each pod and deleted with it."""

    spark_local_dir: bool = False
    """Spark spills and shuffles to this volume; only for emptyDir and ephemeral."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                f"[{', '.join(f'has(self.{kind})' for kind in VOLUME_KINDS)}].filter(one, one).size() == 1",
                f"a volume needs exactly one of {', '.join(VOLUME_KINDS)}",
            ),
            (
                "!has(self.sparkLocalDir) || !self.sparkLocalDir || has(self.emptyDir) || has(self.ephemeral)",
                "sparkLocalDir needs emptyDir or ephemeral: pods must not share the folder",
            ),
        )
    )

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        """Refuse a volume of a kind that only a later version knows: its folder would be missing without a word."""
        if len(self.model_dump(by_alias=True, exclude_none=True).keys() & set(VOLUME_KINDS)) != 1:
            raise ValueError(f"the volume {self.name} needs exactly one of {', '.join(VOLUME_KINDS)}")
        return self


_BY_NAME = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}


class PodTemplate(Model):
    """What the platform team decides about pods; the operator's own fields, labels and variables win."""

    node_selector: dict[str, LabelValue] = Field(default_factory=dict, json_schema_extra={"maxProperties": 16})
    """Labels of the nodes, in addition to job.nodeSelector; the template wins for equal keys."""

    tolerations: Annotated[tuple[Toleration, ...], Field(max_length=16)] = ()
    """Taints that the pods tolerate."""

    affinity: Affinity | None = None
    """Nodes and pods to run near or far from."""

    topology_spread_constraints: Annotated[tuple[TopologySpread, ...], Field(max_length=4)] = ()
    """How evenly pods spread: drivers among the drivers of a namespace, executors among those of the same run."""

    priority_class_name: Name | None = None
    """PriorityClass of the pods; not one of the cluster's own, which begin with system-."""

    runtime_class_name: Name | None = None
    """RuntimeClass of the pods."""

    labels: dict[str, LabelValue] = Field(default_factory=dict, json_schema_extra={"maxProperties": 16})
    """Labels of the pods, in addition to job.podLabels; the template wins for equal keys."""

    annotations: dict[str, OptionValue] = Field(default_factory=dict, json_schema_extra={"maxProperties": 16})
    """Annotations of the pods, in addition to job.podAnnotations; the template wins for equal keys."""

    env: Annotated[tuple[EnvironmentVariable, ...], Field(max_length=32, json_schema_extra=_BY_NAME)] = ()
    """Variables of the container."""

    volumes: Annotated[tuple[Volume, ...], Field(max_length=8, json_schema_extra=_BY_NAME)] = ()
    """Volumes of the container, each mounted at `/mnt/` and its name."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            label_keys("nodeSelector"),
            foreign_keys("labels"),
            foreign_keys("annotations", allowed=SAFE_TO_EVICT),
            (
                "!has(self.priorityClassName) || !self.priorityClassName.startsWith('system-')",
                "priorityClassName must not begin with system-: these classes are for the cluster's own pods",
            ),
            (
                "!has(self.topologySpreadConstraints) || self.topologySpreadConstraints.all(one, "
                "self.topologySpreadConstraints.exists_one(other, other.topologyKey == one.topologyKey && "
                "other.whenUnsatisfiable == one.whenUnsatisfiable))",
                "topologySpreadConstraints must differ in topologyKey or whenUnsatisfiable",
            ),
        )
    )


class PodTemplates(Model):
    """The templates of the pods of a run."""

    driver: PodTemplate = PodTemplate()
    """Pods of drivers, in mode Local and Cluster."""

    executor: PodTemplate = PodTemplate()
    """Pods of executors, in mode Cluster."""


class Profile(Model):
    """A choice that a class offers to its tables."""

    name: ProfileName
    """Name that a table gives in execution.profile."""

    pod_template: PodTemplates | None = None
    """Templates in place of the class's podTemplate, as a whole; without it the class's."""

    queue_name: QueueName | None = None
    """LocalQueue of Kueue in place of the class's job.queueName; without it the class's."""


Profiles = Annotated[tuple[Profile, ...], Field(max_length=16, json_schema_extra=_BY_NAME)]
"""The profiles of a class."""
