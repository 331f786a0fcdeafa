"""Ownership of base paths and catalog entries: a Lease for each, named by the hash of its spelling, and an index.

Two resources that write to the same folder destroy the table, so the claim is created atomically before any other
action, and nested paths are refused as well. A table claims all its catalog entries or none. Only the leader writes
claims: it lists them once, keeps an index, and reads a claim live before relying on it.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import structlog

from hudi_jobs.contract.table.location import canonical_path, covers, folders_above
from hudi_operator.api.resources import HudiTable, ObjectMetadata
from hudi_operator.catalogs.registry import is_entry
from hudi_operator.control.jobs.pod_view import pod_has_ended
from hudi_operator.control.jobs.running import controller_of
from hudi_operator.jobs.names import MANAGED_BY, MANAGED_BY_LABEL, TABLE_UID_LABEL, table_selector
from hudi_operator.kube.api import KubernetesApi
from hudi_operator.kube.errors import AlreadyExists, ApiUnavailable, Conflict, Forbidden
from hudi_operator.kube.keys import TableKey, table_key
from hudi_operator.kube.objects import POD
from hudi_operator.planning.model import Blocker, BlockerReason
from hudi_operator.planning.policy.class_policy import path_hash


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim: Lease name and uid, canonical path or entry, uid of the holding table, and its `namespace/name`."""

    name: str
    uid: str
    path: str
    holder: str
    table: str


class ClaimIndex:
    """Claims by path and holder. Read a claim itself before acting on the index."""

    def __init__(self) -> None:
        self._by_path: dict[str, Claim] = {}
        self._by_holder: dict[str, set[str]] = {}  # uid of a table -> its paths
        self._below: dict[str, set[str]] = {}  # a folder -> the claimed paths inside it

    def __len__(self) -> int:
        return len(self._by_path)

    def add(self, claim: Claim) -> None:
        """Remember a claim, replacing an earlier claim on the same path."""
        self.remove(claim.path)
        self._by_path[claim.path] = claim
        self._by_holder.setdefault(claim.holder, set()).add(claim.path)
        for folder in folders_above(claim.path):
            self._below.setdefault(folder, set()).add(claim.path)

    def remove(self, path: str) -> None:
        """Forget the claim on a path."""
        claim = self._by_path.pop(path, None)
        if claim is None:
            return
        _discard(self._by_holder, claim.holder, path)
        for folder in folders_above(path):
            _discard(self._below, folder, path)

    def at(self, path: str) -> Claim | None:
        """Return the claim on exactly this path, or None."""
        return self._by_path.get(path)

    def of(self, holder: str) -> tuple[Claim, ...]:
        """Return the claims of a table."""
        return tuple(self._by_path[path] for path in sorted(self._by_holder.get(holder, ())))

    def overlapping(self, path: str) -> tuple[Claim, ...]:
        """Return the claims on this path, its parents and its subfolders."""
        above = [folder for folder in folders_above(path) if folder in self._by_path]
        same = [path] if path in self._by_path else []
        return tuple(self._by_path[one] for one in (*above, *same, *sorted(self._below.get(path, ()))))


def _discard(sets: dict[str, set[str]], key: str, path: str) -> None:
    sets[key].discard(path)
    if not sets[key]:
        del sets[key]


PATH_ANNOTATION = "hudi-operator.io/base-path"
"""On claims: the claimed base path, in its canonical spelling."""

ENTRY_ANNOTATION = "hudi-operator.io/catalog-entry"
"""On claims: the claimed catalog entry, in its canonical spelling."""

TABLE_ANNOTATION = "hudi-operator.io/table"
"""On claims: the holding table, as namespace/name."""

_log = structlog.get_logger(__name__)

_CLAIM_LABEL = "hudi-operator.io/claim"
"""On claims: `"true"`."""


