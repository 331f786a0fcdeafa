"""The informer: turns watch events into queued keys.

An event can hold anything, so fields are read defensively, and the informer only enqueues.
"""

from typing import Any

from hudi_operator.kube.fields import field
from hudi_operator.kube.kinds import ObjectKey
from hudi_operator.runtime.controller import Children, Controller, Trigger
from hudi_operator.runtime.documents import own_key
from hudi_operator.runtime.known import KnownObjects
from hudi_operator.runtime.queue import KeyedQueue
from hudi_operator.telemetry.metrics import metrics

_DELETED = "DELETED"
_CHILDREN_SETTLE_SECONDS = 1.0


class Informer:
    """Puts the keys affected by watch events into the queue."""

    def __init__(self, *, queue: KeyedQueue[ObjectKey], known: KnownObjects) -> None:
        self._queue = queue
        self._known = known

    def object_event(self, controller: Controller[Any], event: object) -> None:
        """Enqueue an added, changed or deleted object and its dependents; ignore a pure status change."""
        metrics.watch_event(controller.kind.name)
        document = field(event, "object")
        key = own_key(controller.kind, document)
        if key is None:
            return
        # The first listing of an object is only new to this process, so changes go first. But a listing also reports
        # changes since the last one, or while no watch was open.
        unknown = field(event, "type") is None and key not in self._known
        gone = field(event, "type") == _DELETED
        concerned = self._known.forget(key) if gone else self._known.learn(key, document)
        if concerned is None:
            return
        self._queue.add(key, Trigger.POLL if unknown else Trigger.EVENT)
        for other in concerned:
            self._queue.add(other)

    def child_event(self, controller: Controller[Any], children: Children, event: object) -> None:
        """Enqueue the parent of a child that was added, started, ended, got into trouble or was removed."""
        metrics.watch_event(children.kind.name)
        document = field(event, "object")
        gone = field(event, "type") == _DELETED
        change = self._known.forget_child if gone else self._known.learn_child
        news = change(controller.kind, document)
        key = self._known.parent_of(document, kind=controller.kind, labels=children)
        if news and key is not None:
            # A Job and its pod change several times in a moment: let one reconcile handle all of it.
            self._queue.add_after(key, _CHILDREN_SETTLE_SECONDS, Trigger.CHILD)
