"""Who owns which base path: one Lease per path, named by the hash of its one canonical spelling.

Two resources that write to one folder destroy the table, so the claim is created atomically before anything else is
done, and nested paths are refused as well.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from hudi_operator.api.resources import HudiTable, ObjectMetadata
from hudi_operator.control.keys import TableKey
from hudi_operator.jobs.names import MANAGED_BY, MANAGED_BY_LABEL, TABLE_UID_LABEL
from hudi_operator.kube.client import KubernetesClient
from hudi_operator.kube.errors import AlreadyExists
from hudi_operator.planning.model import Blocked, Obstacle
from hudi_operator.planning.paths import canonical_path, overlap, path_hash

PATH_ANNOTATION = "hudi-operator.io/base-path"
TABLE_ANNOTATION = "hudi-operator.io/table"
_CLAIM_LABEL = "hudi-operator.io/claim"


class Claims:
    """The claims on base paths."""

    def __init__(self, kube: KubernetesClient) -> None:
        self._kube = kube
        self._held: dict[str, str] = {}  # table uid -> canonical path
        self._one_at_a_time = asyncio.Lock()

    async def ensure(self, table: HudiTable) -> Obstacle | None:
        """Claim a table's base path; return what stands in the way when another table has it."""
        path = canonical_path(table.spec.base_path)
        uid = table.metadata.uid
        if self._held.get(uid) == path:
            return None
        async with self._one_at_a_time:  # two nested paths must not both find no overlap
            rival = await self._claim(table.metadata, path)
        if rival is None:
            self._held[uid] = path
            return None
        return Obstacle(
            reason=Blocked.PATH_CLAIMED,
            message=f"basePath {table.spec.base_path} is the folder of HudiTable {rival}, or one lies in the other: "
            "give this table a folder of its own, or delete one of the two.",
        )

    async def release(self, metadata: ObjectMetadata) -> None:
        """Give up all claims of a table."""
        for claim in await self._kube.list_claims(f"{TABLE_UID_LABEL}={metadata.uid}"):
            await self._kube.delete_claim(claim["metadata"]["name"], uid=claim["metadata"]["uid"])
        self._held.pop(metadata.uid, None)

    async def _claim(self, metadata: ObjectMetadata, path: str) -> str | None:
        name = f"table-{path_hash(path)}"
        for claim in await self._kube.list_claims(f"{_CLAIM_LABEL}=true"):
            if not overlap(path, _annotation(claim, PATH_ANNOTATION)):
                continue
            if _holder(claim) == metadata.uid:
                continue
            if await self._holder_exists(claim):
                return _annotation(claim, TABLE_ANNOTATION)
            # Its table went without releasing it, for example because its finalizer was removed by hand.
            await self._kube.delete_claim(claim["metadata"]["name"], uid=claim["metadata"]["uid"])
        try:
            await self._kube.create_claim(
                name,
                holder=metadata.uid,
                labels={MANAGED_BY_LABEL: MANAGED_BY, _CLAIM_LABEL: "true", TABLE_UID_LABEL: metadata.uid},
                annotations={PATH_ANNOTATION: path, TABLE_ANNOTATION: f"{metadata.namespace}/{metadata.name}"},
            )
        except AlreadyExists:
            claim = await self._kube.get_claim(name) or {}
            if _holder(claim) != metadata.uid:
                return _annotation(claim, TABLE_ANNOTATION) or "unknown"
        return None

    async def _holder_exists(self, claim: Mapping[str, Any]) -> bool:
        namespace, _, name = _annotation(claim, TABLE_ANNOTATION).partition("/")
        table = await self._kube.get_table(*TableKey(namespace, name))
        return table is not None and table["metadata"]["uid"] == _holder(claim)


def _annotation(claim: Mapping[str, Any], key: str) -> str:
    annotations = claim.get("metadata", {}).get("annotations") or {}
    return str(annotations.get(key, ""))


def _holder(claim: Mapping[str, Any]) -> str:
    return str((claim.get("spec") or {}).get("holderIdentity", ""))
