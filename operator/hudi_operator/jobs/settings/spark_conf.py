"""Builds Spark's settings for a run: complete, explicit, with the operator's own keys last."""

from hudi_operator.api.spec.table import ExecutionMode, HudiTableSpec
from hudi_operator.api.spec.table_class import HudiTableClassSpec, ObjectStore
from hudi_operator.jobs.sizing import Sizing

ACCESS_KEY_VARIABLE = "AWS_ACCESS_KEY_ID"
SECRET_KEY_VARIABLE = "AWS_SECRET_ACCESS_KEY"  # noqa: S105 - the name of a variable
JOB_FOLDER = "/etc/hudi-job"
EXECUTOR_TEMPLATE_FILE = "executor.yaml"

_DRIVER_PORT = "7078"
_BLOCK_MANAGER_PORT = "7079"

JAVA_OPTIONS = (
    "-XX:+ExitOnOutOfMemoryError -Djol.skipHotspotSAAttach=true -Djol.skipDynamicAttach=true "
    "-XX:SharedArchiveFile=/opt/hudi/classes.jsa"
)
"""The options of every JVM of a run.

Hudi measures records with JOL, which first attaches a debugger to its own JVM: that stops a driver for seconds, and
fails under the restricted Pod Security Standard anyway. The archive holds the classes of Spark and Hudi, ready to be
mapped; an image without it starts as well, only slower.
"""

SMALL_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=128m"
"""For runs of minutes on one or two cores, the first compiler alone costs less; see benchmarks/services.

With it the JVM reserves 48 MiB for compiled code, which a run of many commits fills; then it discards code.
"""

SMALL_LASTING_JVM = "-XX:+UseSerialGC"
"""A continuous driver has both compilers: its batches cost a third less; see benchmarks/continuous."""

_SMALL_CORES = 2
_SMALL_HEAP_MIB = 4096

# The object store's client gives up within about a minute, so that an outage fails the run quickly.
_S3A_BOUNDS = {
    "spark.hadoop.fs.s3a.attempts.maximum": "3",
    "spark.hadoop.fs.s3a.retry.limit": "3",
    "spark.hadoop.fs.s3a.retry.interval": "1s",
    "spark.hadoop.fs.s3a.connection.establish.timeout": "5000",
    "spark.hadoop.fs.s3a.connection.timeout": "30000",
    "spark.hadoop.fs.s3a.connection.maximum": "1000",
    "spark.hadoop.fs.s3a.threads.max": "16",
    "spark.hadoop.fs.s3a.bucket.probe": "0",
    "spark.hadoop.fs.s3a.directory.marker.retention": "keep",
    "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
    "spark.hadoop.fs.s3n.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
}


def build_spark_conf(
    *,
    spec: HudiTableSpec,
    table_class: HudiTableClassSpec,
    sizing: Sizing,
    run: str,
    namespace: str,
    image: str,
    goes_on: bool = False,
) -> dict[str, str]:
    """Return all settings of a run: the class's, then the table's own, then the operator's, which win.

    `goes_on` marks the run of a continuous driver.
    """
    owned = owned_spark_conf(
        table_class=table_class, sizing=sizing, run=run, namespace=namespace, image=image, goes_on=goes_on
    )
    return {**table_class.spark_conf, **spec.spark_conf, **owned}


def owned_spark_conf(
    *, table_class: HudiTableClassSpec, sizing: Sizing, run: str, namespace: str, image: str, goes_on: bool = False
) -> dict[str, str]:
    """Return the operator's settings, which nobody may change."""
    conf = {
        "spark.app.name": run,
        "spark.driver.memory": f"{sizing.driver.heap_mib}m",
        "spark.driver.extraJavaOptions": _driver_java_options(sizing, goes_on=goes_on),
        "spark.speculation": "false",
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        **_object_store(table_class.object_store),
        **_event_log(table_class.job.event_log_path, namespace),
    }
    if sizing.mode is ExecutionMode.CLUSTER:
        return conf | _cluster(table_class=table_class, sizing=sizing, run=run, namespace=namespace, image=image)
    cores = sizing.driver.cores
    return conf | {"spark.master": f"local[{cores}]", "spark.sql.shuffle.partitions": str(max(2, cores))}


