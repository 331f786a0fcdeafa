"""Whether the timeline confirms what a run of a table service did."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.world import NOW, active, ago, done, ended, outcome, snapshot, story

from hudi_jobs.contract import FailureReason, JobOutcome, Outcome
from hudi_operator.planning.facts.runs.outcomes import conclude
from hudi_operator.planning.model import TimelineSnapshot

DELTAS = [done("deltacommit", 50), done("deltacommit", 40)]
BASE, MADE = ago(40), ago(30)
TIMELINES = {
    "Compaction": story(*DELTAS, done("commit", 30)),
    "Clustering": story(*DELTAS, done("replacecommit", 30), clusterings=[MADE]),
    "Cleaning": story(*DELTAS, done("clean", 30)),
}
WITHOUT = story(*DELTAS)
OLD = {
    "Compaction": story(done("commit", 60), *DELTAS),
    "Clustering": story(done("replacecommit", 60), *DELTAS, clusterings=[ago(60)]),
    "Cleaning": story(done("clean", 60), *DELTAS),
}


def reported(
    service: str, reported: JobOutcome | None, timeline: Any, *, instant: str | None = None, **seen: Any
) -> tuple[str, str | None, str | None]:
    job = active("run", service=service, base_instant=BASE, instant=instant)
    observed = ended("run", outcome=reported, exit_code=0 if reported else 137)
    run = conclude(job, observed=observed, snapshot=TimelineSnapshot(timeline=timeline, **seen), now=NOW)
    assert run is not None
    return run.outcome.value, run.reason, run.instant


def says(instant: str | None) -> JobOutcome:
    return outcome(Outcome.SUCCEEDED, instant=instant)


SUCCEEDED = ("Succeeded", None, MADE)
NOT_CONFIRMED = ("Failed", "NotConfirmed", None)
DIED = ("Failed", "DriverDied", None)


@pytest.mark.parametrize("service", TIMELINES)
def test_the_instant_that_the_driver_reports_must_be_completed(service: str) -> None:
    assert reported(service, says(MADE), TIMELINES[service]) == SUCCEEDED
    assert reported(service, says(MADE), WITHOUT) == NOT_CONFIRMED
    assert reported(service, says(ago(20)), TIMELINES[service]) == NOT_CONFIRMED


@pytest.mark.parametrize("service", TIMELINES)
def test_a_driver_that_died_has_succeeded_when_a_new_instant_of_its_kind_is_completed(service: str) -> None:
    assert reported(service, None, TIMELINES[service]) == SUCCEEDED
    assert reported(service, None, WITHOUT) == DIED
    assert reported(service, None, OLD[service]) == DIED


@pytest.mark.parametrize("service", ["Compaction", "Clustering"])
def test_a_driver_that_died_has_succeeded_when_the_instant_that_it_was_given_is_completed(service: str) -> None:
    assert reported(service, None, OLD[service], instant=ago(60)) == ("Succeeded", None, ago(60))
    assert reported(service, None, TIMELINES[service], instant=ago(60)) == SUCCEEDED


@pytest.mark.parametrize("service", TIMELINES)
@pytest.mark.parametrize("kind", [Outcome.CONFLICT, Outcome.FENCED])
def test_a_run_that_gave_way_is_believed_although_somebody_else_completed_the_instant(
    service: str, kind: Outcome
) -> None:
    found = reported(service, outcome(kind, message="Lost."), TIMELINES[service], instant=MADE)
    assert found == (kind.value, kind.value, None)


@pytest.mark.parametrize("service", TIMELINES)
def test_a_run_that_failed_is_believed_unless_a_commit_bears_its_name(service: str) -> None:
    failed = outcome(Outcome.FAILED, reason=FailureReason.HUDI_ERROR)
    assert reported(service, failed, TIMELINES[service]) == ("Failed", "HudiError", None)
    assert reported(service, failed, TIMELINES[service], runs=(("run", MADE),)) == SUCCEEDED


def test_an_archival_leaves_no_instant_and_its_word_counts() -> None:
    assert reported("Archival", says(None), WITHOUT) == ("Succeeded", None, None)
    assert reported("Archival", None, WITHOUT) == DIED


def test_a_service_is_not_concluded_while_the_timeline_cannot_be_read() -> None:
    seen = snapshot(trouble="StorageUnavailable")
    for service in (*TIMELINES, "Archival"):
        observed = ended("run", outcome=says(MADE))
        assert conclude(active("run", service=service), observed=observed, snapshot=seen, now=NOW) is None


def test_an_ingestion_behind_many_commits_of_others_is_confirmed_by_the_instant_that_it_reports() -> None:
    written = ago(40)
    hidden = reported("Ingestion", says(written), WITHOUT)
    anonymous = reported("Ingestion", says(written), WITHOUT, unmarked=(WITHOUT.completed[1],))
    another = reported("Ingestion", says(written), WITHOUT, runs=(("somebody", written),))
    assert hidden == ("Succeeded", None, written)
    assert anonymous == another == NOT_CONFIRMED


def test_the_figures_of_a_service_are_kept() -> None:
    figures = {"file_groups": 3, "files_written": 2, "files_deleted": 1, "bytes_written": 4096}
    observed = ended("run", outcome=outcome(Outcome.SUCCEEDED, instant=MADE, **figures))
    job = active("run", service="Compaction", base_instant=BASE)
    run = conclude(job, observed=observed, snapshot=TimelineSnapshot(timeline=TIMELINES["Compaction"]), now=NOW)
    assert run is not None
    assert run.model_dump(include=set(figures)) == figures
