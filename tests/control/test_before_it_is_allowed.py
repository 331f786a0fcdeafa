"""Nothing is asked of a store, and nothing of a folder is shown, before class, path and claim allow it.

Figures that were read while all of them allowed it stay, as long as nothing is said against the path.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.control import jumping
from tests.control.test_reconciler import KEY, Cluster, class_document, give_claim_to_another, living_table
from tests.planning.world import IMAGE, UID, instant, timeline
from tests.whole_status import whole

from hudi_jobs.contract import Location, Outcome, OwnerRecord
from hudi_operator.api.spec.table_class import ObjectStore
from hudi_operator.control.settings import Settings
from hudi_operator.control.snapshots.reader import fingerprint
from hudi_operator.control.tables import Reconciler
from hudi_operator.kube.keys import table_key
from hudi_operator.planning.model import TimelineSnapshot
from hudi_operator.runtime.controller import Trigger
from hudi_operator.timeline.rules.file_sizes import FileSummary

Document = dict[str, Any]
FOREIGN = "20260310115911111"
FOREIGN_SNAPSHOT = TimelineSnapshot(
    timeline=timeline(instant(FOREIGN)),
    checkpoint="2026-03-10T11:59:11Z victim-file.csv",
    files=FileSummary(
        commits=1,
        file_groups=1,
        base_files=7654,
        base_bytes=765432,
        small_base_files=0,
        log_files=0,
        log_bytes=0,
    ),
    owner=OwnerRecord.model_validate(
        {
            "version": 1,
            "operator": "cluster/hudi-operator",
            "tableUid": "victim-uid",
            "table": "victim/table",
            "run": "victim-run",
            "since": "2026-01-01T00:00:00Z",
            "renewedAt": "2026-01-01T00:00:00Z",
        }
    ),
)
SHOWN_BEFORE: Document = {
    "timeline": {
        "completedCommits": 7654,
        "instants": [{"time": FOREIGN, "action": "commit", "state": "COMPLETED"}],
        "files": {"commits": 1, "baseFiles": 7654, "smallFiles": 0, "averageBytes": 765432},
        "verifiedUpTo": FOREIGN,
        "problems": ["victim-file: odd"],
    },
    "owner": {"operator": "cluster/hudi-operator", "table": "victim/table", "run": "victim-run"},
    "services": {
        "ingestion": {"checkpoint": "victim-file.csv"},
        "compaction": {
            "counted": 7654,
            "threshold": 5,
            "blockedBy": "victim",
            "message": "7654 of 5 delta commits.",
            "pending": [
                {"time": FOREIGN, "action": "compaction", "state": "REQUESTED", "since": "2026-03-10T11:59:11Z"}
            ],
        },
    },
}
"""What an earlier release showed of a table that it was not allowed to look at."""


class Snapshots:
    """A store with somebody else's table; it counts what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.shown = FOREIGN_SNAPSHOT

    async def read(self, base: Location, _store: ObjectStore | None, **_questions: Any) -> TimelineSnapshot:
        self.asked.append(base.url)
        return self.shown

    async def fingerprint(self, base: Location, _store: ObjectStore | None, **_options: Any) -> int | None:
        self.asked.append(base.url)
        return fingerprint(self.shown.timeline) if self.shown.trouble is None else None


