"""The tables that read another one, and those that read them, as far as the operator serves them."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from hudi_operator.api.resources import HudiTable, HudiTableClass
from hudi_operator.jobs.requests.erasure import Readers
from hudi_operator.planning.model.blockers import Blocker


@dataclass(frozen=True, kw_only=True, order=True)
class Reading:
    """One HudiTable: where it lies, and which folder it reads, both in the canonical form of paths.

    Both are what its resource says, which anybody may write; `holds` is whether it holds the claim on where it lies.
    """

    namespace: str
    name: str
    path: str
    reads: str | None = None
    holds: bool = False


@dataclass(frozen=True, kw_only=True)
class Lineage:
    """Which tables hold what one table holds.

    `tables` are those of its namespace, each after the one that it reads. `elsewhere` are those of other namespaces and
    all behind them, as namespace/name. `circle` is the table that this one reads, if it reads this one, over others or
    not; its name is not told in another namespace.
    """

    tables: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    circle: Reading | None = None

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

    Those of its namespace are followed first and alone, so that no resource of another namespace hides one of them.
    Where others are followed, a table of another namespace counts as what lies in a folder only if it holds the claim
    on it: else nothing is read from it, whatever its resource says.
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
    """Return which of some tables read the first ones, and which read these, each after the one that it reads."""
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
    """Whether a table counts as what lies in its folder: one of the same namespace as another always does."""
    return one.holds or one.namespace == root.namespace


def direct_readers(root: Reading, all_tables: Iterable[Reading]) -> tuple[str, ...]:
    """Return the other tables of the namespace that read a table themselves."""
    found = (one for one in all_tables if one.reads == root.path and one.namespace == root.namespace)
    return tuple(sorted(one.name for one in found if one.path != root.path))
