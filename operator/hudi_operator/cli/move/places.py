"""What a move reads and asks of the cluster before it writes: both places, the rights, and the API server's answer."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hudi_operator.api.resources import HudiTable, HudiTableClass, parse_table, parse_table_class
from hudi_operator.api.status.savepoints import SavepointState
from hudi_operator.cli.base.cluster import Failed, NoAccess
from hudi_operator.cli.move.moved_objects import Document, arriving_table, mark_of, mark_on, with_class
from hudi_operator.cli.move.obstacles import kept_in_git, losses, refusals
from hudi_operator.cli.render.view import TableView
from hudi_operator.kube.errors import Forbidden
from hudi_operator.kube.keys import OPERATION, SAVEPOINT, TABLE, class_key, table_key, table_named_by
from hudi_operator.kube.objects import NAMESPACE, Kind, ObjectKey, part, text
from hudi_operator.planning.policy.class_policy import policy_blockers
from hudi_operator.planning.policy.namespaces import asks_for_labels, namespace_blocker

if TYPE_CHECKING:
    from hudi_operator.kube.person import PersonClient

_OVER = frozenset({SavepointState.LOST, SavepointState.REMOVED})


@dataclass(frozen=True, kw_only=True)
class Route:
    """Where a table is and where it goes; `table_class` is None to keep the class."""

    name: str
    source: str
    target: str
    table_class: str | None = None

    @property
    def is_class_alone(self) -> bool:
        """Whether only the class changes, which is one field."""
        return self.source == self.target

    @property
    def old(self) -> ObjectKey:
        """The key of the table as it is."""
        return table_key(self.source, self.name)

    @property
    def new(self) -> ObjectKey:
        """The key of the table as it will be."""
        return table_key(self.target, self.name)


@dataclass(frozen=True, kw_only=True)
class Found:
    """Both places before a move: what forbids it, what it loses, and what could not be checked."""

    old: Document | None = None
    new: Document | None = None
    savepoints: tuple[Document, ...] = ()
    refusals: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_in_git: bool = False


async def look(client: "PersonClient", route: Route) -> Found:
    """Return both places and the answers of all checks; raises `Failed` where there is nothing to move."""
    old, new = await client.get(route.old), None if route.is_class_alone else await client.get(route.new)
    if old is None:
        return Found(new=_arrived(route, new))
    if new is not None and mark_on(new) != mark_of(old):
        raise Failed(
            f"Namespace {route.target} already has a HudiTable {route.name}, which no move of {route.old} made."
        )
    if is_ending(old):
        if new is None:
            raise Failed(f"HudiTable {route.old} is being deleted.")
        return Found(old=old, new=new)
    savepoints = () if route.is_class_alone else tuple(await savepoints_of(client, route))
    in_git = kept_in_git((old, *savepoints))
    if in_git:
        return Found(old=old, new=new, savepoints=savepoints, refusals=in_git, is_in_git=True)
    await _ask_rights(client, route, has_savepoints=bool(savepoints))
    refused, notes = await _policy(client, route, old)
    lost: list[str] = []
    if not route.is_class_alone:
        view = TableView.of(dict(old))
        refused, lost = [*refusals(view, await operations_of(client, route)), *refused], losses(view)
    if not refused and new is None:
        await _ask_server(client, route, old)
    return Found(old=old, new=new, savepoints=savepoints, refusals=refused, losses=lost, notes=notes)


def _arrived(route: Route, new: Document | None) -> Document:
    """Return the new table of a move that has deleted the old one."""
    mark = mark_on(new) if new is not None else None
    if new is None or mark is None or not mark.startswith(f"{route.source}/{route.name}/"):
        there = f" Namespace {route.target} has one." if new is not None else ""
        raise Failed(f"There is no HudiTable {route.name} in namespace {route.source}.{there}")
    return new


def is_ending(document: Document) -> bool:
    """Tell whether an object is being deleted."""
    return text(document, "metadata", "deletionTimestamp") is not None


async def operations_of(client: "PersonClient", route: Route) -> list[Document]:
    """Return the HudiOperations that name the table at its old place."""
    found = await client.list(OPERATION, route.source)
    return [one for one in found if table_named_by(one) == route.old]


async def savepoints_of(client: "PersonClient", route: Route) -> list[Document]:
    """Return the HudiSavepoints of the table at its old place that are not over."""
    found = [one for one in await client.list(SAVEPOINT, route.source) if table_named_by(one) == route.old]
    table = await client.get(route.old)
    over = {one.uid for one in TableView.of(dict(table)).status.savepoints if one.state in _OVER} if table else set()
    return [one for one in found if text(one, "metadata", "uid") not in over]


async def _ask_rights(client: "PersonClient", route: Route, *, has_savepoints: bool) -> None:
    wanted: list[tuple[str, Kind, str]] = [("patch", TABLE, route.source)]
    if not route.is_class_alone:
        wanted += [("delete", TABLE, route.source), *((verb, TABLE, route.target) for verb in _AT_TARGET)]
        wanted.append(("list", SAVEPOINT, route.target))
    if has_savepoints:
        wanted += [(verb, SAVEPOINT, route.source) for verb in ("patch", "delete")]
        wanted += [(verb, SAVEPOINT, route.target) for verb in ("get", "create", "patch")]
    missing = [one for one in wanted if not await client.may(*one)]
    if missing:
        named = ", ".join(f"{verb} {kind.plural} in {namespace}" for verb, kind, namespace in missing)
        raise NoAccess(f"The move needs rights that you do not have: {named}. Nothing was changed.")


_AT_TARGET = ("get", "create", "patch", "delete")


async def _policy(client: "PersonClient", route: Route, old: Document) -> tuple[list[str], list[str]]:
    """Return what the class refuses at the new place, and what could not be checked."""
    name = route.table_class or text(old, "spec", "tableClassName")
    if name is None:
        return [], ["The default class of the cluster holds at the new place, too."]
    try:
        document = await client.get(class_key(name))
    except Forbidden:
        return [], [f"You may not read HudiTableClass {name}: the operator says whether it allows the table."]
    if document is None:
        return [f"There is no HudiTableClass {name}."], []
    table_class, table = parse_table_class(dict(document)), parse_table(_planned(route, old))
    if not isinstance(table_class, HudiTableClass) or not isinstance(table, HudiTable):
        return [], [f"This version cannot read HudiTableClass {name}: the operator says whether it allows the table."]
    labels: dict[str, Any] | None = None
    if asks_for_labels(table_class, route.target):
        try:
            labels = dict(part(await client.get(ObjectKey(NAMESPACE, "", route.target)), "metadata", "labels"))
        except Forbidden:
            note = f"You may not read the labels of namespace {route.target}, by which the class is allowed."
            return [f"{one.reason}: {one.message}" for one in policy_blockers(table, table_class)], [note]
    place = namespace_blocker(table_class, route.target, labels)
    blockers = (*((place,) if place is not None else ()), *policy_blockers(table, table_class))
    return [f"{one.reason}: {one.message}" for one in blockers], []


def _planned(route: Route, old: Document) -> dict[str, Any]:
    metadata = {**old["metadata"], "namespace": route.target}
    return {**old, "metadata": metadata, "spec": with_class(old, route.table_class), "status": None}


async def _ask_server(client: "PersonClient", route: Route, old: Document) -> None:
    """Have the API server check the write; raises its refusal."""
    if route.is_class_alone:
        await client.patch(route.old, class_change(route), dry_run=True)
    else:
        manifest = arriving_table(old, route.target, table_class=route.table_class)
        await client.create(TABLE, route.target, manifest, dry_run=True)


def class_change(route: Route) -> dict[str, Any]:
    """Return the change of a table to another class."""
    return {"spec": {"tableClassName": route.table_class}}


def names(documents: Iterable[Document]) -> list[str]:
    """Return the names of objects."""
    return [str(one["metadata"]["name"]) for one in documents]