class Operator:
    """One life of the operator before a cluster and somebody else's table."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.snapshots = Snapshots()
        self._reconciler = Reconciler(
            kube=cluster,
            snapshots=self.snapshots,
            settings=Settings(spark_image=IMAGE),
        )

    async def reconcile_in_every_way(self) -> str:
        """Look at the table for every reason; return its status as text."""
        for trigger in (Trigger.EVENT, Trigger.POLL, Trigger.CHILD, Trigger.POLL):
            await self._reconciler.reconcile(KEY, trigger)
        return json.dumps(self.cluster.tables["flights"]["status"])

    async def reconcile(self, trigger: Trigger = Trigger.EVENT) -> float | None:
        return await self._reconciler.reconcile(KEY, trigger)


def no_class(cluster: Cluster) -> None:
    cluster.classes.clear()


def no_default_class(cluster: Cluster) -> None:
    del cluster.tables["flights"]["spec"]["tableClassName"]


def invalid_class(cluster: Cluster) -> None:
    cluster.classes["standard"]["spec"] = {"allowedBasePaths": 3}


def class_with_a_loose_prefix(cluster: Cluster) -> None:
    cluster.classes["standard"]["spec"]["allowedBasePaths"] = ["s3://lake/{namespace}", "s3a://lake/team-b/.."]


def class_of_others_by_name(cluster: Cluster) -> None:
    cluster.classes["standard"]["spec"]["allowedNamespaces"] = {"names": ["victim"]}


def class_of_others_by_label(cluster: Cluster) -> None:
    cluster.labels = {"team-a": {"env": "dev"}, "victim": {"env": "prod"}}
    cluster.classes["standard"]["spec"]["allowedNamespaces"] = {"selector": {"matchLabels": {"env": "prod"}}}


def labels_that_nobody_may_read(cluster: Cluster) -> None:
    cluster.namespaces_are_secret = True
    class_of_others_by_label(cluster)


def default_class_of_others(cluster: Cluster) -> None:
    class_of_others_by_name(cluster)
    cluster.classes["standard"]["metadata"]["annotations"] = {"hudi-operator.io/is-default-class": "true"}
    del cluster.tables["flights"]["spec"]["tableClassName"]


def whole_prefix(cluster: Cluster) -> None:
    cluster.tables["flights"]["spec"]["basePath"] = "s3a://lake/team-a"


def inside_of_a_table(cluster: Cluster) -> None:
    cluster.tables["flights"]["spec"]["basePath"] = "s3a://lake/team-a/flights/.hoodie/metadata"


def bucket_in_capitals(cluster: Cluster) -> None:
    cluster.tables["flights"]["spec"]["basePath"] = "s3a://LAKE/team-a/flights"


def path_outside(cluster: Cluster) -> None:
    cluster.classes["standard"] = class_document(allowedBasePaths=["s3://elsewhere/"])


def path_of_another_namespace(cluster: Cluster) -> None:
    cluster.tables["flights"]["spec"]["basePath"] = "s3a://lake/victim/table"


def path_spelt_oddly(cluster: Cluster) -> None:
    cluster.tables["flights"]["spec"]["basePath"] = "s3n://lake/team-a/%2e%2e/victim/table"


def claimed(cluster: Cluster, path: str = "s3a://lake/team-a/flights", uid: str = "another-uid") -> None:
    other = copy.deepcopy(cluster.tables["flights"])
    other["metadata"] |= {"name": "other", "uid": uid, "namespace": "victim"}
    other["spec"]["basePath"] = path
    cluster.tables["other"] = other
    cluster.claims["claim"] = {
        "metadata": {
            "name": "claim",
            "uid": "claim-uid",
            "labels": {"hudi-operator.io/claim": "true"},
            "annotations": {
                "hudi-operator.io/base-path": path.replace("s3a:", "s3:"),
                "hudi-operator.io/table": "victim/other",
            },
        },
        "spec": {"holderIdentity": uid},
    }


def claimed_around(cluster: Cluster) -> None:
    claimed(cluster, "s3a://lake/team-a")
    _by_hash(cluster)


def claimed_inside(cluster: Cluster) -> None:
    claimed(cluster, "s3a://lake/team-a/flights/inner")
    _by_hash(cluster)


def claimed_by_another(cluster: Cluster) -> None:
    claimed(cluster)
    _by_hash(cluster)


def _by_hash(cluster: Cluster) -> None:
    from hudi_operator.planning.policy.class_policy import path_hash  # noqa: PLC0415 - only here

    (claim,) = cluster.claims.values()
    path = claim["metadata"]["annotations"]["hudi-operator.io/base-path"]
    claim["metadata"]["name"] = f"table-{path_hash(path)}"
    cluster.claims = {claim["metadata"]["name"]: claim}


CLAIMS = (claimed_by_another, claimed_around, claimed_inside)

BLOCKS = (
    no_class,
    no_default_class,
    invalid_class,
    class_with_a_loose_prefix,
    class_of_others_by_name,
    class_of_others_by_label,
    labels_that_nobody_may_read,
    default_class_of_others,
    whole_prefix,
    inside_of_a_table,
    bucket_in_capitals,
    path_outside,
    path_of_another_namespace,
    path_spelt_oddly,
    *CLAIMS,
)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.__name__)
async def test_while_blocked_the_store_is_asked_for_nothing_and_what_was_shown_is_gone(
    block: Callable[[Cluster], None],
) -> None:
    cluster = living_table()
    cluster.tables["flights"]["status"] = copy.deepcopy(SHOWN_BEFORE)
    block(cluster)
    operator = Operator(cluster)
    text = await operator.reconcile_in_every_way()
    assert operator.snapshots.asked == []
    assert cluster.created == []
    for word in (FOREIGN, "7654", "765432", "victim-file", "victim-run", "victim/other", "victim-uid"):
        assert word not in text, word
    assert json.loads(text).get("timeline") is None
    assert "Stalled" in text


def test_a_label_that_is_taken_away_is_noticed_within_minutes_by_polls_alone() -> None:
    async def story() -> None:
        cluster = living_table()
        del cluster.tables["flights"]["spec"]["ingestion"]
        cluster.classes["standard"]["spec"]["allowedNamespaces"] = {"selector": {"matchLabels": {"env": "prod"}}}
        cluster.labels = {"team-a": {"env": "prod"}}
        operator = Operator(cluster)
        await operator.reconcile()
        assert FOREIGN in json.dumps(cluster.tables["flights"]["status"])
        cluster.labels = {"team-a": {"env": "dev"}}
        waited = 0.0
        while waited < 420:
            pause = await operator.reconcile(Trigger.POLL)
            assert pause is not None
            await asyncio.sleep(pause)
            waited += pause
        assert cluster.tables["flights"]["status"]["conditions"][0]["reason"] == "ClassNotAllowed"
        assert cluster.tables["flights"]["status"]["staleSince"]
        operator.snapshots.asked.clear()
        await operator.reconcile(Trigger.POLL)
        assert operator.snapshots.asked == []

    jumping.run(story)


async def test_a_claim_that_another_table_takes_over_hides_the_folder() -> None:
    cluster = living_table()
    operator = Operator(cluster)
    await operator.reconcile()
    give_claim_to_another(cluster)
    operator.snapshots.asked.clear()
    await operator.reconcile()
    assert operator.snapshots.asked == []


async def test_blocker_without_a_folder_hides_no_folder() -> None:
    cluster = living_table(sparkConf={"spark.jars": "x"})
    operator = Operator(cluster)
    await operator.reconcile()
    assert operator.snapshots.asked == ["s3a://lake/team-a/flights"]
    assert cluster.claims, "the folder is this table's own before it is read"
    assert cluster.created == []


async def test_a_table_with_another_blocker_is_not_looked_at_either_while_its_folder_is_claimed() -> None:
    cluster = living_table(sparkConf={"spark.jars": "x"})
    claimed_by_another(cluster)
    operator = Operator(cluster)
    await operator.reconcile()
    assert operator.snapshots.asked == []
    assert {"BasePathClaimed"} < {item["reason"] for item in cluster.tables["flights"]["status"]["conditions"]} | {""}


async def test_a_running_job_goes_on_while_its_table_is_blocked_and_takes_no_place_once_it_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = living_table()
    cluster.outcome = None
    operator = Operator(cluster)
    monkeypatch.setattr(operator.snapshots, "read", lambda *_, **__: _nothing())
    await operator.reconcile()
    cluster.kubelet()
    path_outside(cluster)
    await operator.reconcile()
    (job,) = whole(cluster.tables["flights"])["activeJobs"]
    assert job["name"] in cluster.jobs
    running = operator._reconciler._running
    other = table_key("team-a", "another")
    assert running.in_class("standard", without=other) == 1
    cluster.outcome = Outcome.SUCCEEDED
    cluster.kubelet()
    await operator.reconcile()
    assert running.in_class("standard", without=other) == 0


async def _nothing() -> TimelineSnapshot:
    return replace(FOREIGN_SNAPSHOT, timeline=None, owner=None, checkpoint=None)


async def test_runs_of_the_table_itself_stay_in_its_status() -> None:
    cluster = living_table()
    run = {"job": "flights-ingestion-1", "service": "Ingestion", "outcome": "Succeeded", "message": "Wrote 3 rows."}
    cluster.tables["flights"]["status"] = {
        **copy.deepcopy(SHOWN_BEFORE),
        "owner": {"operator": "cluster/hudi-operator", "table": "team-a/flights", "run": "flights-ingestion-1"},
        "history": [run],
        "leftBehind": ["20260310115900000"],
    }
    path_outside(cluster)
    operator = Operator(cluster)
    await operator.reconcile_in_every_way()
    status = whole(cluster.tables["flights"])
    assert [one["job"] for one in status["history"]] == ["flights-ingestion-1"]
    assert status["leftBehind"] == ["20260310115900000"]
    assert status["owner"]["run"] == "flights-ingestion-1"
    assert {name: value for name, value in status["timeline"].items() if value} == {"verifiedUpTo": FOREIGN}


@pytest.mark.parametrize(
    ("namespace", "names", "sentence"),
    [
        ("team-a", True, "is the folder of HudiTable team-a/other, or lies inside it or around it"),
        ("victim", False, "is the folder of a HudiTable of another namespace, or lies inside it or around it"),
        ("team-a-b", False, "of another namespace"),
        ("team-", False, "of another namespace"),
        ("", False, "of another namespace"),
    ],
)
async def test_a_claim_names_the_other_table_in_its_own_namespace_only(
    namespace: str, sentence: str, *, names: bool
) -> None:
    cluster = living_table()
    claimed_by_another(cluster)
    (claim,) = cluster.claims.values()
    claim["metadata"]["annotations"]["hudi-operator.io/table"] = f"{namespace}/other" if namespace else ""
    cluster.tables["other"]["metadata"]["namespace"] = namespace
    operator = Operator(cluster)
    await operator.reconcile()
    text = json.dumps([cluster.tables["flights"]["status"], cluster.events])
    assert sentence in text
    assert ("/other" in text) is names
    assert "another-uid" not in text
    assert UID not in text


@pytest.mark.parametrize("reported", [False, True], ids=["to be removed", "said to be removed"])
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.__name__)
async def test_the_end_of_a_table_while_blocked_asks_the_store_for_nothing_either(
    block: Callable[[Cluster], None], *, reported: bool
) -> None:
    cluster = living_table(deletionPolicy="Delete")
    metadata = cluster.tables["flights"]["metadata"]
    metadata |= {"deletionTimestamp": "2026-03-10T11:00:00Z", "finalizers": ["hudi-operator.io/claim"]}
    if reported:
        run = {"job": "flights-deletion-1", "service": "Deletion", "outcome": "Succeeded", "message": "Deleted."}
        cluster.tables["flights"]["status"] = {"history": [{**run, "finishedAt": "2026-03-10T11:00:00Z"}]}
    block(cluster)
    operator = Operator(cluster)
    for _ in range(3):
        await operator.reconcile()
    assert operator.snapshots.asked == []
    assert cluster.of_service("deletion") == []
    assert "flights" not in cluster.tables, "it still ends"
