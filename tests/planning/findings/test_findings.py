"""What needs attention on a table, and what follows from it: conditions, Events and the time since when it is so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.planning.world import (
    NOW,
    active,
    again,
    ago,
    at,
    done,
    minutes,
    observe,
    snapshot,
    status,
    status_of,
    story,
    table,
)

from hudi_jobs.contract import OwnerRecord
from hudi_operator.api.resources import InvalidObject
from hudi_operator.api.status.conditions import ConditionType, find_condition
from hudi_operator.api.status.findings import FINDINGS_SHOWN, Finding, FindingCode, Severity
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.diagnosis.check_registry import CHECKS
from hudi_operator.planning.model import Blocker, BlockerReason, Observation, TimelineSnapshot, TimelineTrouble
from hudi_operator.planning.model.reason_registry import entry_of
from hudi_operator.planning.outcome import findings as package
from hudi_operator.planning.outcome.findings.find import blocking_ingestion
from hudi_operator.planning.outcome.findings.finding_registry import DEFINITIONS, definition_of
from hudi_operator.planning.outcome.status.build import build_invalid_status
from hudi_operator.planning.outcome.status.transitions import transitions
from hudi_operator.timeline import Problem

EVERY = pytest.mark.parametrize("code", FindingCode)
DOWN = TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="The store is down.")
DELTA = story(done("deltacommit", 30))
OF_ANOTHER = OwnerRecord(
    operator="other/hudi-operator",
    table_uid="theirs",
    table="x/y",
    run="their-run",
    since="2026-03-10T11:00:00Z",
    renewed_at="2026-03-10T11:00:00Z",
)


@EVERY
def test_each_code_has_a_check_or_a_module_of_its_own_and_says_what_is_blocked_and_what_helps(
    code: FindingCode,
) -> None:
    folder = Path(package.__file__).parent
    assert (folder / f"{code.name.lower()}.py").is_file() or code in {one.code for one in CHECKS}
    assert definition_of(code).code is code
    assert definition_of(code).blocks
    assert entry_of(code).advice


def test_definitions_stand_in_the_order_of_their_codes() -> None:
    assert [one.code for one in DEFINITIONS] == list(FindingCode)


def overdue(**spec: Any) -> Observation:
    """A table with an instant that has been pending for longer than its class allows."""
    seen = story(done("deltacommit", 200), f"{ago(100)}.clean.requested")
    return observe(table(ingestion=None, created=NOW - minutes(600), **spec), snapshot=snapshot(timeline=seen))


def damaged(number: int = 1) -> Observation:
    problems = tuple(Problem(f".hoodie/timeline/{one}.clean", "It is empty.") for one in range(number))
    return observe(table(ingestion=None), snapshot=snapshot(timeline=replace(DELTA, problems=problems)))


def owned_elsewhere(**changes: Any) -> Observation:
    return observe(table(**changes), snapshot=snapshot(timeline=DELTA, owner=OF_ANOTHER))


def codes(after: HudiTableStatus) -> list[str]:
    return [one.code.value for one in after.findings]


def healthy(after: HudiTableStatus) -> tuple[str, str, str]:
    found = find_condition(after.conditions, ConditionType.HEALTHY)
    assert found is not None
    return found.status.value, found.reason, found.message


def later(seen: Observation, after: HudiTableStatus, **changes: Any) -> Observation:
    return replace(again(seen, after), **changes)


def test_a_finding_keeps_its_time_and_an_unchanged_finding_writes_nothing() -> None:
    first = status_of(overdue())
    assert [(one.code, one.since) for one in first.findings] == [("PendingInstantOverdue", at(NOW))]
    second = status_of(later(overdue(), first), now=NOW + minutes(1))
    assert second == first


def test_a_finding_that_comes_back_has_a_new_time() -> None:
    first = status_of(overdue())
    gone = status_of(later(overdue(), first, snapshot=snapshot(timeline=DELTA)), now=NOW + minutes(1))
    assert codes(gone) == []
    back = status_of(later(overdue(), gone), now=NOW + minutes(2))
    assert [one.since for one in back.findings] == [at(NOW + minutes(2))]


def test_the_worst_finding_comes_first_and_is_the_reason_of_healthy() -> None:
    both = replace(owned_elsewhere(), snapshot=replace(damaged().snapshot, owner=OF_ANOTHER))
    after = status_of(both)
    assert codes(after) == ["OwnedElsewhere", "TimelineDamaged"]
    state, reason, message = healthy(after)
    assert (state, reason) == ("False", "OwnedElsewhere")
    assert message == f"{after.findings[0].message} 1 other finding is in status.findings."


def test_a_finding_that_is_only_information_leaves_the_table_healthy() -> None:
    observation = observe(
        table(tableVersion=8, ingestion=None),
        snapshot=snapshot(timeline=replace(DELTA, properties=replace(DELTA.properties, raw=RAW))),
    )
    after = status_of(observation)
    assert [(one.code, one.severity, one.blocks) for one in after.findings] == [("SettingNotApplied", "Info", ())]
    assert healthy(after)[:2] == ("True", "NoFindings")


RAW = tuple(
    {
        "hoodie.table.name": "flights",
        "hoodie.table.type": "COPY_ON_WRITE",
        "hoodie.table.version": "9",
        "hoodie.table.recordkey.fields": "id",
        "hoodie.table.metadata.partitions": "files",
    }.items()
)


def test_a_finding_that_blocks_ingestion_is_the_reason_of_ready_and_stalled() -> None:
    after = status_of(owned_elsewhere())
    assert after.findings[0].blocks == ("All",)
    conditions = {one.type.value: (one.status.value, one.reason, one.message) for one in after.conditions}
    message = after.findings[0].message
    assert conditions["Ready"] == ("False", "OwnedElsewhere", message)
    assert conditions["Stalled"] == ("True", "OwnedElsewhere", message)


def test_a_finding_that_blocks_other_services_leaves_the_table_ready() -> None:
    pending = story(done("deltacommit", 200), f"{ago(100)}.clustering.requested", clusterings=[ago(100)])
    after = status_of(replace(overdue(), snapshot=snapshot(timeline=pending)))
    assert after.findings[0].blocks == ("Cleaning", "Archival")
    assert after.conditions[0].status == "True"
    assert healthy(after)[:2] == ("False", "PendingInstantOverdue")


def test_of_several_findings_that_block_ingestion_the_first_code_is_the_reason() -> None:
    codes = (FindingCode.FOREIGN_WRITER, FindingCode.OWNED_ELSEWHERE, FindingCode.SERVICES_REFUSED)
    found = tuple(made(code, blocks=("All",)) for code in codes)
    assert blocking_ingestion(found) == found[1]
    assert blocking_ingestion((made(FindingCode.SERVICES_REFUSED, blocks=("Compaction",)),)) is None


def made(code: FindingCode, **changes: Any) -> Finding:
    fields = {"severity": Severity.CRITICAL, "since": at(NOW), "message": "It is so.", "remedy": "Act."}
    return Finding(code=code, **{**fields, **changes})


def test_a_store_that_is_down_neither_resolves_findings_nor_makes_new_ones() -> None:
    seen = owned_elsewhere()
    first = status_of(seen)
    down = status_of(later(seen, first, snapshot=DOWN), now=NOW + minutes(1))
    assert down.findings == first.findings
    assert down.conditions[0].reason == "StorageUnavailable", "what blocks now is the store"
    assert [one.reason for one in transitions(first, down)] == ["StorageUnavailable"]
    up = status_of(later(seen, down), now=NOW + minutes(2))
    assert up.findings == first.findings


def test_a_store_that_is_down_leaves_the_health_of_a_table_without_findings_unknown() -> None:
    assert healthy(status_of(observe(snapshot=DOWN))) == ("Unknown", "StorageUnavailable", "The store is down.")


def test_a_table_whose_folder_may_be_somebody_elses_shows_no_finding_of_that_folder() -> None:
    seen = owned_elsewhere()
    first = status_of(seen)
    claimed = Blocker(reason=BlockerReason.PATH_CLAIMED, message="Taken.", hides=True)
    hidden = later(seen, first, blockers=(claimed,), snapshot=TimelineSnapshot.forbidden((claimed,)))
    assert codes(status_of(hidden)) == []


def test_a_spec_that_cannot_be_read_keeps_the_findings_and_what_they_say_of_health() -> None:
    known = status_of(owned_elsewhere())
    invalid = InvalidObject(metadata=table().metadata, message="spec.type: no such type", status=known)
    after = build_invalid_status(invalid, now=NOW)
    assert after.findings == known.findings
    assert healthy(after)[:2] == ("False", "OwnedElsewhere")


def test_a_finding_that_appears_and_goes_posts_one_event_each() -> None:
    seen = overdue()
    before = status_of(observe(table(ingestion=None, status=status()), snapshot=snapshot(timeline=DELTA)))
    after = status_of(seen)
    assert [(one.warning, one.reason) for one in transitions(before, after)] == [(True, "PendingInstantOverdue")]
    (event,) = transitions(after, before)
    assert (event.warning, event.reason) == (False, "FindingResolved")
    assert event.message == f"PendingInstantOverdue: the finding of {at(NOW)} is gone."
    assert transitions(after, after) == ()


def test_a_finding_that_is_also_the_reason_of_ready_posts_one_event() -> None:
    before = status_of(observe(table(ingestion=None), snapshot=snapshot(timeline=DELTA)))
    told = transitions(before, status_of(owned_elsewhere()))
    assert [one.reason for one in told] == ["OwnedElsewhere"]


def test_information_is_no_warning() -> None:
    before = HudiTableStatus()
    after = before.copy_with(findings=(made(FindingCode.SETTING_NOT_APPLIED, severity=Severity.INFO),))
    assert [(one.warning, one.reason) for one in transitions(before, after)] == [(False, "SettingNotApplied")]


def test_damaged_files_are_one_finding_however_many_they_are() -> None:
    (one,), (many,) = status_of(damaged()).findings, status_of(damaged(5000)).findings
    assert one.message == ".hoodie/timeline/0.clean: It is empty."
    assert many.message == ".hoodie/timeline/0.clean: It is empty. And 4999 more: see status.timeline.problems."


def test_the_summary_counts_findings_and_shortens_the_message() -> None:
    both = replace(owned_elsewhere(), snapshot=replace(damaged().snapshot, owner=OF_ANOTHER))
    summary = status_of(both).summary
    assert summary is not None
    assert summary.findings == "1 Critical, 1 Warning"
    assert summary.message is not None
    assert len(summary.message) == 80
    assert (status_of(both).message or "").startswith(summary.message[:70])


def test_the_summary_of_a_table_without_findings_counts_none() -> None:
    summary = status_of(observe(table(ingestion=None), snapshot=snapshot(timeline=DELTA))).summary
    assert summary is not None
    assert (summary.findings, summary.message) == (None, "The spec is accepted.")


def test_the_summary_names_the_newest_commit_also_while_the_store_is_down() -> None:
    seen = observe(table(ingestion=None), snapshot=snapshot(timeline=story(done("deltacommit", 30), done("clean", 10))))
    first = status_of(seen)
    down = status_of(later(seen, first, snapshot=DOWN))
    for after in (first, down):
        assert after.summary is not None
        assert after.summary.newest_commit == at(NOW - minutes(30))
    gone = status_of(later(seen, down, snapshot=TimelineSnapshot()))
    assert gone.summary is not None
    assert gone.summary.newest_commit is None


def test_no_status_shows_more_findings_than_the_api_server_stores() -> None:
    known = tuple(made(code) for code in FindingCode)[:FINDINGS_SHOWN]
    seen = owned_elsewhere(status=status(findings=known, active_jobs=(active(),)))
    down = replace(seen, snapshot=DOWN)
    assert len(status_of(down).findings) <= FINDINGS_SHOWN
