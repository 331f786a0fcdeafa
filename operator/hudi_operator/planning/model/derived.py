"""The tables that read another one, and those that read them, as far as the operator serves them."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from hudi_operator.api.resources import HudiTable, HudiTableClass
from hudi_operator.jobs.requests.erasure import Readers
from hudi_operator.planning.model.blockers import Blocker


@dataclass(frozen=True, kw_only=True, order=True)
class Reading:
    """One HudiTable: where it lies, and which folder it reads, both in the canonical form of paths."""

    namespace: str
    name: str
    path: str
    reads: str | None = None


@dataclass(frozen=True, kw_only=True)
class Lineage:
    """Which tables hold what one table holds.

    `tables` are those of its namespace, each after the one that it reads. `elsewhere` are those of other namespaces and
    all behind them, as namespace/name. `circle` are two tables that read one another, over others or not.
    """

    tables: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    circle: tuple[str, str] | None = None

    def told_in(self, namespace: str) -> Readers:
        """Return what may be said of the tables in the namespace of the root: names of other namespaces are not."""
        own = tuple(name.partition("/")[2] for name in self.elsewhere if name.startswith(f"{namespace}/"))
        return Readers(names=(*self.tables, *own), elsewhere=len(self.elsewhere) - len(own))


@dataclass(frozen=True, kw_only=True)
class DerivedTable:
    """A table of the lineage, with its class and what stands in its way; without `table` it cannot be read."""

    name: str
    table: HudiTable | None = None
    table_class: HudiTableClass | None = None
    blockers: tuple[Blocker, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Derived:
    """The lineage of a table, and each of its tables; of very many none."""

    lineage: Lineage = field(default_factory=Lineage)
    tables: tuple[DerivedTable, ...] = ()


def lineage_of(root: Reading, all_tables: Iterable[Reading]) -> Lineage:
    """Return which tables read one, and which read these.

    Each reads one table at most, so one that comes twice is the root, or reads a folder that two resources name.
    """
    readers: dict[str, list[Reading]] = {}
    for one in sorted(all_tables):
        if one.reads is not None:
            readers.setdefault(one.reads, []).append(one)
    tables: list[str] = []
    elsewhere: list[str] = []
    circle: tuple[str, str] | None = None
    waiting = deque([(root, False)])
    while waiting:
        current, is_outside = waiting.popleft()
        for one in readers.pop(current.path, ()):
            if one.path == root.path:
                circle = circle or ((root.name, current.name) if _is_same(one, root) else None)
                continue
            outside = is_outside or one.namespace != root.namespace
            if outside:
                elsewhere.append(f"{one.namespace}/{one.name}")
            else:
                tables.append(one.name)
            waiting.append((one, outside))
    return Lineage(tables=tuple(tables), elsewhere=tuple(elsewhere), circle=circle)


def _is_same(one: Reading, other: Reading) -> bool:
    return (one.namespace, one.name) == (other.namespace, other.name)


def direct_readers(root: Reading, all_tables: Iterable[Reading]) -> tuple[str, ...]:
    """Return the other tables of the namespace that read a table themselves."""
    found = (one for one in all_tables if one.reads == root.path and one.namespace == root.namespace)
    return tuple(sorted(one.name for one in found if one.path != root.path))
