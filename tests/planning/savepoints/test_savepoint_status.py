"""What the status of a HudiSavepoint says, and what tools that read it by kstatus make of it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.gitops.health import kstatus_of
from tests.planning.savepoints.savepoints import at_work, entry, later, of, over, saved, savepoint, world
from tests.planning.world import NOW, ago, at, done, minutes, status, table

from hudi_jobs.contract import Outcome
from hudi_operator.api.status.savepoints import HudiSavepointStatus, TableSavepoint
from hudi_operator.planning.model import Observation
from hudi_operator.planning.outcome.status.savepoint_status import decide_savepoint
from hudi_operator.timeline import CleanSummary


def status_of_resource(known: TableSavepoint | None, *, now: Any = NOW, **spec: Any) -> HudiSavepointStatus:
    """The status of a resource of which its table remembers this."""
    entries = () if known is None else (known,)
    step = decide_savepoint(savepoint(**spec), table(status=status(savepoints=entries)), now=now)
    assert step.status is not None
    return step.status


def conditions(found: HudiSavepointStatus) -> dict[str, tuple[str, str]]:
    return {one.type.value: (one.status.value, one.reason) for one in found.conditions}


def kstatus(found: HudiSavepointStatus) -> str:
    """What Flux makes of the status of a savepoint."""
    return kstatus_of({"metadata": {"generation": 1}, "status": found.to_document()})


def test_expired_and_removed_savepoint_is_neither_failed_nor_in_progress() -> None:
    over_now = status_of_resource(
        entry(instant=ago(20), since=at(NOW - minutes(50)), state="Removed"), expiresAfter="30m"
    )
    assert conditions(over_now) == {"Expired": ("True", "Expired")}, "it is not ready either"
    assert kstatus(over_now) == "Current"


@pytest.mark.parametrize("state", ["Removed", "Retained"])
def test_expired_savepoint_that_was_never_made_or_cannot_be_removed_is_a_failure(state: str) -> None:
    since = at(NOW - minutes(50)) if state == "Retained" else None
    found = status_of_resource(
        entry(instant=ago(20), since=since, state=state, reason="SavepointRetained"), expiresAfter="30m"
    )
    assert (conditions(found)["Ready"][0], kstatus(found)) == ("False", "Failed")


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("Kept", "Current"),
        ("Waiting", "InProgress"),
        ("Removing", "InProgress"),
        ("Refused", "Failed"),
        ("Lost", "Failed"),
    ],
)
def test_waiting_savepoint_is_reconciling_and_refused_savepoint_is_stalled(state: str, expected: str) -> None:
    assert kstatus(status_of_resource(entry(instant=ago(20), state=state, reason="Waiting"))) == expected


def test_ended_savepoint_stays_ended_without_a_place_in_the_table() -> None:
    before = status_of_resource(
        entry(instant=ago(20), since=at(NOW - minutes(50)), state="Removed"), expiresAfter="30m"
    )
    assert conditions(status_of_resource(None, status=before, expiresAfter="30m")) == {"Expired": ("True", "Expired")}


def adopted(made: float, *cleans: float, keeps_from: str = "", **spec: Any) -> Observation:
    """A resource that adopts a savepoint on the commit of 20 minutes ago, with cleans of so many minutes ago."""
    files = (saved(20, made), *(done("clean", ago_) for ago_ in cleans))
    return world(savepoint(instant=ago(20), **spec), files=files, clean=CleanSummary(earliest_retained=keeps_from))


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (adopted(15), "True"),
        (adopted(15, 25), "True"),
        (adopted(15, 25, 5, keeps_from=ago(10)), "True"),
        (adopted(15, 5, keeps_from=ago(10)), "Unknown"),
        (adopted(12, 25, 18, keeps_from=ago(30)), "True"),
        (adopted(12, 25, 18, keeps_from=ago(19)), "False"),
        (adopted(12, 18, keeps_from=ago(19)), "False"),
        (adopted(12, 25, 18, 16, keeps_from=ago(30)), "Unknown"),
        (adopted(12, 25, 18, 5, keeps_from=ago(30)), "Unknown"),
        (adopted(12, 25, 18), "Unknown"),
    ],
    ids=[
        "never cleaned",
        "cleaned before the commit",
        "cleaned after the savepoint",
        "cleaned after the savepoint, and perhaps before in the archive",
        "cleaned before the savepoint from an older commit on",
        "cleaned before the savepoint from a newer commit on",
        "cleaned before the savepoint from a newer commit on, whatever was archived",
        "by two cleans, of which one is read",
        "by a clean that is not the last",
        "by a clean that does not say",
    ],
)
def test_whether_the_data_of_an_adopted_savepoint_are_complete_is_told_as_far_as_the_cleans_tell(
    seen: Observation, expected: str
) -> None:
    assert of(seen).data_complete == expected


def test_a_savepoint_that_the_table_cannot_be_restored_to_is_not_ready() -> None:
    known = of(adopted(12, 25, 18, keeps_from=ago(19)))
    found = status_of_resource(known, instant=ago(20))
    assert conditions(found)["Ready"] == ("False", "InstantCleaned")
    assert conditions(found)["DataComplete"] == ("False", "InstantCleaned")
    assert kstatus(found) == "Failed"


def test_data_complete_is_remembered_when_later_cleans_hide_it() -> None:
    for answer in ("True", "False"):
        files = (saved(20, 12), done("clean", 18), done("clean", 5))
        known = entry(instant=ago(20), since=at(NOW), data_complete=answer)
        assert of(world(savepoint(instant=ago(20)), files=files, remembered=(known,))).data_complete == answer
        own = status_of_resource(known, instant=ago(20))
        assert of(world(savepoint(instant=ago(20), status=own), files=files)).data_complete == answer


@pytest.mark.parametrize(("outcome", "expected"), [(Outcome.SUCCEEDED, "True"), (None, "Unknown")])
def test_the_data_are_complete_where_the_driver_that_made_the_savepoint_has_looked(
    outcome: Outcome | None, expected: str
) -> None:
    files = (saved(10, 5), done("clean", 8), done("clean", 7))
    known = entry(instant=ago(10), state="Waiting", reason="Running")
    told = {"active_jobs": (at_work(),)}
    seen = world(savepoint(), files=files, remembered=(known,), told=told, jobs=(over(outcome),))
    assert (of(seen).state.value, of(seen).data_complete) == ("Kept", expected)


def test_status_shows_when_the_savepoint_expires() -> None:
    assert status_of_resource(None, expiresAfter="2h").expires_at == at(later(60))