class Claims:
    """Creates, checks and releases the claims on base paths and catalog entries."""

    def __init__(self, kube: KubernetesApi) -> None:
        self._kube = kube
        self._index = ClaimIndex()
        self._loaded = False
        self._loading = asyncio.Lock()
        self._claiming: dict[str, asyncio.Event] = {}  # paths that are being claimed, and the end of that

    async def load(self) -> None:
        """List the existing claims, once."""
        if self._loaded:
            return
        async with self._loading:
            if self._loaded:
                return
            for claim in await list_claims(self._kube):
                self._index.add(claim)
            self._loaded = True

    def remembers(self, table: HudiTable) -> bool:
        """Whether the table held the claim on its base path when the claim was last read or written."""
        claim = self._index.at(canonical_path(table.spec.base_path))
        return claim is not None and claim.holder == table.metadata.uid

    async def ensure(self, table: HudiTable) -> Blocker | None:
        """Claim a table's base path, or confirm its claim; return the blocker if another table is in the way."""
        path = canonical_path(table.spec.base_path)
        await self.load()
        async with self._alone_at(path):  # two nested paths must not both find no overlap
            rival = await self._claim(table.metadata, path)
        if rival is None:
            return None
        _log.info("base path is claimed by another table", table=str(_key(table)), path=path, holder=rival)
        return _claimed(table, rival)

    async def holds(self, metadata: ObjectMetadata, base_path: str) -> bool:
        """Whether the table holds the claim on its base path now, read live."""
        claim = await self._refresh(canonical_path(base_path))
        return claim is not None and claim.holder == metadata.uid

    async def is_taken(self, metadata: ObjectMetadata, base_path: str) -> bool:
        """Whether another table claims this base path, a parent or a subfolder, read live."""
        path = canonical_path(base_path)
        await self.load()
        known = {path, *(claim.path for claim in self._index.overlapping(path))}
        claims = [await self._refresh(one) for one in sorted(known)]
        return any(claim is not None and claim.holder != metadata.uid for claim in claims)

    async def ensure_entries(self, table: HudiTable, entries: Sequence[str], *, live: bool) -> str | None:
        """Claim all of a table's catalog entries, and release its others; return why the table may not have them.

        Without `live`, entries that the table held when its claims were last read or written cost no call.
        """
        await self.load()
        metadata = table.metadata
        held = {claim.path for claim in self._index.of(metadata.uid) if is_entry(claim.path)}
        if not live and held == set(entries):
            return None
        for entry in entries:
            async with self._alone_at(entry):
                rival = await self._claim(metadata, entry)
            if rival is not None:
                await self._release_all(metadata, {*held, *entries})
                _log.info("entry is claimed by another table", table=str(_key(table)), entry=entry, holder=rival)
                return _entry_taken(table, entry, rival)
        await self._release_all(metadata, held.difference(entries))
        return None

    async def _release_all(self, metadata: ObjectMetadata, places: Iterable[str]) -> None:
        """Release the claims on these places that are the table's own."""
        for place in sorted(places):
            claim = await self._refresh(place)
            if claim is not None and claim.holder == metadata.uid:
                await self._kube.delete_claim(claim.name, uid=claim.uid)
                self._index.remove(place)

    async def release(self, metadata: ObjectMetadata) -> None:
        """Release all claims of a table."""
        for claim in await self._kube.list_claims(f"{TABLE_UID_LABEL}={metadata.uid}"):
            await self._kube.delete_claim(claim["metadata"]["name"], uid=claim["metadata"]["uid"])
        for held in self._index.of(metadata.uid):
            self._index.remove(held.path)

    @asynccontextmanager
    async def _alone_at(self, path: str) -> AsyncIterator[None]:
        """Wait for the end of claims on this path, its parents and its subfolders; no table waits for other paths."""
        while (other := next((end for one, end in self._claiming.items() if _overlap(one, path)), None)) is not None:
            await other.wait()
        end = self._claiming[path] = asyncio.Event()
        try:
            yield
        finally:
            del self._claiming[path]
            end.set()

    async def _claim(self, metadata: ObjectMetadata, path: str) -> str | None:
        """Return the table with an overlapping claim, or None once the path belongs to this table."""
        for known in self._index.overlapping(path):
            if known.holder == metadata.uid and known.path != path:
                continue
            claim = await self._refresh(known.path)
            if claim is None:
                continue
            if claim.holder == metadata.uid:
                return None  # the claim is older, so no overlapping claim can have been created since
            if await self._may_have_holder(claim):
                return claim.table
            # Its table is gone without a release, for example because its finalizer was removed by hand.
            await self._kube.delete_claim(claim.name, uid=claim.uid)
            self._index.remove(claim.path)
        return await self._create(metadata, path)

    async def _create(self, metadata: ObjectMetadata, path: str) -> str | None:
        try:
            created = await self._kube.create_claim(
                _claim_name(path),
                holder=metadata.uid,
                labels={MANAGED_BY_LABEL: MANAGED_BY, _CLAIM_LABEL: "true", TABLE_UID_LABEL: metadata.uid},
                annotations={
                    ENTRY_ANNOTATION if is_entry(path) else PATH_ANNOTATION: path,
                    TABLE_ANNOTATION: f"{metadata.namespace}/{metadata.name}",
                },
            )
        except AlreadyExists:
            claim = await self._refresh(path)
            if claim is None:
                raise Conflict(f"the claim on {path} comes and goes") from None
            return None if claim.holder == metadata.uid else claim.table
        self._index.add(_read(created))
        return None

    async def _refresh(self, path: str) -> Claim | None:
        """Read the claim on a path, and update the index."""
        document = await self._kube.get_claim(_claim_name(path))
        if document is None:
            self._index.remove(path)
            return None
        claim = _read(document, path)
        self._index.add(claim)
        return claim

    async def _may_have_holder(self, claim: Claim) -> bool:
        try:
            return await self._holder_exists(claim)
        except Forbidden:
            return True  # the namespace is no longer served: unknown, so a person has to look

    async def _holder_exists(self, claim: Claim) -> bool:
        namespace, _, name = claim.table.partition("/")
        if not namespace or not name:
            return True  # the holder is unknown: a person has to look
        table = await self._kube.get(table_key(namespace, name))
        if table is not None and table["metadata"]["uid"] == claim.holder:
            return True
        # A table without its finalizer, removed by hand, may have left a driver that still writes or deletes.
        pods = await self._kube.list(POD, namespace, label_selector=table_selector(claim.holder))
        return not all(pod_has_ended(pod) for pod in pods if controller_of(pod) is not None)


