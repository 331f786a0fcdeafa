"""Upgrades and downgrades of the table version: when they begin, and what counts as foreign while they are at work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.operations.operations import after_run, at_work, begun, entry, launches, of, operation, world
from tests.planning.world import NOW, again, ago, at, status_of
from tests.planning.writers.test_foreign import foreign, seen, unmarked

from hudi_jobs.contract import OperationKind, Outcome
from hudi_operator.api.status.operation_status import OperationState
from hudi_operator.planning.model import Observation

UP: dict[str, Any] = {"upgrade": {"tableVersion": 9}}
DOWN: dict[str, Any] = {"downgrade": {"tableVersion": 6}}
UPGRADE: dict[str, Any] = {"kind": "Upgrade", "instant": None, "table_version": 9}
"""What the Jobs of an upgrade do, where it is not what those of a restore do."""


def with_version(observation: Observation, version: int) -> Observation:
    """The same table with another version."""
    timeline = observation.snapshot.timeline
    assert timeline is not None
    found = replace(timeline, properties=replace(timeline.properties, version=version))
    return replace(observation, snapshot=replace(observation.snapshot, timeline=found))


def asked(document: dict[str, Any], found: int, *, pinned: int | None = None, kind: str = "Upgrade") -> Observation:
    spec: dict[str, Any] = {} if pinned is None else {"tableVersion": pinned}
    return with_version(world(operation(**document), remembered=(entry(kind=kind),), **spec), found)


@pytest.mark.parametrize(
    ("document", "kind", "found", "pinned", "wording"),
    [
        (UP, "Upgrade", 6, None, "the upgrade to table version 9"),
        (UP, "Upgrade", 8, 9, "the upgrade to table version 9"),
        (DOWN, "Downgrade", 9, 6, "the downgrade to table version 6"),
    ],
)
def test_a_change_of_version_has_the_table_to_itself_and_every_run_is_to_do_the_same(
    document: dict[str, Any], kind: str, found: int, pinned: int | None, wording: str
) -> None:
    observation = asked(document, found, pinned=pinned, kind=kind)
    (launch,) = launches(observation)
    named = launch.job.operation
    assert named is not None
    version = next(iter(document.values()))["tableVersion"]
    assert (named.kind, named.instant, named.table_version) == (OperationKind(kind), None, version)
    after = status_of(observation)
    assert after.services.operation is not None
    assert wording in after.services.operation.message
    assert of(observation).state is OperationState.RUNNING


@pytest.mark.parametrize(
    ("document", "found", "pinned", "sentence"),
    [
        (UP, 9, None, "The table has version 9; version 9 is not newer. Nothing was changed."),
        ({"upgrade": {"tableVersion": 8}}, 9, None, "The table has version 9; version 8 is not newer."),
        (DOWN, 6, None, "The table has version 6; version 6 is not older."),
        (UP, 6, 6, "spec.tableVersion of the table pins 6, not 9: change it first. Nothing was changed."),
        (UP, 6, 8, "pins 8, not 9"),
    ],
)
def test_impossible_version_change_is_refused_with_a_sentence_before_a_run(
    document: dict[str, Any], found: int, pinned: int | None, sentence: str
) -> None:
    observation = asked(document, found, pinned=pinned)
    assert not launches(observation)
    told = of(observation)
    assert (told.state, told.reason) == (OperationState.FAILED, "OperationRefused")
    assert sentence in told.message


def test_version_change_of_a_table_without_a_commit_is_refused() -> None:
    bare = world(operation(**UP), remembered=(entry(kind="Upgrade"),), gone=(30, 20, 10))
    assert "no completed commit" in of(with_version(bare, 6)).message


def test_begun_version_change_is_finished_whatever_the_table_shows_by_then() -> None:
    """A run that was killed after the version had changed, and a pin that was set meanwhile, change nothing."""
    remembered = begun(kind="Upgrade", job={**UPGRADE, "resource": "back", "uid": "uid-of-back"})
    observation = with_version(world(operation(**UP), remembered=(remembered,), tableVersion=6), 9)
    (launch,) = launches(observation)
    assert launch.job.operation is not None
    assert launch.job.operation.table_version == 9


def test_a_run_that_ended_midway_has_begun_and_one_that_is_done_has_its_report() -> None:
    running = entry(kind="Upgrade", state="Running")
    report = {"phase": "Running", "versionBefore": 6, "versionAfter": 9}
    midway = after_run(None, remembered=running, job=UPGRADE, resource=(operation(**UP),))
    assert of(midway).begun
    over = {**report, "phase": "Done", "verified": True, "target": ago(10)}
    told = of(after_run(Outcome.SUCCEEDED, remembered=running, job=UPGRADE, resource=(operation(**UP),), report=over))
    assert told.state is OperationState.SUCCEEDED
    assert told.report is not None
    assert (told.report.version_before, told.report.version_after, told.report.target) == (6, 9, ago(10))


@pytest.mark.parametrize("kind", ["Upgrade", "Restore"])
def test_commits_that_complete_anew_because_the_format_has_changed_are_not_foreign(kind: str) -> None:
    """Of a commit that was accepted once, the time of completion may be another one after a downgrade."""
    known = {"operations": (entry(kind=kind, state="Running"),), "active_jobs": (at_work(kind=kind),)}
    during = seen(*unmarked(30), verified=35, remembered=known)
    after = status_of(during)
    assert bool(foreign(during)) is (kind == "Restore")
    assert after.timeline is not None
    assert after.timeline.verified_up_to == (ago(29.9) if kind == "Upgrade" else ago(35))
    then = again(during, after.copy_with(operations=(), active_jobs=()))
    assert bool(foreign(then)) is (kind == "Restore")


def test_an_upgrade_that_is_over_hides_no_other_writer_whether_or_not_it_says_when() -> None:
    for end in (None, at(NOW)):
        known = {"operations": (entry(kind="Upgrade", state="Failed", begun=True, finished_at=end),)}
        assert foreign(seen(*unmarked(30), verified=35, remembered=known)) == [ago(30)]
