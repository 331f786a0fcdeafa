"""Which log `kubectl hudi logs` shows: that of a driver's pod, or the kept end of the log of a failed run."""

from collections.abc import Iterable
from dataclasses import dataclass

from hudi_jobs.contract import Outcome, Service
from hudi_jobs.contract.wording import escaped
from hudi_operator.api.status.runs import FailedRunLog, RunStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.jobs.names import OWNING_JOB_NAME, ROLE_LABEL, SERVICE_LABEL
from hudi_operator.kube.objects import Document, text

_RUNS = frozenset({"Running", "Pending"})


@dataclass(frozen=True, kw_only=True)
class DriverPod:
    """The pod of a run's driver."""

    name: str
    job: str
    service: str
    phase: str
    created_at: str

    @property
    def line(self) -> str:
        """The pod for people."""
        return escaped(f"{self.service} run {self.job}, pod {self.name} ({self.phase}).")


def driver_pods(pods: Iterable[Document], service: Service | None) -> list[DriverPod]:
    """Return the drivers of a service, or of all: those that run before those that have ended, the newest first."""
    found = (_driver(pod) for pod in pods if text(pod, "metadata", "labels", ROLE_LABEL) == "driver")
    wanted = [one for one in found if service is None or one.service == service.value]
    newest = sorted(wanted, key=lambda one: (one.created_at, one.name), reverse=True)
    return sorted(newest, key=lambda one: one.phase not in _RUNS)


def _driver(pod: Document) -> DriverPod:
    def label(name: str) -> str:
        return text(pod, "metadata", "labels", name) or ""

    return DriverPod(
        name=text(pod, "metadata", "name") or "",
        job=label(OWNING_JOB_NAME),
        service=label(SERVICE_LABEL),
        phase=text(pod, "status", "phase") or "Unknown",
        created_at=text(pod, "metadata", "creationTimestamp") or "",
    )


def newest_failed(status: HudiTableStatus, service: Service | None) -> RunStatus | None:
    """Return the newest failed run of a service, or of all, as far as the status remembers."""
    last = (memory.last_run for _, memory in status.services if memory is not None)
    runs = {run.job: run for run in (*last, *status.history) if run is not None and run.outcome is Outcome.FAILED}
    wanted = [run for run in runs.values() if service is None or run.service is service]
    return max(wanted, key=lambda run: run.finished_at or "", default=None)


def newest_kept(status: HudiTableStatus, service: Service | None) -> FailedRunLog | None:
    """Return the kept log that was read last, of a service or of all."""
    wanted = [log for log in status.failed_logs if service is None or log.service is service]
    return max(wanted, key=lambda log: log.read_at, default=None)


def kept_line(log: FailedRunLog, failed: RunStatus | None) -> str:
    """Return what a kept log is the end of, and whether a newer run has failed without a log."""
    line = f"The end of the log of {log.service} run {log.job}, read at {log.read_at}."
    if failed is None or failed.job == log.job:
        return escaped(line)
    return escaped(f"The newest failed run, {failed.job}, left no log. {line}")


def no_kept_log(name: str, failed: RunStatus | None) -> str:
    """Return why there is no log of a failed run."""
    if failed is None:
        return f"No run of {name} has failed, as far as its status remembers."
    return escaped(
        f"The log of {failed.job}, the newest failed run of {name}, is not kept, and its pod is gone. "
        "The operator keeps logs of failed runs where failedRunLogs.enabled of its chart is true. "
        f"The status says of the run: {failed.line}"
    )


def no_pod(name: str, *, previous: bool) -> str:
    """Return why there is no log of a pod."""
    which = "an earlier run" if previous else "a run"
    return (
        f"There is no pod of {which} of {name}: the pod of an ended run goes after job.ttlAfterFinished of the class. "
        "The option --failed shows the end of the log of the newest failed run, if the operator keeps it."
    )


def printable(piece: str) -> str:
    """Return a piece of a log that is safe in a terminal."""
    return "".join(each if each in "\n\t" else escaped(each) for each in piece)
