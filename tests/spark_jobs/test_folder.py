"""Which paths lie inside a table: by their texts alone, in every spelling that Hadoop takes."""

from __future__ import annotations

from typing import Any

import pytest

from hudi_jobs.spark.filesystem import Folder
from hudi_jobs.table_services.plans import files_of

S3 = "s3a://lake/team-a/t"
INSIDE = [
    (S3, "p=1", "x.parquet"),
    (S3, "", "x.parquet"),
    (S3, "p=1/q=2", f"{S3}/p=1/q=2/x.parquet"),
    (S3, "p=1", "s3://lake/team-a/t/p=1/x.parquet"),
    (S3 + "/", "p=1", f"{S3}//p=1/./x.parquet"),
    (S3, "p=a//b", f"{S3}/p=a/b/x.parquet"),
    (S3, "p=1", ".f_1.log.1_0-1-1"),
    (S3, "p=..", f"{S3}/p=../x.parquet"),
    (S3, "p=a%2F..%2Fb", f"{S3}/p=a%2F..%2Fb/x.parquet"),
    ("/tmp/t", "p=1", "file:/tmp/t/p=1/x.parquet"),
    ("file:///tmp/t", "p=1", "/tmp/t/p=1/x.parquet"),
    ("file:/tmp/t", "p=1", "file:///tmp/t/p=1/x.parquet"),
    (f"{S3}/.hoodie/metadata", "files", f"{S3}/.hoodie/metadata/files/x.hfile"),
    (S3, "p=1/q=12:00", f"{S3}/p=1/q=12:00/x.parquet"),
]
OUTSIDE = [
    (S3, "p=1", "s3a://lake/team-b/t/p=1/x.parquet"),
    (S3, "p=1", "s3a://lake/team-a/tt/p=1/x.parquet"),
    (S3, "p=1", "s3a://other/team-a/t/p=1/x.parquet"),
    (S3, "p=1", "s3a://LAKE/team-a/t/p=1/x.parquet"),
    (S3, "p=1", "s3a://user@lake/team-a/t/p=1/x.parquet"),
    (S3, "p=1", "hdfs://lake/team-a/t/p=1/x.parquet"),
    (S3, "p=1", "file:/team-a/t/p=1/x.parquet"),
    (S3, "p=1", "/team-a/t/p=1/x.parquet"),
    (S3, "p=1", f"{S3}/p=2/x.parquet"),
    (S3, "p=1", f"{S3}/p=1"),
    (S3, "p=1", f"{S3}/p=1/../x.parquet"),
    (S3, "p=1", f"{S3}/p=1/a/../x.parquet"),
    (S3, "p=1", f"{S3}/../t/p=1/x.parquet"),
    (S3, "p=1", "../x.parquet"),
    (S3, "p=1", ".."),
    (S3, "p=1", "."),
    (S3, "p=1", "a/../../x"),
    (S3, "p=1", ""),
    (S3, "p=1", "x\0"),
    (S3, "..", "x.parquet"),
    (S3, "../../team-b/t/p=1", "x.parquet"),
    (S3, "p=1/../..", "x.parquet"),
    (S3, "/team-b", "x.parquet"),
    (S3, "s3a://lake/team-b/t", "x.parquet"),
    (S3, "file:/etc", "passwd"),
    (S3, ".hoodie", "hoodie.properties"),
    (S3, "./.hoodie/timeline", "x.commit"),
    (S3, ".hudi-operator", "owner.json"),
    (S3, "", f"{S3}/.."),
    (S3, "", S3),
    (S3, "", "s3a:lake/team-a/t/x"),
    (S3, "", "s3a:///team-a/t/x"),
]


@pytest.mark.parametrize(("base", "partition", "path"), INSIDE)
def test_a_file_in_the_folder_of_its_partition_is_inside(base: str, partition: str, path: str) -> None:
    assert Folder(base).holds(partition, path)


@pytest.mark.parametrize(("base", "partition", "path"), OUTSIDE)
def test_a_file_anywhere_else_is_outside_in_every_spelling(base: str, partition: str, path: str) -> None:
    assert not Folder(base).holds(partition, path)


