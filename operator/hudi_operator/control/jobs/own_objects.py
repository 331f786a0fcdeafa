"""Selects a table's own Jobs and pods. Labels alone prove nothing: anyone who may create Jobs can set them.

A Job belongs to the table if the table is its controller, as the operator sets it, or if the status records it. A pod
belongs to the table if its run does. Other objects with the table's labels count nowhere, block nothing and are never
deleted.
"""

from collections.abc import Collection, Iterable

import structlog

from hudi_operator.api.status.table import ActiveJob
from hudi_operator.api.values.base import GROUP
from hudi_operator.jobs.names import OWNING_JOB_NAME, OWNING_JOB_UID, run_of_executor
from hudi_operator.kube.objects import Document, field, items, text
from hudi_operator.runtime.informer import job_has_ended

_NAME_LIMIT = 63
"""The longest name in a status; the operator's own Jobs have shorter names."""

POD_NAME_LIMIT = 253
UID_LIMIT = 64

_SHOWN = 3

_log = structlog.get_logger(__name__)


def own_jobs(jobs: Iterable[Document], *, table_uid: str, remembered: Iterable[ActiveJob]) -> list[Document]:
    """Return the table's own Jobs; log the names of other Jobs with the table's labels."""
    known = {job.name: job.uid for job in remembered}
    own, strangers = list[Document](), list[str]()
    for job in jobs:
        name, uid = text(job, "metadata", "name", limit=_NAME_LIMIT), text(job, "metadata", "uid", limit=_NAME_LIMIT)
        recorded = name in known and known[name] in {None, uid}
        if name and uid and (recorded or controller_of(job) == ("HudiTable", table_uid)):
            own.append(job)
        elif not job_has_ended(job):
            strangers.append(str(field(job, "metadata", "name"))[:_NAME_LIMIT])
    if strangers:
        _log.warning("jobs with the labels of a table are not its own", table=table_uid, jobs=strangers[:_SHOWN])
    return own


def own_pods(
    pods: Iterable[Document], *, jobs: Collection[Document], remembered: Iterable[ActiveJob]
) -> list[Document]:
    """Return the pods of the table's own runs: of these Jobs, and of Jobs recorded in the status."""
    remembered = tuple(remembered)
    uids = {text(job, "metadata", "uid") for job in jobs} | {job.uid for job in remembered if job.uid}
    runs = {text(job, "metadata", "name") for job in jobs} | {job.name for job in remembered}
    unseen = {job.name for job in remembered if job.uid is None}
    return [pod for pod in pods if _is_named(pod) and _belongs(pod, uids=uids, runs=runs, unseen=unseen)]


def controller_of(document: Document) -> tuple[str, str] | None:
    """Return the kind and uid of an object's controller; a kind of this operator only counts in its own group."""
    for reference in items(document, "metadata", "ownerReferences"):
        kind, uid = text(reference, "kind"), text(reference, "uid")
        if reference.get("controller") is not True or kind is None or uid is None:
            continue
        ours = (text(reference, "apiVersion") or "").startswith(f"{GROUP}/")
        return (kind, uid) if ours or not kind.startswith("Hudi") else None
    return None


def _is_named(pod: Document) -> bool:
    return bool(text(pod, "metadata", "name", limit=POD_NAME_LIMIT) and text(pod, "metadata", "uid", limit=UID_LIMIT))


def _belongs(
    pod: Document, *, uids: Collection[str | None], runs: Collection[str | None], unseen: Collection[str]
) -> bool:
    uid, name = (text(pod, "metadata", "labels", key) for key in (OWNING_JOB_UID, OWNING_JOB_NAME))
    if uid is None and name is None:
        return run_of_executor(text(pod, "metadata", "name") or "") in runs
    return uid in uids or name in unseen
