"""The resources that name a table, as the observation holds them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from hudi_operator.api.resources import (
    OPERATIONS,
    SAVEPOINTS,
    HudiOperation,
    HudiSavepoint,
    InvalidObject,
    ObjectMetadata,
)

MOST_RELATED = 50
"""Objects of a further kind that are looked at with one table."""


@dataclass(frozen=True, kw_only=True)
class Related:
    """The resources that name a table.

    This version cannot read the specs of `unread_savepoints` and `unread_operations`: these resources exist, and still
    belong to the table. `others` are objects of further kinds, by the names of their kinds.
    """

    savepoints: tuple[HudiSavepoint, ...] = ()
    operations: tuple[HudiOperation, ...] = ()
    unread_savepoints: tuple[InvalidObject, ...] = ()
    unread_operations: tuple[InvalidObject, ...] = ()
    others: Mapping[str, tuple[object, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, by_kind: Mapping[str, Iterable[object]]) -> Self:
        """Return the resources of each kind by what they are."""
        savepoints, operations = tuple(by_kind.get(SAVEPOINTS, ())), tuple(by_kind.get(OPERATIONS, ()))
        return cls(
            savepoints=tuple(one for one in savepoints if isinstance(one, HudiSavepoint)),
            operations=tuple(one for one in operations if isinstance(one, HudiOperation)),
            unread_savepoints=tuple(one for one in savepoints if isinstance(one, InvalidObject)),
            unread_operations=tuple(one for one in operations if isinstance(one, InvalidObject)),
            others={kind: tuple(found) for kind, found in by_kind.items() if kind not in {SAVEPOINTS, OPERATIONS}},
        )

    @property
    def oldest_operations(self) -> tuple[HudiOperation, ...]:
        """The operations, the oldest first."""
        return tuple(sorted(self.operations, key=_age))

    def metadata_of_savepoints(self) -> Iterator[ObjectMetadata]:
        """Yield the metadata of all savepoints, also of those that cannot be read."""
        yield from (one.metadata for one in self.savepoints)
        yield from (one.metadata for one in self.unread_savepoints)

    def metadata_of_operations(self) -> Iterator[ObjectMetadata]:
        """Yield the metadata of all operations, also of those that cannot be read."""
        yield from (one.metadata for one in self.operations)
        yield from (one.metadata for one in self.unread_operations)


def _age(one: HudiOperation) -> tuple[str, str]:
    return one.metadata.creation_timestamp or "", one.metadata.name
