"""An in-memory index of all claims; overlap look-ups take time in proportion to a path's depth."""

from dataclasses import dataclass

from hudi_jobs.contract.table.location import folders_above


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim: Lease name and uid, canonical path, uid of the holding table, and the table's `namespace/name`."""

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
