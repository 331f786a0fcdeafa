"""The operator says that a service is due exactly when Hudi makes a plan, over random histories of one table.

Hudi is asked with its own gates set to the table's triggers. It makes no plan without something to plan, so the history
keeps account of which tables have log files to compact and new files to cluster.

    # seed and number of steps
    HUDI_JOBS_HISTORY=1234:60 .venv/bin/python -m pytest tests/spark_jobs/services/test_due.py
"""

import os
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.spark_jobs.trials import ALL

from hudi_jobs.contract import Location, Service
from hudi_jobs.table_services.client import write_client
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.planning.facts.writers.leftover import Watch
from hudi_operator.planning.facts.writers.pending import pending_statuses
from hudi_operator.planning.model.decision import Decision, Reason
from hudi_operator.planning.needs.kinds import clustering, compaction
from hudi_operator.planning.needs.view import ServiceView
from hudi_operator.storage.local import LocalFileSystem
from hudi_operator.timeline import TimelineReader

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROWS = 30
STEPS = 10
EXECUTED_AT_ONCE = 0.7
COMPACTION_AFTER, CLUSTERING_AFTER = 2, 3
TRIGGERS = {"NumCommits": "NUM_COMMITS", "NumCommitsAfterLastRequest": "NUM_COMMITS_AFTER_LAST_REQUEST"}


