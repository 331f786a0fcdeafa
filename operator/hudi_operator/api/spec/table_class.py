"""The spec of a `HudiTableClass`: the limits and defaults that a platform team sets, like a StorageClass."""

from typing import Annotated

from pydantic import ConfigDict, Field

from hudi_operator.api.spec.catalog import AllowedCatalogs
from hudi_operator.api.spec.operation import AllowedKind, OperationApproval
from hudi_operator.api.spec.placement import ImagePullPolicy, PodTemplates, Profiles, QueueName, foreign_keys
from hudi_operator.api.spec.source import AllowedSources
from hudi_operator.api.spec.table import Execution
from hudi_operator.api.spec.table_writing import Lock
from hudi_operator.api.values.base import (
    LARGEST_INT,
    DefaultsTo,
    Duration,
    Model,
    Name,
    OptionValue,
    Quantity,
    at_least,
    duration_or,
    not_less,
    rules,
    words,
)
from hudi_operator.api.values.names import PathPrefix
from hudi_operator.api.values.namespaces import AllowedNamespaces, LabelValue, label_keys

DEFAULT_CLASS_ANNOTATION = "hudi-operator.io/is-default-class"
"""On a HudiTableClass: `"true"` makes it the class of tables without a class name."""

KeyPattern = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*\*?$",
        max_length=256,
        json_schema_extra=words(
            "must be a key such as spark.sql.shuffle.partitions, or a prefix of keys before one '*'"
        ),
    ),
]


class ObjectStore(Model):
    """The S3-compatible store that jobs and the operator use."""

    endpoint: Annotated[
        Annotated[
            str,
            Field(
                pattern=r"^https?://[^/?#@\s]+$",
                max_length=256,
                json_schema_extra=words(
                    "must be a URL such as https://s3.example.com:9000, without a user, path or query"
                ),
            ),
        ]
        | None,
        DefaultsTo("Amazon's own"),
    ] = None
    """URL of the store."""

    region: Annotated[str, Field(min_length=1, max_length=64)] = "us-east-1"
    """Region that requests are signed for."""

    path_style_access: bool = False
    """Put the bucket in the path instead of the host name, as most stores other than Amazon's need."""

    credentials_secret_name: Name | None = None
    """Secret in the table's namespace with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; jobs mount it by name.

    Without it the pods' own identity is used.
    """