def _event_log(path: str | None, namespace: str) -> dict[str, str]:
    if path is None:
        return {}
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": path.replace("{namespace}", namespace),
        "spark.eventLog.compress": "true",
        # A log in S3 is visible when it is closed: a continuous driver closes one after each part.
        "spark.eventLog.rolling.enabled": "true",
        "spark.eventLog.rolling.maxFileSize": "16m",
        # Two local drivers of the same millisecond have the same name, and a Job may start a second driver after a
        # queue has taken it back. Spark would refuse to start.
        "spark.eventLog.overwrite": "true",
    }


def _driver_java_options(sizing: Sizing, *, goes_on: bool) -> str:
    driver = sizing.driver
    small = driver.cores <= _SMALL_CORES and driver.heap_mib <= _SMALL_HEAP_MIB
    flags = JAVA_OPTIONS
    if small and sizing.mode is not ExecutionMode.CLUSTER:
        flags = f"{JAVA_OPTIONS} {SMALL_LASTING_JVM if goes_on else SMALL_JVM}"
    # The pod has the memory anyway; a heap that starts at a 64th of it is collected as a whole whenever it grows.
    return f"{flags} -Xms{driver.heap_mib}m"


def _object_store(store: ObjectStore | None) -> dict[str, str]:
    if store is None:
        return _S3A_BOUNDS
    conf = {
        **_S3A_BOUNDS,
        "spark.hadoop.fs.s3a.endpoint.region": store.region,
        "spark.hadoop.fs.s3a.path.style.access": "true" if store.path_style_access else "false",
    }
    if store.endpoint is not None:
        conf["spark.hadoop.fs.s3a.endpoint"] = store.endpoint
        secure = store.endpoint.startswith("https:")
        conf["spark.hadoop.fs.s3a.connection.ssl.enabled"] = "true" if secure else "false"
    if store.credentials_secret_name is not None:
        conf["spark.hadoop.fs.s3a.aws.credentials.provider"] = (
            "com.amazonaws.auth.EnvironmentVariableCredentialsProvider"
        )
    return conf


def _cluster(
    *, table_class: HudiTableClassSpec, sizing: Sizing, run: str, namespace: str, image: str
) -> dict[str, str]:
    """Return the settings for a driver in Kubernetes; `$(NAME)` is expanded from the pod's environment."""
    store = table_class.object_store
    secret = store.credentials_secret_name if store else None
    credentials = {
        f"spark.kubernetes.executor.secretKeyRef.{variable}": f"{secret}:{variable}"
        for variable in (ACCESS_KEY_VARIABLE, SECRET_KEY_VARIABLE)
        if secret
    }
    return {
        "spark.master": "k8s://https://kubernetes.default.svc",
        "spark.submit.deployMode": "client",
        "spark.app.id": "$(JOB_UID)",
        "spark.driver.host": "$(POD_IP)",
        "spark.driver.bindAddress": "0.0.0.0",  # noqa: S104 - inside the pod's own network
        "spark.driver.port": _DRIVER_PORT,
        "spark.blockManager.port": _BLOCK_MANAGER_PORT,
        "spark.kubernetes.namespace": namespace,
        "spark.kubernetes.driver.pod.name": "$(POD_NAME)",
        "spark.kubernetes.container.image": image,
        "spark.kubernetes.container.image.pullPolicy": table_class.job.image_pull_policy.value,
        "spark.kubernetes.executor.podNamePrefix": run,
        "spark.kubernetes.executor.podTemplateFile": f"{JOB_FOLDER}/{EXECUTOR_TEMPLATE_FILE}",
        "spark.kubernetes.executor.disableConfigMap": "true",
        "spark.kubernetes.driver.service.deleteOnTermination": "false",
        "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
        "spark.kubernetes.driver.reusePersistentVolumeClaim": "false",
        "spark.kubernetes.authenticate.executor.serviceAccountName": table_class.job.executor_service_account_name,
        "spark.kubernetes.executor.request.cores": sizing.executor.cpu,
        "spark.executor.instances": str(sizing.executor_instances),
        "spark.executor.cores": str(sizing.executor.cores),
        "spark.executor.memory": f"{sizing.executor.heap_mib}m",
        "spark.executor.memoryOverhead": f"{sizing.executor.overhead_mib}m",
        "spark.executor.extraJavaOptions": JAVA_OPTIONS,
        # Otherwise Spark counts executor failures for the driver's whole life: a continuous driver would end at its
        # fourth.
        "spark.executor.failuresValidityInterval": "1h",
        **credentials,
    }
