"""The lineage of a table: the tables that ingest from it, directly or through other tables."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from hudi_operator.api.resources import HudiTable, HudiTableClass
from hudi_operator.jobs.requests.erasure import Readers
from hudi_operator.planning.model.blockers import Blocker


@dataclass(frozen=True, kw_only=True, order=True)
class Reading:
    """A HudiTable with its own folder and the folder that it reads, both as canonical paths.

    Both come from the resource, which anybody may write. `holds` says whether the resource holds the claim on its
    folder.
    """

    namespace: str
    name: str
    path: str
    reads: str | None = None
    holds: bool = False


@dataclass(frozen=True, kw_only=True)
class Lineage:
    """The tables that hold copies of a table's records.

    `tables` are those of its namespace; a table follows the table that it reads. `elsewhere` are the tables of other
    namespaces and all tables behind them, as namespace/name. `circle` is the upstream table, if that reads this table
    again, directly or not. Messages hide its name if it is in another namespace.
    """

    tables: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    circle: Reading | None = None

    def told_in(self, namespace: str) -> Readers:
        """Return the readers as the root's namespace may see them: names of other namespaces are hidden."""
        own = tuple(name.partition("/")[2] for name in self.elsewhere if name.startswith(f"{namespace}/"))
        return Readers(names=(*self.tables, *own), elsewhere=len(self.elsewhere) - len(own))


@dataclass(frozen=True, kw_only=True)
class DerivedTable:
    """A table of the lineage with its class and blockers; `table` is None if the resource cannot be read."""

    name: str
    table: HudiTable | None = None
    table_class: HudiTableClass | None = None
    blockers: tuple[Blocker, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Derived:
    """The lineage of a table with its tables; `tables` is empty if the lineage is too large."""

    lineage: Lineage = field(default_factory=Lineage)
    tables: tuple[DerivedTable, ...] = ()


def lineage_of(root: Reading, all_tables: Iterable[Reading]) -> Lineage:
    """Return the tables that read the root, directly or through other tables.

    The tables of its namespace are followed first and alone, so that a resource of another namespace hides none of
    them. A table of another namespace is followed only if it holds the claim on its folder, because anybody can write a
    resource that names the folder.
    """
    readers = [one for one in all_tables if one.path != root.path]
    own = _followed((root,), (one for one in readers if one.namespace == root.namespace))
    outside = _followed((root, *own), set(readers).difference(own))
    circle = next((one for one in (root, *own, *outside) if one.path == root.reads and _lies_there(one, root)), None)
    return Lineage(
        tables=tuple(one.name for one in own),
        elsewhere=tuple(f"{one.namespace}/{one.name}" for one in outside),
        circle=circle,
    )


def _followed(starts: tuple[Reading, ...], tables: Iterable[Reading]) -> list[Reading]:
    """Return the tables that read the first tables, directly or not; a table follows the table that it reads."""
    readers: dict[str, list[Reading]] = {}
    for one in sorted(tables):
        if one.reads is not None:
            readers.setdefault(one.reads, []).append(one)
    found: list[Reading] = []
    waiting = deque(starts)
    while waiting:
        new = readers.pop(waiting.popleft().path, ())
        found.extend(new)
        waiting.extend(one for one in new if _lies_there(one, starts[0]))
    return found


def _lies_there(one: Reading, root: Reading) -> bool:
    """Whether the data in a table's folder is its own; a table of the root's namespace is trusted without a claim."""
    return one.holds or one.namespace == root.namespace


def direct_readers(root: Reading, all_tables: Iterable[Reading]) -> tuple[str, ...]:
    """Return the other tables of the namespace that read the root directly."""
    found = (one for one in all_tables if one.reads == root.path and one.namespace == root.namespace)
    return tuple(sorted(one.name for one in found if one.path != root.path))
