"""Tables in states that people ask about, with the status that the operator writes."""

from __future__ import annotations

from typing import Any

from tests.planning.world import (
    CREATED,
    JOB,
    NOW,
    active,
    after_failures,
    ago,
    at,
    done,
    ended,
    memory,
    minutes,
    observe,
    run,
    snapshot,
    status,
    status_of,
    story,
    succeeded,
    table,
)

from hudi_jobs.contract import FailureReason
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.status.table_parts import BadRowsStatus
from hudi_operator.cli.render.view import TableView
from hudi_operator.planning.model import Blocker, BlockerReason, Observation, TimelineSnapshot

Document = dict[str, Any]

_LAST = memory(last_run=run(message="Read 20 rows of 1 file, 0 quarantined."))
_READ = snapshot((JOB, ago(1)))


def recorded() -> dict[str, Document]:
    """Return the documents of the tables by name."""
    blocked = Blocker(reason=BlockerReason.PATH_NOT_ALLOWED, message="The path is not allowed.")
    failing = after_failures(2, reason=FailureReason.SOURCE_UNREADABLE, message="The source cannot be read.")
    bad = status(ingestion=_LAST, bad_rows=BadRowsStatus(total=50, since=at(NOW - minutes(9))))
    seen = {
        "orders": _compacting(),
        "blocked": observe(table(), blockers=(blocked,), snapshot=TimelineSnapshot()),
        "failing": observe(table(status=status(ingestion=failing)), snapshot=_READ),
        "quarantined": observe(table(status=bad), snapshot=_READ),
        "paused": observe(table(suspend=True, status=status(ingestion=_LAST)), snapshot=_READ),
    }
    return {name: document_of(name, one.table, status_of(one).to_document()) for name, one in seen.items()}


def view(name: str) -> TableView:
    """Return a table as commands see it."""
    return TableView.of(recorded()[name])


def _compacting() -> Observation:
    """The second ingestion has ended a moment ago, so compaction starts."""
    ingested = succeeded(
        instant=ago(1), message="Read 20 rows of 1 file.", rows_read=20, complete_up_to=at(NOW - minutes(2))
    )
    return observe(
        table(
            type="MergeOnRead",
            ingestion={"freshness": "10m"},
            compaction={"trigger": {"deltaCommits": 2}},
            status=status(active_jobs=(active(started_at=at(NOW - minutes(2))),), observed_generation=1),
        ),
        snapshot=snapshot((JOB, ago(1)), timeline=story(done("deltacommit", 6), done("deltacommit", 1))),
        jobs=(ended(outcome=ingested, created_at=NOW - minutes(2)),),
    )


def document_of(name: str, one: HudiTable, written: Document) -> Document:
    """Return a table as the API server has it."""
    spec = one.spec.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
    metadata = {
        "name": name,
        "namespace": "team-a",
        "uid": f"uid-{name}",
        "generation": 1,
        "creationTimestamp": at(CREATED),
    }
    return {
        "apiVersion": "hudi-operator.io/v1beta1",
        "kind": "HudiTable",
        "metadata": metadata,
        "spec": {**spec, "basePath": f"s3a://lake/team-a/{name}", "tableClassName": "standard"},
        "status": written,
    }
