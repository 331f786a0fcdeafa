"""The spec of a table service that is run once: the service, and its settings for this run."""

from typing import Annotated

from pydantic import ConfigDict, Field

from hudi_jobs.contract import RunnableService
from hudi_operator.api.spec.table_services import CleaningRetention, ClusteringExecution, ClusteringPlan, CompactionPlan
from hudi_operator.api.values.base import LARGEST_INT, Model, rules

MOST_NAMES = 20


class CompactionRun(Model):
    """Overrides of the table's compaction."""

    plan: CompactionPlan
    """File groups to compact."""


class ClusteringRun(Model):
    """Overrides of the table's clustering; omitted parts are the table's."""

    plan: ClusteringPlan | None = None
    """Files to take, and target sizes; at most 20 partitions by name."""

    execution: ClusteringExecution | None = None
    """How the files are rewritten in this run."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            ("has(self.plan) || has(self.execution)", "plan or execution must be set"),
            (
                "!has(self.plan) || !has(self.plan.partitions) || !has(self.plan.partitions.names) || "
                f"size(self.plan.partitions.names) <= {MOST_NAMES}",
                f"at most {MOST_NAMES} partitions can be named here",
            ),
        )
    )


class ArchivalRun(Model):
    """Overrides of the table's archival."""

    min_commits: Annotated[int, Field(ge=1, le=LARGEST_INT)]
    """Commits that stay in the active timeline."""


class RunServiceSpec(Model):
    """Run a table service now, whatever its mode and trigger are: finish the pending plan, or make a plan."""

    service: RunnableService
    """The service."""

    compaction: CompactionRun | None = None
    """For a Compaction: a plan that replaces the table's plan."""

    clustering: ClusteringRun | None = None
    """For a Clustering: a plan or execution that replaces the table's."""

    cleaning: CleaningRetention | None = None
    """For a Cleaning: the retention that replaces the table's."""

    archival: ArchivalRun | None = None
    """For an Archival: the number of commits that replaces the table's."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            *(
                (f"!has(self.{one.lower()}) || self.service == '{one}'", f"{one.lower()} is only for service {one}")
                for one in RunnableService
            )
        )
    )
