"""`timeline`: a table of the cluster by its name, from values."""

from __future__ import annotations

import sys

import pytest
from tests.cli.command import command
from tests.cli.tables import recorded
from tests.planning.world import NOW, ago, at, minutes

from hudi_operator.api.status.timeline import ActStatus, InstantStatus, PendingOwner, PendingStatus, TimelineStatus
from hudi_operator.cli.commands.timeline import named_table
from hudi_operator.cli.render.explanation import Shown
from hudi_operator.cli.render.instant_table import timeline_document, timeline_text
from hudi_operator.cli.render.view import TableView

SHOWN = Shown(now=NOW)
WRITE = InstantStatus(time=ago(30), action="deltacommit", state="INFLIGHT")
TIMELINE = TimelineStatus(
    pending=(WRITE,),
    pending_count=12,
    instants=(WRITE, InstantStatus(time=ago(1), action="clean", state="COMPLETED", completed_at=ago(1))),
    completed_commits=1234,
    acts=(ActStatus(time=ago(2), action="restore", undone=(ago(5), ago(4)), undone_count=3, input_lost=True),),
    problems=("20260310.commit: \x1b[2J is damaged",),
)


def orders(timeline: TimelineStatus = TIMELINE) -> TableView:
    view = TableView.of(recorded()["orders"])
    pending = PendingStatus(
        time=WRITE.time,
        action=WRITE.action,
        state=WRITE.state,
        since=at(NOW - minutes(30)),
        blocks="cleaning and archival",
        owner=PendingOwner.THIS_TABLE,
        run="orders-ingestion-1a",
    )
    services = view.status.services
    changed = services.copy_with(ingestion=services.ingestion.copy_with(pending=(pending,)))
    status = view.status.copy_with(timeline=timeline, services=changed)
    return TableView(document=view.document, metadata=view.metadata, status=status)


def text(*, wide: bool = False) -> str:
    return timeline_text(orders(), TIMELINE, SHOWN, wide=wide)


def test_timeline_has_instants_what_is_pending_and_the_counts_of_the_status() -> None:
    lines = [" ".join(line.split()) for line in text().splitlines()]
    assert f"{ago(1)} clean COMPLETED {ago(1)}" in lines
    assert f"{WRITE.time} deltacommit INFLIGHT 30m cleaning and archival" in lines
    assert "and 11 more" in lines
    assert "completed commits 1,234" in lines
    assert "compaction 2 of 2 ThresholdReached" in lines
    assert f"{ago(2)} restore Other 3, input lost" in lines


def test_wide_timeline_says_whose_a_pending_instant_is_and_what_was_undone() -> None:
    assert "orders-ingestion-1a" not in text()
    assert "ThisTable" in text(wide=True)
    assert "orders-ingestion-1a" in text(wide=True)
    assert f"{ago(5)}, {ago(4)}, and 1 more, input lost" in text(wide=True)


def test_text_of_the_store_cannot_drive_the_terminal() -> None:
    assert "\x1b" not in text()


def test_document_has_the_names_of_the_status() -> None:
    found = timeline_document(orders())
    assert found["metadata"] == {"name": "orders", "namespace": "team-a"}
    assert found["timeline"]["pending"][0]["state"] == "INFLIGHT"
    assert found["services"]["compaction"]["counted"] == 2
    assert found["services"]["ingestion"]["pending"][0]["blocks"] == "cleaning and archival"


@pytest.mark.parametrize(
    ("program", "word", "table"),
    [
        ("kubectl-hudi", "orders", "orders"),
        ("kubectl-hudi", "ht/orders", "orders"),
        ("hudi-operator", "ht/orders", "orders"),
        ("hudi-operator", "orders", None),
        ("kubectl-hudi", "/data/orders", None),
        ("kubectl-hudi", "./orders", None),
        ("kubectl-hudi", "s3a://lake/orders", None),
        ("kubectl-hudi", "ht/../orders", None),
    ],
)
def test_bare_name_is_a_table_for_kubectl_and_a_folder_otherwise(
    program: str, word: str, table: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [program])
    assert named_table(word) == table


@pytest.mark.parametrize(
    "arguments",
    ["ht/orders ht/customers", "ht/orders /data/lake", "ht/orders --archived", "/data/lake -o yaml"],
)
def test_timeline_of_a_table_and_of_paths_are_not_mixed(arguments: str) -> None:
    assert command("timeline", *arguments.split()).returncode == 2
