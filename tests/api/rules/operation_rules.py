"""What the API server accepts and refuses in a HudiOperation, without any help of the operator."""

from typing import Any

Document = dict[str, Any]

TIME = "20260310115900000"
TABLE = {"tableRef": {"name": "a"}}
ONE = "exactly one operation or decision must be set"
EITHER = "exactly one of instant and savepoint must be set"


def _service(service: str, **given: Any) -> Document:
    return {"spec": {**TABLE, "runService": {"service": service, **given}}}


def _partitions(names: list[str]) -> Document:
    plan = {"strategy": "SelectedPartitions", "partitions": {"names": names}}
    return _service("Clustering", clustering={"plan": plan})


def _repair(**steps: Any) -> Document:
    return {"spec": {**TABLE, "repair": steps}}


ACCEPTED: dict[str, Document] = {
    "the smallest restore": {},
    "a commit to the second": {"spec.restore": {"instant": "20260310115900"}},
    "a savepoint": {"spec.restore": {"savepoint": "before-the-move", "newerSavepoints": "Remove", "reingest": False}},
    "a rollback": {"spec": {**TABLE, "rollback": {"instant": TIME}}},
    "an erasure by keys": {"spec": {**TABLE, "erase": {"keys": [{"id": "4711"}], "releaseSavepoints": True}}},
    "an erasure from tables that read it too": {"spec": {**TABLE, "erase": {"keys": [{"id": "1"}], "cascade": True}}},
    "an erasure by a predicate of one table": {"spec": {**TABLE, "erase": {"where": "true", "cascade": False}}},
    "who asks": {"spec.requestedBy": "system:serviceaccount:team-a:privacy"},
    "an erasure by a file": {"spec": {**TABLE, "erase": {"keysFrom": {"path": "s3a://lake/keys.jsonl"}}}},
    "an erasure by a predicate": {"spec": {**TABLE, "erase": {"where": "id = '4711'"}}},
    "a service as the table declares it": {"spec": {**TABLE, "runService": {"service": "Compaction"}}},
    "a clustering of its own": _service("Clustering", clustering={"plan": {"maxGroups": 3}}),
    "a compaction of its own": _service("Compaction", compaction={"plan": {"strategy": "Unbounded"}}),
    "a clean of its own": _service("Cleaning", cleaning={"policy": "KeepLatestByHours", "retainHours": 2}),
    "an archival of its own": _service("Archival", archival={"minCommits": 5}),
    "a repair of an instant": _repair(rollbackInflight={"instant": TIME}),
    "another repair of an instant": _repair(removeCorruptPlan={"instant": TIME}),
    "a repair of the table": _repair(rebuildMetadataTable={}),
    "a repair of its index": _repair(rebuildRecordIndex={}),
    "a repair of its properties": _repair(restoreProperties={}),
    "a removal of orphans": _repair(removeOrphanFiles={}),
    "a removal of older orphans": _repair(removeOrphanFiles={"olderThan": "1h"}),
    "a removal of doubled rows": _repair(deduplicate={}),
    "everything else": {"spec.dryRun": True, "spec.acceptOtherWriters": True, "spec.ttlAfterFinished": "24h"},
    "an upgrade": {"spec": {**TABLE, "upgrade": {"tableVersion": 9}}},
    "a downgrade": {"spec": {**TABLE, "downgrade": {"tableVersion": 6}}},
    "approved from the beginning": {"spec.approved": True},
    "a decision to read everything again": {"spec": {**TABLE, "rescan": {}}},
    "a decision to read files again": {"spec": {**TABLE, "rescan": {"pathGlob": "*-10-*.csv"}, "dryRun": False}},
    "a decision to accept commits": {"spec": {**TABLE, "acceptCommits": {"upTo": TIME}}},
    "a decision to take a table over": {"spec": {**TABLE, "takeOver": {"owner": "cluster/hudi-operator"}}},
    "a decision to acknowledge bad rows": {"spec": {**TABLE, "acknowledgeBadRows": {}}},
}
REFUSED: dict[str, tuple[Document, str]] = {
    "no operation": ({"spec": TABLE}, ONE),
    "two operations": ({"spec.rollback": {"instant": TIME}}, ONE),
    "a decision without effect": (
        {"spec": {**TABLE, "rescan": {}, "dryRun": True}},
        "a decision has no dryRun: it writes nothing to the table",
    ),
    "an acknowledgement without effect": (
        {"spec": {**TABLE, "acknowledgeBadRows": {}, "dryRun": True}},
        "a decision has no dryRun: it writes nothing to the table",
    ),
    "no target": ({"spec.restore": {}}, EITHER),
    "two targets": ({"spec.restore": {"instant": TIME, "savepoint": "a"}}, EITHER),
    "a rollback of nothing": ({"spec": {**TABLE, "rollback": {}}}, "spec.rollback.instant: Required value"),
    "an upgrade to the oldest version": (
        {"spec": {**TABLE, "upgrade": {"tableVersion": 6}}},
        "spec.upgrade.tableVersion: Unsupported value: 6",
    ),
    "a downgrade to the newest version": (
        {"spec": {**TABLE, "downgrade": {"tableVersion": 9}}},
        "spec.downgrade.tableVersion: Unsupported value: 9",
    ),
    "an upgrade to a version between two": (
        {"spec": {**TABLE, "upgrade": {"tableVersion": 7}}},
        "spec.upgrade.tableVersion: Unsupported value: 7",
    ),
    "an erasure of nothing": ({"spec": {**TABLE, "erase": {}}}, "exactly one of keys, keysFrom and where must be set"),
    "an erasure by two": (
        {"spec": {**TABLE, "erase": {"keys": [{"id": "1"}], "where": "true"}}},
        "exactly one of keys, keysFrom and where must be set",
    ),
    "a predicate for several tables": (
        {"spec": {**TABLE, "erase": {"where": "true", "cascade": True}}},
        "a predicate may select other records",
    ),
    "nobody who asks": ({"spec.requestedBy": ""}, "should be at least 1 chars long"),
    "a key without a value": ({"spec": {**TABLE, "erase": {"keys": [{"id": ""}]}}}, "should be at least 1 chars long"),
    "too many keys": ({"spec": {**TABLE, "erase": {"keys": [{"id": "1"}] * 1_001}}}, "must have at most 1000 items"),
    "a file of keys elsewhere": (
        {"spec": {**TABLE, "erase": {"keysFrom": {"path": "ftp://lake/keys"}}}},
        "path must",
    ),
    "a digest that is none": (
        {"spec": {**TABLE, "erase": {"keysFrom": {"path": "s3a://lake/keys", "digest": "0F" * 32}}}},
        "keysFrom.digest: Invalid value",
    ),
    "an instant that leads elsewhere": (
        {"spec.restore": {"instant": "../../2026031011"}},
        "spec.restore.instant: Invalid value",
    ),
    "a savepoint of another namespace": (
        {"spec.restore": {"savepoint": "other/daily"}},
        "spec.restore.savepoint: Invalid value",
    ),
    "a table of another namespace": ({"spec.tableRef": {"name": "a", "namespace": "b"}}, "unknown field"),
    "a time that is over at once": ({"spec.ttlAfterFinished": "59s"}, "ttlAfterFinished must be at least 1m"),
    "no service of a table": (_service("Ingestion"), 'Unsupported value: "Ingestion"'),
    "a service of nothing": ({"spec": {**TABLE, "runService": {}}}, "spec.runService.service: Required value"),
    "a clean with the plan of another": (
        _service("Cleaning", clustering={"plan": {"maxGroups": 3}}),
        "clustering is only for service Clustering",
    ),
    "a clustering with the plan of another": (
        _service("Clustering", compaction={"plan": {}}),
        "compaction is only for service Compaction",
    ),
    "an archival with a retention": (
        _service("Archival", cleaning={"retainCommits": 1}),
        "cleaning is only for service Cleaning",
    ),
    "a compaction with commits": (
        _service("Compaction", archival={"minCommits": 1}),
        "archival is only for service Archival",
    ),
    "a clustering of nothing": (_service("Clustering", clustering={}), "plan or execution must be set"),
    "a clean with a bound of another policy": (
        _service("Cleaning", cleaning={"retainHours": 1}),
        "retainHours is only for policy KeepLatestByHours",
    ),
    "a clean that keeps nothing": (
        _service("Cleaning", cleaning={"retainCommits": 0}),
        "should be greater than or equal to 1",
    ),
    "a partition that leads elsewhere": (
        _partitions(["../other"]),
        "a partition must be a plain path inside the table",
    ),
    "very many partitions": (_partitions([f"day={number}" for number in range(21)]), "at most 20 partitions"),
    "a repair of nothing": (_repair(), "exactly one step of a repair must be set"),
    "two repairs": (
        _repair(rebuildMetadataTable={}, rebuildRecordIndex={}),
        "exactly one step of a repair must be set",
    ),
    "orphans that may be at work": (
        _repair(removeOrphanFiles={"olderThan": "59m"}),
        "olderThan must be at least 1h",
    ),
    "orphans of another century": (
        _repair(removeOrphanFiles={"olderThan": "87601h"}),
        "olderThan must be at most 87600h",
    ),
    "a removal of doubled rows with options": (_repair(deduplicate={"keep": "Oldest"}), "unknown field"),
    "a step that nobody knows": (_repair(deleteEverything={}), "unknown field"),
    "an instant of a repair that leads elsewhere": (
        _repair(removeCorruptPlan={"instant": "../../2026031011"}),
        "spec.repair.removeCorruptPlan.instant: Invalid value",
    ),
    "another way with savepoints": (
        {"spec.restore": {"instant": TIME, "newerSavepoints": "Keep"}},
        'Unsupported value: "Keep"',
    ),
}


