"""Carries out a move to another namespace.

The old table is suspended until it has no Job. Then the new table comes, suspended, and the operator says whether its
class allows it: the old table keeps its claim on the folder. Its savepoints move, it is deleted, and the new table is
resumed. Each step is read from the cluster, so that a repeated command continues where another has ended.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from hudi_operator.api.resources import SUSPEND_ANNOTATION
from hudi_operator.api.status.conditions import ConditionStatus, ConditionType
from hudi_operator.cli.base.cluster import Failed
from hudi_operator.cli.move.moved_objects import (
    MOVED_FROM_ANNOTATION,
    Document,
    arriving,
    arriving_savepoint,
    arriving_table,
    leaving,
    mark_of,
    mark_on,
    suspension_on,
)
from hudi_operator.cli.move.obstacles import refusals
from hudi_operator.cli.move.places import Found, Route, is_ending, look, names, operations_of, savepoints_of
from hudi_operator.cli.render.view import TableView
from hudi_operator.kube.errors import AlreadyExists, Conflict
from hudi_operator.kube.keys import SAVEPOINT, TABLE, savepoint_key, table_named_by
from hudi_operator.planning.model import BlockerReason

if TYPE_CHECKING:
    from hudi_operator.kube.person import PersonClient

_POLL_SECONDS = 1.0


class _Still(NamedTuple):
    """What a step waits for, as the end of a sentence."""

    what: str


@dataclass(frozen=True, kw_only=True)
class Mover:
    """A move at work; `say` prints a step that was taken."""

    client: "PersonClient"
    route: Route
    longest: timedelta
    say: Callable[[str], None]

    async def run(self) -> None:
        """Carry out all steps that are left; raises `Failed` with what the move waits for."""
        found = await look(self.client, self.route)
        if found.old is not None and not is_ending(found.old):
            await self._leave(found, found.old)
        await self._wait(self._gone)
        await self._arrive()

    async def _leave(self, found: Found, old: Document) -> None:
        if found.refusals:
            raise Failed(" ".join(found.refusals))
        if suspension_on(old) is None:
            if found.new is not None:
                raise Failed(
                    f"HudiTable {self.route.old} was resumed during its move, and may have written since. Delete "
                    f"HudiTable {self.route.new}, which has no data yet, and repeat the command."
                )
            await self.client.annotate(self.route.old, {SUSPEND_ANNOTATION: leaving(self.route.target)})
            self.say(f"HudiTable {self.route.old} suspended")
        await self._wait(self._idle)
        # A commit after the creation of a table counts as another writer's, so the last run ends before.
        new = found.new or await self._create(old)
        await self._accepted(new, is_of_this_run=found.new is None)
        await self._move_savepoints(new)
        await self._wait(self._deleted)
        self.say(f"HudiTable {self.route.old} deleted; the data stays")

    async def _create(self, old: Document) -> Document:
        manifest = arriving_table(old, self.route.target, table_class=self.route.table_class)
        made = await self.client.create(TABLE, self.route.target, manifest)
        self.say(f"HudiTable {self.route.new} created, suspended")
        return made

    async def _accepted(self, new: Document, *, is_of_this_run: bool) -> None:
        """Wait until the operator accepts the new table; delete it and resume the old one where it does not."""
        try:
            await self._wait(self._verdict)
        except Failed as error:
            if not is_of_this_run:
                raise
            await self.client.delete(self.route.new, uid=new["metadata"]["uid"])
            old = await self.client.get(self.route.old)
            if old is not None and suspension_on(old) == leaving(self.route.target):
                await self.client.annotate(self.route.old, {SUSPEND_ANNOTATION: None})
            raise Failed(
                f"{error.message} HudiTable {self.route.new} is deleted again, and the old table goes on."
            ) from error

    async def _verdict(self) -> _Still | None:
        document = await self.client.get(self.route.new)
        if document is None:
            raise Failed(f"HudiTable {self.route.new} was deleted by somebody else.")
        view = TableView.of(dict(document))
        if view.status.observed_generation != view.metadata.generation:
            return _Still(f"the operator to look at HudiTable {self.route.new}: does it watch the namespace?")
        stalled = view.condition(ConditionType.STALLED)
        is_stalled = stalled is not None and stalled.status is ConditionStatus.TRUE
        # Class and namespace are checked before the claim, which the old table still has.
        if stalled is not None and is_stalled and stalled.reason != BlockerReason.PATH_CLAIMED:
            raise Failed(f"HudiTable {self.route.new} is not accepted: {stalled.reason}: {stalled.message}")
        return None

    async def _idle(self) -> _Still | None:
        document = await self.client.get(self.route.old)
        return None if document is None else self._at_work(TableView.of(dict(document)))

    def _at_work(self, view: TableView) -> _Still | None:
        """Return what has to end before the old table may go."""
        if not view.is_condition(ConditionType.SUSPENDED, ConditionStatus.TRUE):
            return _Still(f"the operator to see that HudiTable {self.route.old} is suspended")
        if view.status.observed_generation != view.metadata.generation:
            return _Still(f"the operator to see the newest spec of HudiTable {self.route.old}")
        jobs = ", ".join(one.name for one in view.status.active_jobs)
        return _Still(f"Job {jobs} of HudiTable {self.route.old} to end") if jobs else None

    async def _move_savepoints(self, new: Document) -> None:
        for one in await savepoints_of(self.client, self.route):
            await self._copy_savepoint(one, new)
            key = savepoint_key(self.route.source, one["metadata"]["name"])
            if not is_ending(one):
                await self.client.patch(key, {"spec": {"deletionPolicy": "Retain"}})
                await self.client.delete(key, uid=one["metadata"]["uid"])
                self.say(f"HudiSavepoint {key} moved; the savepoint stays in the folder")
        await self._wait(self._without_savepoints)

    async def _copy_savepoint(self, one: Document, new: Document) -> None:
        try:
            await self.client.create(SAVEPOINT, self.route.target, arriving_savepoint(one, new))
        except AlreadyExists as error:
            key = savepoint_key(self.route.target, one["metadata"]["name"])
            if mark_on(await self.client.get(key) or {}) != mark_of(one):
                raise Failed(
                    f"Namespace {key.namespace} already has a HudiSavepoint {key.name}: rename one."
                ) from error

    async def _without_savepoints(self) -> _Still | None:
        left = names(await savepoints_of(self.client, self.route))
        return _Still(f"HudiSavepoint {', '.join(left)} to be released") if left else None

    async def _deleted(self) -> _Still | None:
        """Delete the old table in the version that was checked; another version is checked again."""
        operations, document = await operations_of(self.client, self.route), await self.client.get(self.route.old)
        if document is None or is_ending(document):
            return None
        view = TableView.of(dict(document))
        if (still := self._at_work(view)) is not None:
            return still
        if found := refusals(view, operations):
            raise Failed(" ".join(found))
        metadata = document["metadata"]
        try:
            await self.client.delete(self.route.old, uid=metadata["uid"], version=metadata["resourceVersion"])
        except Conflict:
            return _Still(f"HudiTable {self.route.old} to stay as it was checked")
        return None

    async def _gone(self) -> _Still | None:
        document = await self.client.get(self.route.old)
        new = await self.client.get(self.route.new)
        if document is None:
            return None
        if new is None or mark_on(new) != mark_of(document):
            raise Failed(
                f"HudiTable {self.route.old} was created again during the move: decide which of the two stays."
            )
        return _Still(
            f"the operator to release HudiTable {self.route.old}: {TableView.of(dict(document)).status.message}"
        )

    async def _arrive(self) -> None:
        """Resume what was moved, and remove the marks; savepoints come first, because the table's mark leads here."""
        new = await self.client.get(self.route.new)
        if new is None:
            raise Failed(f"HudiTable {self.route.new} was deleted by somebody else: apply it again; the data is there.")
        for one in await self.client.list(SAVEPOINT, self.route.target):
            if mark_on(one) is not None and table_named_by(one) == self.route.new:
                key = savepoint_key(self.route.target, one["metadata"]["name"])
                await self.client.annotate(key, {MOVED_FROM_ANNOTATION: None})
        changes: dict[str, Any] = {MOVED_FROM_ANNOTATION: None}
        if suspension_on(new) == arriving(self.route.source):
            changes[SUSPEND_ANNOTATION] = None
        await self.client.annotate(self.route.new, changes)
        stays = "" if SUSPEND_ANNOTATION in changes else ", still suspended as before"
        self.say(f"HudiTable {self.route.new} has moved{stays}")

    async def _wait(self, look_again: Callable[[], Awaitable[_Still | None]]) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + self.longest.total_seconds()
        while (still := await look_again()) is not None:
            if loop.time() >= end:
                raise Failed(
                    f"After {self.longest} the move still waits for {still.what}. Repeat the command to go on."
                )
            await asyncio.sleep(_POLL_SECONDS)
