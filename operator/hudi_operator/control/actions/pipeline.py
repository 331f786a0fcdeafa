"""Carries out a step, for living and for deleted tables: writes the status, posts Events, and acts."""

from collections.abc import Callable, Iterable
from typing import Any

import structlog

from hudi_operator.api.status.runs import ActiveJob, RunStatus
from hudi_operator.api.status.service_status import service_name
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.control.actions.actor import Actor
from hudi_operator.control.jobs.running import RunningJobs
from hudi_operator.control.jobs.spending import Spending
from hudi_operator.jobs.decided_job import JobRefused, Target
from hudi_operator.kube.api import KubernetesApi
from hudi_operator.kube.errors import ApiUnavailable
from hudi_operator.kube.events import EventType
from hudi_operator.kube.keys import TABLE, TableKey, table_key
from hudi_operator.planning.facts.runs.failures import bad_rows
from hudi_operator.planning.outcome.status.step import Step
from hudi_operator.planning.outcome.status.transitions import Transition
from hudi_operator.telemetry.metrics import metrics
from hudi_operator.telemetry.table_series import TableFigures

_log = structlog.get_logger(__name__)
Document = dict[str, Any]


class StatusWriter:
    """Writes the status of tables; the Events and metrics of a write follow once, even if its response is lost."""

    def __init__(self, kube: KubernetesApi) -> None:
        self._kube = kube

    async def write(
        self,
        document: Document,
        status: HudiTableStatus,
        *,
        finished: Iterable[RunStatus] = (),
        notices: Iterable[Transition] = (),
    ) -> Document:
        """Write a changed status, count the finished runs, and post the notices as Events.

        Returns the updated table. Raises `Conflict` when the table changed since it was read.
        """
        written = await self._replace(document, status.to_document())
        for run in finished:
            metrics.run_finished(run)
            _log.info("run finished", **run.model_dump(mode="json", exclude_none=True))
        for notice in notices:
            kind = EventType.WARNING if notice.warning else EventType.NORMAL
            await self._kube.create_event(written, kind=kind, reason=notice.reason, message=notice.message)
        return written

    async def _replace(self, document: Document, status: Document) -> Document:
        try:
            return await self._kube.replace_status(TABLE, document, status)
        except ApiUnavailable:
            # Perhaps only the response was lost. Then the Events and metrics of this write must follow now: there is no
            # second time.
            current = await self._kube.get(table_key(document["metadata"]["namespace"], document["metadata"]["name"]))
            if current is None or current.get("status") != status:
                raise
            return current


Refuse = Callable[[ActiveJob, str, HudiTableStatus], Step]
"""Returns the step that follows a refused Job, from the Job, the API server's message and the stored status."""


def figures_of(step: Step) -> TableFigures:
    """Return what the metrics of a table show after a step."""
    return TableFigures(
        status=step.status,
        class_name=step.class_name,
        complete_up_to=step.freshness.complete_up_to,
        backlog_records=step.freshness.backlog_records,
        backlog_bytes=step.freshness.backlog_bytes,
        target=step.freshness.target,
        quarantined_rows=bad_rows(step.status.bad_rows, step.status.active_jobs),
    )


class Pipeline:
    """Records running Jobs, writes the status, counts metrics, posts notices, and acts."""

    def __init__(self, *, status: StatusWriter, actor: Actor, running: RunningJobs, spending: Spending) -> None:
        self._status = status
        self._actor = actor
        self._running = running
        self._spending = spending

    async def carry_out(self, key: TableKey, document: Document, step: Step, *, target: Target, refuse: Refuse) -> Step:
        """Carry out a step; return it, or its replacement if a Job was refused.

        Raises `Conflict`, before any action, when the table changed since it was read.
        """
        if not step.releases:
            self._record(key, step)
            document = await self._status.write(document, step.status, finished=step.finished, notices=step.notices)
            metrics.quarantined(step.rows_quarantined)
            for run in step.finished:
                metrics.run_cost(key.namespace, key.name, run, class_name=step.class_name)
            if step.finished:
                metrics.set_table(key.namespace, key.name, figures_of(step))
            for one in step.operations:
                metrics.operation_finished(one)
        for action in step.actions:
            try:
                await self._actor.act(target, action, document)
            except JobRefused as refusal:
                _log.warning("job refused", job=refusal.job.name, error=str(refusal))
                written = HudiTableStatus.model_validate(document["status"])
                after = refuse(refusal.job, str(refusal), written)
                return await self.carry_out(key, document, after, target=target, refuse=refuse)
        return step

    def _record(self, key: TableKey, step: Step) -> None:
        self._running.record(key, class_name=step.class_name, jobs=step.running)
        self._spending.record(key, class_name=step.class_name, services=step.status.services)
        metrics.set_active_jobs(str(key), [service_name(job.service) for job in step.status.active_jobs])
        metrics.set_table(key.namespace, key.name, figures_of(step))
        if step.waits_for_place:
            self._running.wait(key, class_name=step.class_name)
