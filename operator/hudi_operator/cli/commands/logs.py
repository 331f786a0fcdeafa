"""`kubectl hudi logs`: the log of a run's driver, with the caller's own right to read logs of pods."""

import codecs
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from hudi_jobs.contract import Service
from hudi_jobs.contract.wording import escaped
from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.cluster import Failed, Place, cluster_options, in_cluster, table_argument
from hudi_operator.cli.base.read import table_of
from hudi_operator.cli.render.log_lines import (
    kept_line,
    newest_failed,
    newest_kept,
    no_kept_log,
    no_pod,
    printable,
    progress_line,
)
from hudi_operator.cli.render.view import TableView
from hudi_operator.jobs.manifest import DRIVER_CONTAINER
from hudi_operator.jobs.names import OWNING_JOB_NAME, ROLE_LABEL, SERVICE_LABEL, table_selector
from hudi_operator.kube.errors import Forbidden, Rejected
from hudi_operator.kube.objects import POD, Document, text

if TYPE_CHECKING:
    from hudi_operator.kube.person import PersonClient

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


_SERVICES = {one.value.lower(): one for one in Service}


@declare(
    details="Without an option it prints the log of the run that is at work, or of the newest run whose pod is still "
    "there. This needs the right to read logs of pods (pods/log). The progress of a run of more than a minute comes "
    "first, on standard error.\n\n"
    "--failed prints the end of the log of the newest failed run, whose pod may be gone: the operator keeps it in the "
    "status of the table where failedRunLogs.enabled of its chart is true. This needs no right on pods.",
    examples=["logs orders -f", "logs orders compaction --tail 100", "logs orders --previous", "logs orders --failed"],
    exit_codes={
        0: "printed",
        1: "there is no such table, run or log",
        2: "the arguments make no sense",
        3: "no access",
    },
)
@table_argument()
@click.argument(
    "service",
    required=False,
    metavar="[SERVICE]",
    type=click.Choice([*_SERVICES], case_sensitive=False),
    help="Only runs of this service, such as ingestion or compaction.",
)
@click.option("--failed", is_flag=True, help="The kept end of the log of the newest failed run.")
@click.option("--previous", is_flag=True, help="The run before, as far as its pod is still there.")
@click.option("-f", "--follow", is_flag=True, help="Go on printing until the run ends.")
@click.option("--tail", type=click.IntRange(min=0), metavar="LINES", help="Only so many of the last lines.")
@cluster_options
def command(
    *, place: Place, table: str, service: str | None, failed: bool, previous: bool, follow: bool, tail: int | None
) -> int:
    """Print the log of a run."""
    if failed and (previous or follow):
        raise click.UsageError("--failed shows a run that has ended: use it without --previous and --follow")
    wanted = _SERVICES[service.lower()] if service is not None else None

    async def show(client: "PersonClient") -> None:
        view = await table_of(client, table)
        if failed:
            await _show_failed(client, view, wanted, tail=tail)
            return
        found = driver_pods(await _pods(client, view), wanted)[previous:]
        if not found:
            raise Failed(no_pod(table, previous=previous))
        if (line := progress_line(view.status, found[0].job)) is not None:
            print(line, file=sys.stderr)
        await _show_pod(client, found[0], follow=follow, tail=tail)

    in_cluster(place, show)
    return 0


async def _show_failed(client: "PersonClient", view: TableView, service: Service | None, *, tail: int | None) -> None:
    """Print the kept log of the newest failed run; without one, that of its pod if the pod is still there."""
    run, kept = newest_failed(view.status, service), newest_kept(view.status, service)
    if run is not None and (kept is None or kept.job != run.job):
        try:
            pods = [one for one in driver_pods(await _pods(client, view), service) if one.job == run.job]
        except Forbidden:  # a kept log needs no right on pods
            pods = []
        if pods:
            await _show_pod(client, pods[0], follow=False, tail=tail)
            return
    if kept is None:
        raise Failed(no_kept_log(view.metadata.name, run))
    print(kept_line(kept, run), file=sys.stderr)
    lines = kept.text.split("\n")
    print(printable("\n".join(lines if tail is None else lines[max(len(lines) - tail, 0) :])))


async def _pods(client: "PersonClient", view: TableView) -> Sequence[Document]:
    return await client.list(POD, client.namespace, label_selector=table_selector(view.metadata.uid))


async def _show_pod(client: "PersonClient", pod: DriverPod, *, follow: bool, tail: int | None) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    print(pod.line, file=sys.stderr)
    try:
        async for piece in client.log(pod.name, DRIVER_CONTAINER, follow=follow, tail=tail):
            sys.stdout.write(printable(decoder.decode(piece)))
            sys.stdout.flush()
    except Rejected as error:
        raise Failed(f"The log of pod {pod.name} cannot be read: {error}") from error
