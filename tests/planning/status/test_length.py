"""A person reads the whole YAML of a table on two screens."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.planning.world import (
    CREATED,
    UID,
    ago,
    at,
    done,
    memory,
    observe,
    run,
    snapshot,
    status,
    status_of,
    story,
    table,
)

from hudi_jobs.contract import Outcome
from hudi_operator.api.status.runs import RunStatus
from hudi_operator.api.status.table_status import HISTORY_LENGTH
from hudi_operator.timeline import CleanSummary, TableType

EXAMPLES = Path(__file__).parents[3] / "examples"


class _KubectlDumper(yaml.SafeDumper):
    """Breaks lines as `kubectl get -o yaml`: texts at 80 columns, and no text that has a newline."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_KubectlDumper.add_representer(str, _text)


def lines_of(document: dict[str, Any]) -> int:
    return yaml.dump(document, Dumper=_KubectlDumper, width=80, allow_unicode=True).count("\n")


def last_run(service: str, message: str, **figures: Any) -> RunStatus:
    return run(service=service, job=f"flights-{service.lower()}-0123456789", message=message, instant=ago(9), **figures)


RUNS = {
    "Ingestion": last_run("Ingestion", "Read 28,834 rows of 2 files, 0 quarantined.", rows_read=28834, files_read=2),
    "Compaction": last_run("Compaction", "Compacted 9 file groups by the plan of 20260310115100000.", file_groups=9),
    "Clustering": last_run("Clustering", "Clustered 3 file groups by the plan of 20260310115100000.", file_groups=3),
    "Cleaning": last_run("Cleaning", "The clean 20260310115100000 deleted 12 files.", files_deleted=12),
    "Archival": last_run("Archival", "Archived 11 instants."),
}


def applied(path: str) -> dict[str, Any]:
    """Return an example as the API server gives it back: every service has run, and the table is at rest."""
    document: dict[str, Any] = yaml.safe_load((EXAMPLES / path).read_text())
    kind = TableType.MERGE_ON_READ if document["spec"]["type"] == "MergeOnRead" else TableType.COPY_ON_WRITE
    compacts = kind is TableType.MERGE_ON_READ
    services = {name.lower(): memory(last_run=one) for name, one in RUNS.items() if compacts or name != "Compaction"}
    history = tuple(RUNS.values()) * (HISTORY_LENGTH // len(RUNS))
    timeline = story(
        *(done("deltacommit" if compacts else "commit", 60 - 5 * number) for number in range(9)),
        *([done("commit", 11)] if compacts else ()),
        done("replacecommit", 10),
        done("clean", 9),
        kind=kind,
        clusterings=[ago(10)],
        clean=CleanSummary(last_completed_commit=ago(10), earliest_retained=ago(60)),
    )
    before = status(history=history, observed_generation=1, **services)
    ours = tuple((one.job, ago(minute)) for one, minute in zip(history, (20, 11, 10, 9), strict=False))
    one = table(status=before, **document["spec"])
    after = status_of(observe(one, snapshot=snapshot(*ours, timeline=timeline)))
    metadata = {
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}\n"},
        "creationTimestamp": at(CREATED),
        "finalizers": ["hudi-operator.io/claim"],
        "generation": 1,
        "name": document["metadata"]["name"],
        "namespace": "team-a",
        "resourceVersion": "123456",
        "uid": UID,
    }
    return {**document, "metadata": metadata, "status": after.to_document()}


@pytest.mark.parametrize(
    ("example", "limit"),
    [("ingest-csv.yaml", 120), ("demo/delays.yaml", 135), ("demo/flights.yaml", 150)],
)
def test_the_yaml_of_a_healthy_table_at_rest_is_short(example: str, limit: int) -> None:
    """The demonstration's specs alone have 45 and 51 lines."""
    document = applied(example)
    assert "jobs" not in document["status"]
    assert lines_of(document) < limit


def test_the_text_of_a_last_run_names_what_a_person_needs() -> None:
    failed = run(Outcome.FAILED)
    assert failed.line == (f"Failed (SourceNotFound) at {failed.finished_at} in Job {failed.job}: It is not there.")
    undone = run(undone_by="20260310115959000")
    assert undone.line == f"Succeeded at {undone.finished_at}: Wrote 3 rows. 20260310115959000 undid it."
