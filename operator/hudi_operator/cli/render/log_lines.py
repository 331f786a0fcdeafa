"""The kept log of a failed run, and what `kubectl hudi logs` says where there is no log."""

from hudi_jobs.contract import Outcome, Service
from hudi_jobs.contract.wording import escaped
from hudi_operator.api.status.runs import FailedRunLog, RunStatus
from hudi_operator.api.status.table_status import HudiTableStatus


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


def progress_line(status: HudiTableStatus, job: str) -> str | None:
    """Return how far a run is, as the status says; None without any progress."""
    found = next((one.progress for one in status.jobs if one.name == job), None)
    return escaped(found) if found else None


def printable(piece: str) -> str:
    """Return a piece of a log that is safe in a terminal."""
    return "".join(each if each in "\n\t" else escaped(each) for each in piece)