class ExecutionLimits(Model):
    """Upper bounds for what a table may ask for, and for what the operator grows after out-of-memory."""

    driver_memory: Quantity = "8Gi"
    """Maximum memory of a driver's pod."""

    driver_cpu: Quantity = "4"
    """Maximum CPU of a driver's pod."""

    executor_memory: Quantity = "16Gi"
    """Maximum memory of an executor's pod."""

    executor_cpu: Quantity = "8"
    """Maximum CPU of an executor's pod."""

    executor_instances: Annotated[int, Field(ge=1, le=LARGEST_INT)] = 50
    """Maximum executor pods of an application."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            not_less("driverMemory", "1000Mi"),
            not_less("driverCpu", "100m"),
            not_less("executorMemory", "1000Mi"),
            not_less("executorCpu", "100m"),
        )
    )


class JobSettings(Model):
    """Settings of Jobs."""

    deadline: Duration = "2h"
    """Longest time of a run; a longer run is ended and counts as failed. Does not bound a continuous ingestion."""

    start_timeout: Duration = "5m"
    """Longest time until the pod of a run, and then its first executor, starts; then the run is stopped and retried
    later."""

    drain_timeout: Duration = "5m"
    """Time that a stopping continuous ingestion may take to finish its batch before the batch is cancelled."""

    ttl_after_finished: Duration = "1h"
    """Time for which finished jobs and their logs stay."""

    driver_service_account_name: Name = "hudi-driver"
    """Service account of drivers in mode Cluster, with the permission to manage pods in its namespace. Local drivers
    have no token.
    """

    executor_service_account_name: Name = "hudi-executor"
    """Service account of executors, which need no permissions."""

    image_pull_secret_names: Annotated[tuple[Name, ...], Field(max_length=8)] = ()
    """Secrets in the table's namespace for pulling the Spark image."""

    image_pull_policy: ImagePullPolicy = ImagePullPolicy.IF_NOT_PRESENT
    """When nodes pull the Spark image."""

    event_log_path: PathPrefix | None = None
    """Folder for the event logs of Spark, outside of every table; `{namespace}` is the table's namespace."""

    queue_name: QueueName | None = None
    """LocalQueue of Kueue in the table's namespace; jobs are created suspended and start when Kueue admits them."""

    node_selector: dict[str, LabelValue] = Field(default_factory=dict, json_schema_extra={"maxProperties": 16})
    """Nodes that jobs may run on."""

    pod_labels: dict[str, LabelValue] = Field(default_factory=dict, json_schema_extra={"maxProperties": 16})
    """Labels of all pods of jobs; `sidecar.istio.io/inject` is "false" unless it is set here."""

    pod_annotations: dict[str, OptionValue] = Field(default_factory=dict, json_schema_extra={"maxProperties": 16})
    """Annotations of all pods of jobs; `linkerd.io/inject` is "disabled" unless it is set here."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            label_keys("nodeSelector"),
            foreign_keys("podLabels"),
            foreign_keys("podAnnotations"),
            at_least("deadline", "1m"),
            at_least("startTimeout", "10s"),
            (
                f"{duration_or('drainTimeout', drain_timeout)} <= duration('1h')",
                "drainTimeout must not be longer than 1h",
            ),
            # The operator reads the outcome from the finished job.
            at_least("ttlAfterFinished", "1m"),
        )
    )


class RetrySettings(Model):
    """When failed runs are retried."""

    initial_delay: Duration = "10s"
    """Wait after the first failure; doubles with each further failure."""

    max_delay: Duration = "10m"
    """Longest wait between two attempts."""

    max_attempts: Annotated[int, Field(ge=1, le=1000)] = 10
    """Consecutive failed runs after which a service is retried hourly, until its spec changes or a run is requested."""

    max_infrastructure_attempts: Annotated[int, Field(ge=1, le=1000)] = 20
    """The same for runs that failed for reasons outside of the table: lost nodes, images, quotas, the store."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            at_least("initialDelay", "1s"),
            (
                f"{duration_or('initialDelay', initial_delay)} <= {duration_or('maxDelay', max_delay)}",
                f"initialDelay must not be longer than maxDelay (defaults {initial_delay} and {max_delay})",
            ),
        )
    )


class TakeoverSettings(Model):
    """How the operator takes over a table with earlier writers."""

    quiet_for: Duration = "10m"
    """Time without changes that a Serialized table of earlier writers needs before the operator starts anything."""

    savepoint: bool = True
    """Make a savepoint before the first table service, and remove it after the first successful cycle."""


class SavepointSettings(Model):
    """Rules for HudiSavepoints of tables."""

    max_per_table: Annotated[int, Field(ge=0, le=50)] = 10
    """Maximum savepoints of a table, those of other tools counted; at this number HudiSavepoints make no further
    savepoint.
    """


class OperationSettings(Model):
    """Rules for HudiOperations on tables."""

    allowed: Annotated[
        tuple[AllowedKind, ...], Field(max_length=8, json_schema_extra={"x-kubernetes-list-type": "set"})
    ] = ()
    """Kinds of operations that tables of the class may have; none if empty."""

    approval: OperationApproval = OperationApproval.AUTOMATIC
    """Whether an operation waits until a person sets its spec.approved."""

    max_per_table: Annotated[int, Field(ge=1, le=20)] = 5
    """Maximum HudiOperations of a table that run or may begin at once; the operator does not consider any more."""

    report_path: PathPrefix | None = None
    """Folder for the reports of erasures, outside of every table; without it the reports are only in status."""


class JobQuota(Model):
    """Maximum numbers of running jobs."""

    running_jobs: Annotated[int, Field(ge=1, le=LARGEST_INT)] | None = None
    """Maximum running jobs of all tables of this class; without it there is no limit."""

    running_jobs_per_namespace: Annotated[int, Field(ge=1, le=LARGEST_INT)] | None = None
    """Maximum running jobs of this class in a namespace; without it there is no limit."""


class ServiceBudget(Model):
    """What table services may use; ingestion and requests of people are never held."""

    cpu_time_per_namespace_and_day: Duration | None = None
    """Processor time of the table services of this class in a namespace, on a day in UTC; without it there is no
    limit."""

    model_config = ConfigDict(json_schema_extra=rules(at_least("cpuTimePerNamespaceAndDay", "1m")))