_SLICE = ("partitionPath", "fileId", "dataFilePath", "deltaFilePaths", "bootstrapFilePath")
_REQUEST = ("partitionPath", "fileId", "filesToBeDeleted", "logBlocksToBeDeleted")
_CLEAN = ("filesToBeDeletedPerPartition", "filePathsToBeDeletedPerPartition", "partitionsToBeDeleted")


def whole(kind: str, plan: dict[str, Any]) -> dict[str, Any]:
    """Give a plan all the fields that Hudi's have."""
    if kind == "clean":
        return dict.fromkeys(_CLEAN) | plan
    if kind == "rollback":
        return {"RollbackRequests": [dict.fromkeys(_REQUEST) | one for one in plan["RollbackRequests"]]}
    if kind == "clustering":
        groups = plan["inputGroups"]
        return {
            "inputGroups": [{"slices": [dict.fromkeys(_SLICE) | one for one in group["slices"]]} for group in groups]
        }
    return {"operations": [dict.fromkeys(_SLICE) | one for one in plan["operations"] or ()]}


@pytest.mark.parametrize("kind", ["compaction", "log compaction", "clustering", "clean", "rollback"])
def test_a_plan_without_a_field_that_is_looked_at_is_not_taken_for_an_empty_one(kind: str) -> None:
    with pytest.raises(KeyError):
        list(files_of(kind, {"version": 1}))


@pytest.mark.parametrize(
    ("kind", "plan"),
    [
        ("compaction", {"operations": [{"partitionPath": "../b", "fileId": "f", "dataFilePath": None}]}),
        ("compaction", {"operations": [{"partitionPath": "p", "dataFilePath": "../b/x.parquet"}]}),
        ("compaction", {"operations": [{"partitionPath": "p", "deltaFilePaths": ["a.log", "/b/x.log"]}]}),
        ("log compaction", {"operations": [{"partitionPath": "p", "bootstrapFilePath": "s3a://lake/b/x"}]}),
        ("clustering", {"inputGroups": [{"slices": [{"partitionPath": "p", "dataFilePath": "s3a://lake/b/x"}]}]}),
        ("clustering", {"inputGroups": [{"slices": []}, {"slices": [{"partitionPath": "p/../..", "fileId": "f"}]}]}),
        ("clean", {"filesToBeDeletedPerPartition": {"..": ["x"]}}),
        ("clean", {"filesToBeDeletedPerPartition": {"p": ["../b/x"]}}),
        ("clean", {"filePathsToBeDeletedPerPartition": {"p": [{"filePath": "s3a://lake/b/x"}]}}),
        ("clean", {"partitionsToBeDeleted": ["../b"]}),
        ("clean", {"partitionsToBeDeleted": [""]}),
        ("clean", {"partitionsToBeDeleted": ["."]}),
        ("clean", {"partitionsToBeDeleted": [".hoodie"]}),
        ("rollback", {"RollbackRequests": [{"partitionPath": "p", "filesToBeDeleted": ["s3a://lake/b/x"]}]}),
        ("rollback", {"RollbackRequests": [{"partitionPath": "p", "logBlocksToBeDeleted": {"s3a://lake/b/x": 1}}]}),
        ("rollback", {"RollbackRequests": [{"partitionPath": "../b", "fileId": "f"}]}),
    ],
)
def test_every_path_of_every_plan_is_looked_at(kind: str, plan: dict[str, object]) -> None:
    assert Folder(S3).strangers(files_of(kind, whole(kind, plan)))


@pytest.mark.parametrize(
    ("kind", "plan"),
    [
        ("compaction", {"operations": None}),
        (
            "compaction",
            {"operations": [{"partitionPath": "p", "fileId": "f", "dataFilePath": "x", "deltaFilePaths": []}]},
        ),
        ("clustering", {"inputGroups": [{"slices": [{"partitionPath": "", "dataFilePath": f"{S3}/x"}]}]}),
        (
            "clean",
            {"filePathsToBeDeletedPerPartition": {"p": [{"filePath": f"{S3}/p/x"}]}, "partitionsToBeDeleted": ["p"]},
        ),
        ("rollback", {"RollbackRequests": [{"partitionPath": "p", "fileId": "", "filesToBeDeleted": [f"{S3}/p/x"]}]}),
    ],
)
def test_a_plan_of_the_tables_own_files_is_inside(kind: str, plan: dict[str, object]) -> None:
    assert Folder(S3).strangers(files_of(kind, whole(kind, plan))) == []