class History:
    """One MergeOnRead table, what is done to it at random, and whether it holds what no plan has taken yet."""

    def __init__(self, lake: Any, trigger: str, seed: int) -> None:
        self.lake = lake
        self.trigger = trigger
        self.seed = seed
        self.random = random.Random(seed)
        self.told: list[str] = []
        self.has_logs = False
        self.has_new_files = False
        self.clustering_stays_pending = False
        lake.table = {"type": "MergeOnRead"}
        lake.spec = {
            "fileSizing": {"smallFileLimit": "0"},
            "compaction": {"trigger": {"strategy": trigger, "deltaCommits": COMPACTION_AFTER}},
            "clustering": {
                "mode": "Async",
                "trigger": {"commits": CLUSTERING_AFTER},
                "execution": {"sortColumns": ["id"]},
            },
            "cleaning": {"retainCommits": 1},
        }
        self.upsert()

    def step(self) -> None:
        """Do one thing at random, then compare what both would plan."""
        actions: list[Callable[[], None]] = [self.bulk_insert, self.clean]
        if not self.clustering_stays_pending:  # else Hudi rejects what updates or replaces its file groups
            actions += [self.upsert, self.upsert, self.upsert, self.overwrite]
        action = self.random.choice(actions)
        action()
        self.told.append(action.__name__)
        pending = self.deal_with_pending()
        if not pending:
            pending = self.compare(Service.COMPACTION, anything=self.has_logs)
        if not pending:
            self.compare(Service.CLUSTERING, anything=self.has_new_files or self.has_logs)

    def deal_with_pending(self) -> bool:
        """Execute a pending plan, or leave it for later; it takes its file groups from all other plans."""
        for service in (Service.COMPACTION, Service.CLUSTERING):
            answer = self.evaluate(service)
            if answer.reason is Reason.PENDING_PLAN:
                return not self.execute_or_not(service, answer)
        return False

    def upsert(self) -> None:
        """Update all rows, which writes log files to what is there; the first one makes base files."""
        self.has_logs = self.has_logs or self.lake.runs > 0
        self.write("upsert")

    def bulk_insert(self) -> None:
        """Add files; Hudi names this commit as it names a completed compaction."""
        self.write("bulk_insert")

    def overwrite(self) -> None:
        """Replace all file groups by new ones, without log files."""
        self.write("insert_overwrite_table")
        self.has_logs = False

    def write(self, operation: str) -> None:
        options = self.lake.request().tasks[0].hudi_options
        rows = self.lake.spark.range(ROWS).selectExpr("CAST(id AS STRING) AS id", f"{len(self.told)} AS v")
        writing = rows.write.format("hudi").options(**options)
        writing.option("hoodie.datasource.write.operation", operation).mode("append").save(self.lake.base_path)
        self.has_new_files = True

    def clean(self) -> None:
        self.lake.serve(Service.CLEANING)

    def compare(self, service: Service, *, anything: bool) -> bool:
        """Ask both; return whether a plan of Hudi's stays pending."""
        answer, planned = self.evaluate(service), self.ask_hudi(service)
        self.told.append(f"{service}: {answer.message} Hudi: {planned}")
        assert (planned is not None) == (answer.due and anything), self.story
        if planned is None:
            return False
        self.has_logs = False
        self.has_new_files = self.has_new_files and service is not Service.CLUSTERING
        return not self.execute_or_not(service, self.evaluate(service))

    def execute_or_not(self, service: Service, answer: Decision) -> bool:
        """Execute a pending plan unless the dice say that it stays pending."""
        if self.random.random() > EXECUTED_AT_ONCE:
            self.told.append(f"{service} stays pending")
            self.clustering_stays_pending = service is Service.CLUSTERING
            return False
        result = self.lake.serve(service, mode=answer.run_mode, instant=answer.instant)
        assert result.outcome == "Succeeded", f"{self.story}\n{result}"
        self.told.append(f"{service} done")
        self.clustering_stays_pending = False
        return True

    @property
    def story(self) -> str:
        """The seed and all that happened, for whoever reads a failure."""
        return "\n".join([f"seed {self.seed}", *self.told])

    def evaluate(self, service: Service) -> Decision:
        """What the operator says, from the files of the timeline alone."""
        timeline = TimelineReader(LocalFileSystem()).read(Location.parse(self.lake.base_path))
        fields = {
            "basePath": "s3a://lake/flights",
            "type": "MergeOnRead",
            "recordKey": ["id"],
            **self.lake.spec,
        }
        table = HudiTable.model_validate({"metadata": {"name": "flights", "namespace": "team"}, "spec": fields})
        now = datetime.now(UTC)
        watch = Watch(is_serialized=True, alarm=timedelta(hours=1), planned={}, heartbeats={})
        pending = pending_statuses(timeline, table.status.services, {}, watch=watch, now=now)
        view = ServiceView(
            service=service,
            spec=table.spec,
            memory=ServiceStatus(),
            timeline=timeline,
            now=now,
            pending=pending.get(service, ()),
        )
        return compaction.evaluate(view) if service is Service.COMPACTION else clustering.evaluate(view)

    def ask_hudi(self, service: Service) -> str | None:
        """Have Hudi decide by its own gates; a plan stays in the timeline."""
        gates = {
            "hoodie.compact.inline.trigger.strategy": TRIGGERS[self.trigger],
            "hoodie.compact.inline.max.delta.commits": str(COMPACTION_AFTER),
            "hoodie.clustering.async.enabled": "true",
            "hoodie.clustering.async.max.commits": str(CLUSTERING_AFTER),
        }
        options = self.lake.service_request(service, options=gates).tasks[0].hudi_options
        with write_client(self.lake.spark, self.lake.base_path, options) as client:
            plan = client.schedule_compaction if service is Service.COMPACTION else client.schedule_clustering
            return plan({})


@pytest.mark.parametrize("trigger", TRIGGERS if ALL else ["NumCommitsAfterLastRequest"])
def test_a_service_is_due_exactly_when_hudi_makes_a_plan(
    lake: Any, trigger: str, record_property: Callable[[str, object], None]
) -> None:
    seed, _, steps = os.environ.get("HUDI_JOBS_HISTORY", "").partition(":")
    chosen = int(seed or random.randrange(2**32))
    record_property("seed", chosen)
    history = History(lake, trigger, chosen)
    for _ in range(int(steps or STEPS)):
        history.step()
    assert any("done" in line for line in history.told), history.story