def _fixed(field: str) -> str:
    return f"{field} cannot be changed; create another operation"


CHANGES_ACCEPTED: dict[str, tuple[Document, Document]] = {"a later approval": ({}, {"spec.approved": True})}
CHANGES_REFUSED: dict[str, tuple[Document, Document, str]] = {
    "the table": ({}, {"spec.tableRef.name": "other"}, _fixed("tableRef")),
    "the restore": ({}, {"spec.restore.reingest": False}, _fixed("restore")),
    "the keys": (
        {"spec": {**TABLE, "erase": {"keys": [{"id": "1"}]}}},
        {"spec.erase": {"keys": [{"id": "2"}]}},
        _fixed("erase"),
    ),
    "the kind": ({}, {"spec.restore": None, "spec.rollback": {"instant": TIME}}, _fixed("rollback")),
    "the service": (
        {"spec": {**TABLE, "runService": {"service": "Cleaning"}}},
        {"spec.runService.service": "Archival"},
        _fixed("runService"),
    ),
    "the repair": (_repair(rebuildMetadataTable={}), {"spec.repair.rebuildRecordIndex": {}}, _fixed("repair")),
    "an upgrade": (
        {"spec": {**TABLE, "upgrade": {"tableVersion": 8}}},
        {"spec.upgrade.tableVersion": 9},
        _fixed("upgrade"),
    ),
    "a downgrade": (
        {"spec": {**TABLE, "downgrade": {"tableVersion": 8}}},
        {"spec.downgrade.tableVersion": 6},
        _fixed("downgrade"),
    ),
    "what is read again": (
        {"spec": {**TABLE, "rescan": {}}},
        {"spec.rescan.pathGlob": "*.csv"},
        _fixed("rescan"),
    ),
    "what is accepted": (
        {"spec": {**TABLE, "acceptCommits": {"upTo": TIME}}},
        {"spec.acceptCommits.upTo": "20260310115900"},
        _fixed("acceptCommits"),
    ),
    "from whom a table is taken over": (
        {"spec": {**TABLE, "takeOver": {"owner": "a/b"}}},
        {"spec.takeOver.owner": "c/d"},
        _fixed("takeOver"),
    ),
    "an acknowledgement that becomes something else": (
        {"spec": {**TABLE, "acknowledgeBadRows": {}}},
        {"spec.acknowledgeBadRows": None, "spec.rescan": {}},
        _fixed("acknowledgeBadRows"),
    ),
    "a dry run": ({"spec.dryRun": True}, {"spec.dryRun": False}, _fixed("dryRun")),
    "the other writers": ({}, {"spec.acceptOtherWriters": True}, _fixed("acceptOtherWriters")),
    "who asks": ({"spec.requestedBy": "anna"}, {"spec.requestedBy": "somebody"}, _fixed("requestedBy")),
    "its time": ({}, {"spec.ttlAfterFinished": "1h"}, _fixed("ttlAfterFinished")),
    "its approval": ({"spec.approved": True}, {"spec.approved": False}, "approved cannot be revoked"),
    "its approval by leaving it out": ({"spec.approved": True}, {"spec.approved": None}, "approved cannot be revoked"),
}