async def list_claims(kube: KubernetesApi) -> tuple[Claim, ...]:
    """Return all existing claims."""
    return tuple(_read(claim) for claim in await kube.list_claims(f"{_CLAIM_LABEL}=true"))


def _overlap(one: str, other: str) -> bool:
    return covers(one, other) or covers(other, one)


def _key(table: HudiTable) -> TableKey:
    return table_key(table.metadata.namespace, table.metadata.name)


def _claimed(table: HudiTable, rival: str) -> Blocker:
    """Return the blocker."""
    whose, way_out = _whose(table, rival), _way_out(table, rival, "delete one of the two")
    return Blocker(
        reason=BlockerReason.PATH_CLAIMED,
        message=f"basePath {table.spec.base_path} is the folder of {whose}, or lies inside it or around it: give this "
        f"table its own folder, {way_out}.",
    )


def _entry_taken(table: HudiTable, entry: str, rival: str) -> str:
    database, _, name = entry.rpartition("/")
    shown = f"{database.rpartition('/')[2]}.{name}"
    way_out = _way_out(table, rival, f"remove spec.catalog from {rival} and drop its entry in the catalog")
    return (
        f"The catalog entry {shown} is that of {_whose(table, rival)}, so no run syncs the catalog of this table: "
        f"remove spec.catalog and then declare another name, {way_out}."
    )


def _whose(table: HudiTable, rival: str) -> str:
    return f"HudiTable {rival}" if _is_neighbour(table, rival) else "a HudiTable of another namespace"


def _way_out(table: HudiTable, rival: str, of_neighbours: str) -> str:
    if _is_neighbour(table, rival):
        return f"or {of_neighbours}"
    return "or ask the platform team: the operator's log names it"


def _is_neighbour(table: HudiTable, rival: str) -> bool:
    """Tell whether another table's name may be shown: it is in the namespace of the table."""
    namespace, _, name = rival.partition("/")
    return namespace == table.metadata.namespace and bool(name)


def _claim_name(path: str) -> str:
    return f"table-{path_hash(path)}"


def _read(claim: Mapping[str, Any], path: str | None = None) -> Claim:
    annotations = claim["metadata"].get("annotations") or {}
    return Claim(
        name=str(claim["metadata"]["name"]),
        uid=str(claim["metadata"].get("uid", "")),
        path=path or str(annotations.get(PATH_ANNOTATION, annotations.get(ENTRY_ANNOTATION, ""))),
        holder=str((claim.get("spec") or {}).get("holderIdentity", "")),
        table=str(annotations.get(TABLE_ANNOTATION, "")),
    )


class OperatorIdentity:
    """The operator's identity, read from the cluster once; the same for all replicas and restarts."""

    def __init__(self, kube: KubernetesApi, *, namespace: str, given: str = "") -> None:
        self._kube = kube
        self._namespace = namespace
        self._identity = given

    async def get(self) -> str:
        """Return the configured identity, else the cluster's uid and the operator's namespace."""
        if not self._identity:
            cluster = await self._kube.cluster_uid()
            if cluster is None:
                raise ApiUnavailable("the cluster has no namespace kube-system: set HUDI_OPERATOR_IDENTITY")
            self._identity = f"{cluster}/{self._namespace}"
        return self._identity
