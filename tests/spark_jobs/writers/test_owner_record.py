"""The record of a table's owner on a store, whatever it holds and whoever writes it meanwhile. No JVM."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hudi_jobs.contract import (
    OWNER_FILE,
    CleaningTableTask,
    FailureReason,
    TableDefinition,
    TableOwner,
    decode_owner,
)
from hudi_jobs.lease.leases import VersionConflict
from hudi_jobs.lease.owner import require_ownership
from hudi_jobs.lease.stores import LocalFiles
from hudi_jobs.spark.failures import TaskFailed

HERE = TableOwner(operator="cluster-a/hudi-operator", table_uid="uid-a", table="team/flights")
RECORD = {
    "version": 1,
    "operator": HERE.operator,
    "tableUid": HERE.table_uid,
    "table": HERE.table,
    "run": "earlier",
    "since": "2026-01-01T00:00:00Z",
    "renewedAt": "2026-01-01T00:00:00Z",
}


def task(owner: TableOwner | None = HERE, take_over: str | None = None) -> CleaningTableTask:
    definition = {"name": "flights", "basePath": "/lake/flights", "type": "CopyOnWrite", "recordKey": ["id"]}
    return CleaningTableTask(
        id="t",
        table=TableDefinition.model_validate(definition),
        owner=owner,
        take_over=take_over,
    )


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(tmp_path / "table/.hudi-operator")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 5000,
        b"null",
        json.dumps(RECORD | {"version": 2}).encode(),
        json.dumps(RECORD | {"run": "x\nReady"}).encode(),
        json.dumps(RECORD | {"run": "x" * 1000}).encode(),
        json.dumps(RECORD | {"operator": ""}).encode(),
        json.dumps(RECORD | {"since": "yesterday"}).encode(),
        json.dumps({key: value for key, value in RECORD.items() if key != "operator"}).encode(),
        json.dumps(RECORD).encode() + b" " * 10_000,
    ],
)
def test_a_record_that_cannot_be_read_is_anothers(files: LocalFiles, content: bytes) -> None:
    files.write(OWNER_FILE, content, expected=None)
    before = files.read(OWNER_FILE)
    with pytest.raises(TaskFailed, match=r"remove the file owner\.json") as failed:
        require_ownership(files, task(take_over=HERE.operator), "run")
    assert failed.value.reason is FailureReason.OWNED_ELSEWHERE
    assert files.read(OWNER_FILE) == before


def test_the_record_says_since_when_the_table_is_ours_and_which_run_saw_that_last(files: LocalFiles) -> None:
    files.write(OWNER_FILE, json.dumps(RECORD | {"comment": "of a later release"}).encode(), expected=None)
    require_ownership(files, task(), "later")
    found = decode_owner(content_of(files))
    assert (found.run, found.since, found.renewed_at > found.since) == ("later", RECORD["since"], True)


@pytest.mark.parametrize(
    ("owner", "take_over", "allowed"),
    [
        (TableOwner(operator="b", table_uid="u", table="t"), None, False),
        (TableOwner(operator="b", table_uid="u", table="t"), "uid-a", False),
        (TableOwner(operator="b", table_uid="u", table="t"), "cluster-a", False),
        (TableOwner(operator="b", table_uid="u", table="t"), HERE.operator, True),
        (TableOwner(operator=HERE.operator, table_uid="u", table="t"), None, True),
        (None, HERE.operator, False),
    ],
)
def test_owners_that_may_go_on(
    files: LocalFiles, owner: TableOwner | None, take_over: str | None, allowed: bool
) -> None:
    files.write(OWNER_FILE, json.dumps(RECORD).encode(), expected=None)
    if allowed:
        require_ownership(files, task(owner, take_over), "run")
        assert decode_owner(content_of(files)).table_uid == "u"
        return
    with pytest.raises(TaskFailed, match=r"team/flights of the operator cluster-a/hudi-operator"):
        require_ownership(files, task(owner, take_over), "run")
    assert json.loads(content_of(files)) == RECORD


def test_a_run_for_nobody_takes_a_table_of_nobody(files: LocalFiles) -> None:
    require_ownership(files, task(None), "run")
    assert files.read(OWNER_FILE) is None


class Meanwhile:
    """The folder, with something that happens between a reconcile and the write after it."""

    def __init__(self, files: LocalFiles, happens: Callable[[], None]) -> None:
        self._files = files
        self._happens = happens

    def read(self, name: str) -> Any:
        found = self._files.read(name)
        self._happens()
        return found

    def write(self, name: str, content: bytes, *, expected: str | None) -> str:
        return self._files.write(name, content, expected=expected)


def test_second_of_two_simultaneous_operators_is_refused(files: LocalFiles) -> None:
    def other() -> None:
        if files.read(OWNER_FILE) is None:
            files.write(OWNER_FILE, json.dumps(RECORD | {"operator": "other"}).encode(), expected=None)

    with pytest.raises(TaskFailed, match="operator other"):
        require_ownership(Meanwhile(files, other), task(), "run")


def test_a_run_of_our_own_that_writes_the_record_at_the_same_time_blocks_nothing(files: LocalFiles) -> None:
    rest = ["service-1", "service-2"]

    def other() -> None:
        if rest:
            found = files.read(OWNER_FILE)
            content = json.dumps(RECORD | {"run": rest.pop()}).encode()
            files.write(OWNER_FILE, content, expected=None if found is None else found[1])

    require_ownership(Meanwhile(files, other), task(), "run")
    assert decode_owner(content_of(files)).run == "run"


def test_a_record_that_never_stands_still_is_not_waited_for_without_end(files: LocalFiles) -> None:
    class Restless(Meanwhile):
        def write(self, name: str, content: bytes, *, expected: str | None) -> str:  # noqa: ARG002 - refuses all
            raise VersionConflict

    with pytest.raises(TaskFailed, match="again and again"):
        require_ownership(Restless(files, lambda: None), task(), "run")


def content_of(files: LocalFiles) -> bytes:
    found = files.read(OWNER_FILE)
    assert found is not None
    return found[0]