class Budgets(Model):
    """What runs may use."""

    table_services: ServiceBudget = ServiceBudget()
    """What table services may use in a namespace."""


class ImageAndPaths(Model):
    """The part of a class that stands first: the image of jobs, and the paths that tables may use."""

    spark_image: Annotated[
        Annotated[
            str,
            Field(
                pattern=r"^[^\s]+$",
                max_length=512,
                json_schema_extra=words("must be the name of an image, without white space"),
            ),
        ]
        | None,
        DefaultsTo("the image of the operator's settings"),
    ] = None
    """Image of drivers and executors."""

    allowed_base_paths: Annotated[tuple[PathPrefix, ...], Field(min_length=1, max_length=64)]
    """Prefixes that tables may live below; `{namespace}` stands for the table's namespace."""

    allowed_source_paths: Annotated[tuple[PathPrefix, ...], Field(max_length=64)] = ()
    """Prefixes that tables may read from; `{namespace}` stands for the table's namespace."""

    allowed_quarantine_paths: Annotated[tuple[PathPrefix, ...], Field(max_length=64)] = ()
    """Prefixes that tables may quarantine bad rows below; none if empty. `{namespace}` is the table's namespace."""


class HudiTableClassSpec(AllowedSources, ImageAndPaths):
    """Policy and defaults for the tables that name this class."""

    allowed_namespaces: Annotated[AllowedNamespaces | None, DefaultsTo("every namespace")] = None
    """Namespaces with tables that may use the class."""

    object_store: ObjectStore | None = None
    """The S3-compatible store; without it the environment of the pods decides."""

    execution: Execution = Execution()
    """Defaults for the execution of tables that do not set them."""

    limits: ExecutionLimits = ExecutionLimits()
    """Upper bounds for what a table may ask for."""

    lock: Lock | None = None
    """The lock for tables of concurrency mode Optimistic without a lock of their own."""

    allow_shared_lock_keys: bool = False
    """Use the `lockKey` of a table unchanged, so that tables of several namespaces can share a lock, or block it."""

    pending_instant_alarm: Duration = "1h"
    """Age from which on a pending instant raises a finding and a metric."""

    takeover: TakeoverSettings = TakeoverSettings()
    """How the operator takes over a table with earlier writers."""

    savepoints: SavepointSettings = SavepointSettings()
    """Rules for HudiSavepoints of tables."""

    operations: OperationSettings = OperationSettings()
    """Rules for HudiOperations on tables."""

    catalog: AllowedCatalogs = AllowedCatalogs()
    """Catalogs that tables may have entries in; none if empty."""

    job_quota: JobQuota = JobQuota()
    """Maximum numbers of running jobs."""

    budgets: Budgets = Budgets()
    """What runs may use."""

    job: JobSettings = JobSettings()
    """Settings of Jobs."""

    pod_template: PodTemplates = PodTemplates()
    """Where the pods of jobs run, and what they have, unless the table's profile says otherwise."""

    profiles: Profiles = ()
    """Choices for tables: each may name one of them in execution.profile."""

    retry: RetrySettings = RetrySettings()
    """When failed runs are retried."""

    spark_conf: dict[str, OptionValue] = Field(default_factory=dict, json_schema_extra={"maxProperties": 64})
    """Spark settings for all tables of the class."""

    allowed_spark_conf: Annotated[tuple[KeyPattern, ...], Field(max_length=64)] = ()
    """Spark settings that a table may set itself: keys, or prefixes that end with `*`."""

    hudi_options: dict[str, OptionValue] = Field(default_factory=dict, json_schema_extra={"maxProperties": 64})
    """Hudi options for all tables of the class."""

    allowed_hudi_options: Annotated[tuple[KeyPattern, ...], Field(max_length=64)] = ()
    """Hudi options that a table may set itself: keys, or prefixes that end with `*`."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            at_least("pendingInstantAlarm", "1m"),
            (
                "!has(self.execution) || !has(self.execution.profile) || "
                "(has(self.profiles) && self.profiles.exists(one, one.name == self.execution.profile))",
                "execution.profile must be the name of one of the profiles",
            ),
        )
    )
