"""Names and labels of the objects that the operator creates."""

import hashlib
import itertools
import json
from collections.abc import Collection, Sequence

from hudi_jobs.contract import Service

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
"""On Jobs, pods and claims: `hudi-operator` on everything that the operator made."""

MANAGED_BY = "hudi-operator"
TABLE_LABEL = "hudi-operator.io/table"
"""On Jobs and pods: the table's name, shortened with a hash if it is longer than a label may be."""

TABLE_UID_LABEL = "hudi-operator.io/table-uid"
"""On Jobs, pods and claims: the uid of the table that the object belongs to."""

CLASS_LABEL = "hudi-operator.io/table-class"
"""On Jobs: the class of the table; the class's limits count running jobs by it."""

SERVICE_LABEL = "hudi-operator.io/service"
"""On Jobs and pods: the service that runs."""

ROLE_LABEL = "hudi-operator.io/role"
"""On pods: `driver` or `executor`."""

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
"""On Jobs: the LocalQueue of Kueue that admits the Job, if the class or the profile names one."""

ATTEMPT_ANNOTATION = "hudi-operator.io/attempt"
"""On Jobs: the number of the attempt, from 1."""

BASE_INSTANT_ANNOTATION = "hudi-operator.io/base-instant"
"""On Jobs: the newest completed instant when the run was decided."""

DECIDED_AT_ANNOTATION = "hudi-operator.io/decided-at"
"""On Jobs: when the run was decided, which distinguishes it from any other run of its name."""

GENERATION_ANNOTATION = "hudi-operator.io/generation"
"""On Jobs: the generation of the spec that the run uses."""

CONTINUOUS_ANNOTATION = "hudi-operator.io/continuous"
"""On Jobs of continuous ingestion: the fingerprint of the class that they use."""

IMAGE_ANNOTATION = "hudi-operator.io/spark-image"
"""On Jobs: the requested Spark image; an admission webhook may have replaced its name in the Job."""

REQUEST_ANNOTATION = "hudi-operator.io/request"
"""On drivers' pods: the request, which the driver reads from a file."""

EXECUTOR_TEMPLATE_ANNOTATION = "hudi-operator.io/executor-template"
"""On drivers' pods: the template of the executors' pods, in mode Cluster."""

OWNING_JOB_NAME = "batch.kubernetes.io/job-name"
OWNING_JOB_UID = "batch.kubernetes.io/controller-uid"
"""Labels with which Kubernetes marks the Job of a pod."""

_EXECUTOR = "-exec-"  # between the run's name and the number in an executor pod's name (Spark's ExecutorPodsAllocator)
_NAME_LIMIT = 47  # Spark appends to executor pods' names: 63 - 10 - 6 (Config.scala)
_LABEL_LIMIT = 63


def job_name(
    *,
    table_name: str,
    table_uid: str,
    service: Service,
    decision: Sequence[str | int | None],
    taken: Collection[str] = (),
) -> str:
    """Return the name of a run: the same decision gives the same name, different decisions give different names.

    `decision` holds everything that defines the run, including its time. `taken` are the names of existing Jobs, which
    are not reused. The name has at most 47 characters, so that executor pods can be named after it.
    """
    names = (_job_name(table_name, service, [table_uid, *decision, number]) for number in itertools.count())
    return next(name for name in names if name not in taken)


def _job_name(table_name: str, service: Service, identity: Sequence[str | int | None]) -> str:
    digest = hashlib.sha256(json.dumps([service.value, *identity]).encode()).hexdigest()[:10]
    suffix = f"-{service.lower()}-{digest}"
    readable = table_name[: _NAME_LIMIT - len(suffix)].lower().rstrip("-.").replace(".", "-")
    return f"{readable}{suffix}"


def job_labels(*, table: str, table_uid: str, service: Service) -> dict[str, str]:
    """Return the labels that select a table's Jobs and pods."""
    return {
        MANAGED_BY_LABEL: MANAGED_BY,
        "app.kubernetes.io/name": "hudi-job",
        "app.kubernetes.io/component": service.lower(),
        TABLE_LABEL: label_value(table),
        TABLE_UID_LABEL: table_uid,
        SERVICE_LABEL: service.value,
    }


def table_selector(table_uid: str) -> str:
    """Return the label selector for all objects that the operator created for a table."""
    return f"{MANAGED_BY_LABEL}={MANAGED_BY},{TABLE_UID_LABEL}={table_uid}"


def run_of_executor(pod_name: str) -> str:
    """Return the name of the run in an executor pod's name."""
    return (pod_name.rpartition(_EXECUTOR)[0] or pod_name)[:_LABEL_LIMIT]


def label_value(text: str) -> str:
    """Return a name as a label value: resource names may be longer than the 63 characters of a label."""
    if len(text) <= _LABEL_LIMIT:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    return f"{text[: _LABEL_LIMIT - 11].rstrip('-.')}-{digest}"
