"""Claims on base paths: what the index finds, and who gets a path."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.control.memory_cluster import MemoryCluster

from hudi_jobs.contract.table.location import canonical_path
from hudi_operator.api.resources import HudiTable, ObjectMetadata
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.control.claims import Claim, ClaimIndex, Claims
from hudi_operator.kube.api import Documents
from hudi_operator.kube.objects import POD, Kind
from hudi_operator.planning.model import BlockerReason

Document = dict[str, Any]
FOLDERS = st.lists(st.sampled_from(["a", "b", "ab"]), max_size=4).map("/".join)
PATHS = st.builds(
    lambda root, folder: canonical_path(root + folder), st.sampled_from(["s3://x/", "s3://y/", "/"]), FOLDERS
)


def claim(path: str, holder: str = "uid") -> Claim:
    return Claim(name=f"claim-{path}", uid="claim-uid", path=path, holder=holder, table="n/t")


def overlap(first: str, second: str) -> bool:
    one, other = (path if path.endswith("/") else f"{path}/" for path in (first, second))
    return one.startswith(other) or other.startswith(one)


@given(st.lists(PATHS, unique=True), st.sets(st.integers(0, 20)), PATHS)
def test_the_index_finds_exactly_the_claims_that_overlap(claimed: list[str], dropped: set[int], path: str) -> None:
    index = ClaimIndex()
    for one in claimed:
        index.add(claim(one))
    left = [one for number, one in enumerate(claimed) if number not in dropped]
    for one in set(claimed) - set(left):
        index.remove(one)
    assert {found.path for found in index.overlapping(path)} == {one for one in left if overlap(one, path)}
    assert len(index) == len(left)
    assert [found.path for found in index.of("uid")] == sorted(left)


def test_an_index_that_everything_has_left_keeps_nothing() -> None:
    index = ClaimIndex()
    for path in ("s3://lake/a/b", "s3://lake/a"):
        index.add(claim(path))
        index.add(claim(path, "another"))
    for path in ("s3://lake/a/b", "s3://lake/a", "s3://lake/never"):
        index.remove(path)
    assert (index._by_path, index._by_holder, index._below) == ({}, {}, {})


class Cluster(MemoryCluster):
    """It counts the listings of claims, and shows the pods that it is told to, whatever their labels."""

    def __init__(self) -> None:
        super().__init__()
        self.listings = 0
        self.running: list[Document] = []

    async def list_claims(self, label_selector: str) -> list[Document]:
        self.listings += 1
        return await super().list_claims(label_selector)

    async def list(self, kind: Kind, namespace: str | None = None, *, label_selector: str | None = None) -> Documents:
        return self.running if kind == POD else await super().list(kind, namespace, label_selector=label_selector)


class Setting:
    """A cluster, the claims in it, and tables that want some."""

    def __init__(self, cluster: Cluster | None = None) -> None:
        self.cluster = cluster or Cluster()
        self.claims = Claims(self.cluster)

    def table(self, name: str, path: str, uid: str | None = None) -> HudiTable:
        uid = uid or f"uid-{name}"
        self.cluster.tables[name] = {"metadata": {"uid": uid}}
        spec = HudiTableSpec.model_validate({"basePath": path, "type": "CopyOnWrite", "recordKey": ["id"]})
        return HudiTable(metadata=ObjectMetadata(name=name, namespace="n", uid=uid), spec=spec)

    async def gets(self, table: HudiTable) -> bool:
        blocker = await self.claims.ensure(table)
        assert blocker is None or blocker.reason is BlockerReason.PATH_CLAIMED
        return blocker is None


@pytest.mark.parametrize(
    "path", ["s3a://lake/t", "s3://lake//t/", "s3n://lake/x/../t", "s3a://lake/t/inner", "s3://lake"]
)
async def test_the_first_table_gets_a_path_and_overlapping_ones_wait_until_it_is_released(path: str) -> None:
    setting = Setting()
    first, second = setting.table("first", "s3a://lake/t"), setting.table("second", path)
    assert await setting.gets(first)
    assert setting.claims.remembers(first)
    assert not await setting.gets(second)
    assert not setting.claims.remembers(second)
    assert await setting.gets(first), "asking again changes nothing"
    await setting.claims.release(first.metadata)
    assert await setting.gets(second)
    assert await setting.claims.holds(second.metadata, path)


async def test_claims_are_listed_once_however_many_tables_there_are() -> None:
    setting = Setting()
    for number in range(50):
        assert await setting.gets(setting.table(f"t{number}", f"s3a://lake/t{number}"))
    assert setting.cluster.listings == 1


async def test_a_new_leader_finds_the_claims_of_the_old_one() -> None:
    before = Setting()
    held = before.table("held", "s3a://lake/t")
    await before.gets(held)
    after = Setting(before.cluster)
    await after.claims.load()
    assert after.claims.remembers(held)
    assert not await after.gets(after.table("late", "s3a://lake/t/inner"))


async def test_a_claim_of_a_namespace_that_can_be_read_no_more_is_not_taken_over() -> None:
    setting = Setting()
    held, late = setting.table("held", "s3a://lake/t"), setting.table("late", "s3a://lake/t/inner")
    await setting.gets(held)
    setting.cluster.refused = "n"
    assert not await setting.gets(late)


async def test_a_claim_whose_table_is_gone_or_another_is_taken_over_once_its_drivers_have_ended() -> None:
    setting = Setting()
    gone = setting.table("gone", "s3a://lake/t")
    await setting.gets(gone)
    setting.cluster.tables["gone"]["metadata"]["uid"] = "the uid of a table that was recreated"
    of_a_job = {"ownerReferences": [{"kind": "Job", "uid": "j", "controller": True}]}
    setting.cluster.running = [{"metadata": of_a_job, "status": {"phase": "Running"}}]
    late = setting.table("late", "s3a://lake/t/inner")
    assert not await setting.gets(late)
    nobodys = {"metadata": {}, "status": {"phase": "Running"}}
    setting.cluster.running = [{"metadata": of_a_job, "status": {"phase": "Succeeded"}}, nobodys]
    assert await setting.gets(late)
    assert not await setting.gets(gone), "its claim is gone"


async def test_a_claim_that_was_removed_by_hand_is_free_and_its_table_notices() -> None:
    setting = Setting()
    careless, quick = setting.table("careless", "s3a://lake/t"), setting.table("quick", "s3a://lake/t")
    await setting.gets(careless)
    setting.cluster.claims.clear()
    assert await setting.gets(quick)
    assert not setting.claims.remembers(careless)
    assert not await setting.gets(careless)


async def test_only_one_of_two_unaware_leaders_gets_the_path() -> None:
    one = Setting()
    other = Setting(one.cluster)
    await one.claims.load()
    await other.claims.load()
    first, second = one.table("first", "s3a://lake/t"), other.table("second", "s3a://lake/t")
    assert await one.gets(first)
    assert not await other.gets(second)
    assert await one.gets(first)


async def test_a_claim_that_says_nothing_of_its_table_is_left_to_a_person() -> None:
    setting = Setting()
    await setting.gets(setting.table("t", "s3a://lake/t"))
    (lease,) = setting.cluster.claims.values()
    lease["metadata"]["annotations"].pop("hudi-operator.io/table")
    late = setting.table("late", "s3a://lake/t")
    assert not await setting.gets(late)
