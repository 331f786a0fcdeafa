"""The reasons why the operator starts nothing for a table: its suspension, and the lineage that a table shares."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from hudi_jobs.contract.wording import shortened
from hudi_operator.api.resources import SUSPEND_ANNOTATION, HudiTable, HudiTableClass, ObjectMetadata
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.status.table_status import SUSPENSION_LIMIT
from hudi_operator.jobs.requests.erasure import Readers


class BlockerReason(StrEnum):
    """Why the operator starts nothing for a table, as the reason of its conditions.

    A blocker ends by itself once its cause is gone, because the operator reconciles the table again and again.
    """

    INVALID_SPEC = "InvalidSpec"
    """This version of the operator cannot read the spec."""

    CLASS_NOT_FOUND = "TableClassNotFound"
    """The class does not exist, or no class is marked as the default."""

    CLASS_INVALID = "TableClassInvalid"
    """This version of the operator cannot read the class."""

    CLASS_NOT_ALLOWED = "ClassNotAllowed"
    """The class does not allow tables of this namespace."""

    PATH_NOT_ALLOWED = "PathNotAllowed"
    """A path lies outside the prefixes that the class allows, is itself such a prefix, or lies inside a table."""

    SOURCE_NOT_ALLOWED = "SourceNotAllowed"
    """The class does not allow what the source names, such as a broker, topic, registry or Secret of Kafka."""

    CATALOG_NOT_ALLOWED = "CatalogNotAllowed"
    """The class names no catalog of the kind that the spec declares, or does not allow its database."""

    SETTING_NOT_ALLOWED = "SettingNotAllowed"
    """A key of `sparkConf`, `hudiOptions` or of a reader is not allowed."""

    SIZE_NOT_ALLOWED = "SizeNotAllowed"
    """The spec asks for more than the class allows."""

    PROFILE_NOT_ALLOWED = "ProfileNotAllowed"
    """The class does not offer the profile that the spec names."""

    INVALID_SCHEDULE = "InvalidSchedule"
    """The schedule has no next time."""

    INVALID_PATTERN = "InvalidPattern"
    """A regular expression of the spec cannot be compiled."""

    LOCK_MISSING = "LockMissing"
    """The table is Optimistic, and neither it nor its class names a lock."""

    PATH_CLAIMED = "BasePathClaimed"
    """Another HudiTable claims this folder, a parent of it or a folder inside it."""


@dataclass(frozen=True, kw_only=True)
class Blocker:
    """A reason to start nothing for a table, with a sentence that tells the owner what to do.

    A blocker that `hides` the table concerns its base path, class, namespace or claim. The folder may belong to
    somebody else, so the operator does not read it. Status then shows nothing of the folder, unless the blocker
    `keeps_figures`: it says nothing against the path, so a table that holds its claim keeps its last figures.
    """

    reason: BlockerReason
    message: str
    hides: bool = True
    keeps_figures: bool = False


def is_hidden(blockers: Iterable[Blocker]) -> bool:
    """Whether a blocker hides the table."""
    return any(blocker.hides for blocker in blockers)


def keeps_figures(blockers: Iterable[Blocker]) -> bool:
    """Whether a table is hidden, and no blocker says anything against its path."""
    hiding = [blocker for blocker in blockers if blocker.hides]
    return bool(hiding) and all(blocker.keeps_figures for blocker in hiding)


@dataclass(frozen=True, kw_only=True)
class NamespaceObservation:
    """The part of a namespace that concerns its tables.

    `suspension` is the text of its suspend annotation, empty without a text; None if it suspends no table.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    suspension: str | None = None


@dataclass(frozen=True, kw_only=True)
class Suspension:
    """What suspends a table: `cause` is the subject of a sentence, `end` follows `until`."""

    cause: str
    end: str


def suspension_text(value: str | None) -> str | None:
    """Return the text of a suspend annotation for messages, empty without a text; None if it does not suspend.

    `false` in any case does not suspend; `true` in any case and an empty value suspend without a text.
    """
    if value is None or (text := value.strip()).lower() == "false":
        return None
    return "" if text.lower() == "true" else shortened(text.replace('"', "'"), SUSPENSION_LIMIT)


def suspension_of(
    metadata: ObjectMetadata, spec: HudiTableSpec | None, namespace_suspension: str | None
) -> Suspension | None:
    """Return what suspends a table, or None; the spec is None if this version cannot read it.

    The spec comes first, then the annotation of the table, then the annotation of its namespace.
    """
    if spec is not None and spec.suspend:
        return Suspension(cause="spec.suspend", end="spec.suspend is false")
    holders = (
        ("the table", suspension_text(metadata.annotations.get(SUSPEND_ANNOTATION))),
        (f"namespace {metadata.namespace}", namespace_suspension),
    )
    for holder, text in holders:
        if text is not None:
            cause = f"the annotation {SUSPEND_ANNOTATION} of {holder}" + (f' ("{text}")' if text else "")
            return Suspension(cause=cause, end=f"{cause} is removed")
    return None


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
