"""Names and labels of what the operator creates."""

import hashlib

from hudi_jobs.contract import Service

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
"""On Jobs, pods and claims: `hudi-operator` on everything that the operator made."""

MANAGED_BY = "hudi-operator"
TABLE_LABEL = "hudi-operator.io/table"
"""On Jobs and pods: the table's name, shortened with a hash where it is longer than a label may be."""

TABLE_UID_LABEL = "hudi-operator.io/table-uid"
"""On Jobs, pods and claims: the uid of the table, by which a table finds what is its own."""

CLASS_LABEL = "hudi-operator.io/table-class"
"""On Jobs: the class of the table, which its limits on running jobs are counted by."""

SERVICE_LABEL = "hudi-operator.io/service"
"""On Jobs and pods: the service that runs."""

ROLE_LABEL = "hudi-operator.io/role"
"""On pods: `driver` or `executor`."""

ATTEMPT_ANNOTATION = "hudi-operator.io/attempt"
"""On Jobs: which attempt it is, from 1."""

BASE_INSTANT_ANNOTATION = "hudi-operator.io/base-instant"
"""On Jobs: the newest completed instant when the run was decided."""

REQUEST_ANNOTATION = "hudi-operator.io/request"
"""On drivers' pods: the request, which the driver reads from a file."""

EXECUTOR_TEMPLATE_ANNOTATION = "hudi-operator.io/executor-template"
"""On drivers' pods: the template of the executors' pods, in mode Cluster."""

_NAME_LIMIT = 47  # Spark appends to executor pods' names: 63 - 10 - 6 (Config.scala)
_LABEL_LIMIT = 63


def job_name(
    *, table_name: str, table_uid: str, service: Service, scheduled_for: str, base_instant: str | None, attempt: int
) -> str:
    """Return the name of a run: the same decision always gives the same name.

    The name is at most 47 characters, so that executor pods can be named after it.
    """
    identity = "\n".join((table_uid, service, scheduled_for, base_instant or "", str(attempt)))
    digest = hashlib.sha256(identity.encode()).hexdigest()[:10]
    suffix = f"-{service.lower()}-{digest}"
    readable = table_name[: _NAME_LIMIT - len(suffix)].lower().rstrip("-.").replace(".", "-")
    return f"{readable}{suffix}"


def job_labels(*, table: str, table_uid: str, service: Service) -> dict[str, str]:
    """Return the labels by which a table's Jobs and pods are found."""
    return {
        MANAGED_BY_LABEL: MANAGED_BY,
        "app.kubernetes.io/name": "hudi-job",
        "app.kubernetes.io/component": service.lower(),
        TABLE_LABEL: label_value(table),
        TABLE_UID_LABEL: table_uid,
        SERVICE_LABEL: service.value,
    }


def table_selector(table_uid: str) -> str:
    """Return the label selector of everything that the operator made for a table."""
    return f"{MANAGED_BY_LABEL}={MANAGED_BY},{TABLE_UID_LABEL}={table_uid}"


def label_value(text: str) -> str:
    """Return a name as a label value: resource names may be longer than the 63 characters of a label."""
    if len(text) <= _LABEL_LIMIT:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    return f"{text[: _LABEL_LIMIT - 11].rstrip('-.')}-{digest}"
