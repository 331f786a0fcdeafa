"""Hudi makes the metadata table after the table: what is read in between is no drift once the run has ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.control.test_finalizer import Store
from tests.control.test_reconciler import KEY, living_table
from tests.planning.world import IMAGE, OPERATOR, UID
from tests.whole_status import whole

from hudi_jobs.contract import OPERATOR_KEY, RUN_KEY, TABLE_KEY, Outcome
from hudi_operator.control.settings import Settings
from hudi_operator.control.snapshots.pool import StorePool
from hudi_operator.control.snapshots.reader import SnapshotReader
from hudi_operator.control.tables import Reconciler
from hudi_operator.runtime.controller import Trigger

PROPERTIES = (
    "hoodie.table.name=flights\nhoodie.table.type=COPY_ON_WRITE\nhoodie.table.version=9\n"
    "hoodie.table.recordkey.fields=id\nhoodie.timeline.layout.version=2\nhoodie.timeline.path=timeline\n"
    "hoodie.table.timeline.timezone=UTC\n"
)


class Table:
    """The folder of a table as Hudi fills it in its first commit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / ".hoodie/timeline").mkdir(parents=True)
        self.write("hoodie.properties", PROPERTIES)

    def write(self, name: str, content: str) -> None:
        (self.folder / ".hoodie" / name).write_text(content)


def findings(document: dict[str, Any]) -> set[str]:
    return {one["code"] for one in document["status"].get("findings", [])}


async def test_a_table_read_before_its_metadata_table_was_made_differs_in_nothing_after_its_first_run(
    tmp_path: Path,
) -> None:
    cluster = living_table(metadataTable={"enabled": True})
    cluster.outcome = Outcome.SUCCEEDED
    snapshots = SnapshotReader(StorePool(opener=lambda _url, _options: Store(tmp_path)))
    reconciler = Reconciler(kube=cluster, snapshots=snapshots, settings=Settings(spark_image=IMAGE))
    await reconciler.reconcile(KEY, Trigger.EVENT)
    table = Table(tmp_path / "lake/team-a/flights")
    cluster.kubelet()
    await reconciler.reconcile(KEY, Trigger.CHILD)

    table.write("hoodie.properties", PROPERTIES + "hoodie.table.metadata.partitions=files\n")
    (run,) = cluster.created
    ours = {RUN_KEY: run, TABLE_KEY: UID, OPERATOR_KEY: OPERATOR}
    commit = json.dumps({"operationType": "UPSERT", "extraMetadata": ours})
    now = cluster.now().strftime("%Y%m%d%H%M%S000")
    table.write(f"timeline/{now}_{now}.commit", commit)
    cluster.kubelet()
    await reconciler.reconcile(KEY, Trigger.CHILD)
    await reconciler.reconcile(KEY, Trigger.EVENT)

    document = cluster.tables["flights"]
    assert whole(document)["services"]["ingestion"]["lastRun"]["outcome"] == "Succeeded"
    assert not findings(document) & {"SpecDrift", "SettingNotApplied"}
    assert not {reason for _, reason, _ in cluster.events} & {"SpecDrift", "SettingNotApplied"}
