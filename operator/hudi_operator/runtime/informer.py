"""The informer: turns watch events into queued keys, by the fields of their documents and by the known objects.

An object can hold anything that its schema allows, and the schema may be of another version. So fields are read
defensively, without an error, and the informer only enqueues.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hudi_operator.kube.objects import Kind, ObjectKey, field, items, text
from hudi_operator.runtime.controller import Children, Controller, KnownObject, Trigger
from hudi_operator.runtime.queue import KeyedQueue
from hudi_operator.telemetry.metrics import metrics

_TELLING_CONDITIONS = frozenset({"Complete", "Failed", "Suspended", "PodScheduled", "DisruptionTarget"})


def own_key(kind: Kind, document: object) -> ObjectKey | None:
    """Return the key of an object of a kind from its own document."""
    namespace = text(document, "metadata", "namespace") if kind.namespaced else ""
    name = text(document, "metadata", "name")
    return ObjectKey(kind, namespace, name) if namespace is not None and name else None


def has_ended(document: object) -> bool:
    """Return whether a Job or pod has run to its end."""
    return field(document, "status", "phase") in ("Succeeded", "Failed") or job_has_ended(document)


def job_has_ended(job: object) -> bool:
    """Return whether a Job has run to its end."""
    conditions = items(job, "status", "conditions")
    return any(text(one, "type") in {"Complete", "Failed"} and one.get("status") == "True" for one in conditions)


def condition_of_child(document: object) -> int:
    """Return a number that changes when a Job or pod starts, ends, disappears, or gets into trouble."""
    conditions = [
        (text(item, "type"), text(item, "status"), text(item, "reason"))
        for item in items(document, "status", "conditions")
        if text(item, "type") in _TELLING_CONDITIONS
    ]
    states = [
        (name, text(item, "state", name, "reason"))
        for item in items(document, "status", "containerStatuses")
        for name in ("waiting", "running", "terminated")
        if field(item, "state", name) is not None
    ]
    deleted = text(document, "metadata", "deletionTimestamp")
    return hash((text(document, "status", "phase"), deleted, tuple(conditions), tuple(states)))


def fingerprint(document: object, own_finalizer: str | None) -> int:
    """Return a hash of everything that a person or another controller decides about an object.

    The hash excludes the status, the resourceVersion and the operator's finalizer: the operator's own writes must not
    trigger another reconcile.
    """
    names = ("uid", "generation", "deletionTimestamp", "annotations", "labels")
    metadata = {name: field(document, "metadata", name) for name in names}
    finalizers = [one for one in _finalizers(document) if one != own_finalizer]
    return hash(json.dumps([metadata, finalizers], sort_keys=True, default=_plain))


def is_held(document: object, own_finalizer: str | None) -> bool:
    """Whether the object has the operator's finalizer."""
    return own_finalizer in _finalizers(document)


def _finalizers(document: object) -> list[object]:
    found = field(document, "metadata", "finalizers")
    return list(found) if isinstance(found, Sequence) and not isinstance(found, str) else []


def _plain(value: Any) -> Any:  # noqa: ANN401 - kopf hands out read-only views of mappings
    return dict(value) if isinstance(value, Mapping) else str(value)


class KnownObjects:
    """An index by key, uid and reference. May be stale: it only decides when to reconcile which object."""

    def __init__(self, controllers: Iterable[Controller[Any]]) -> None:
        self._controllers = {controller.kind: controller for controller in controllers}
        self._objects: dict[Kind, dict[ObjectKey, KnownObject]] = {kind: {} for kind in self._controllers}
        self._by_uid: dict[str, ObjectKey] = {}
        self._referring: dict[ObjectKey, dict[ObjectKey, None]] = {}
        self._children: dict[tuple[Kind, str], int] = {}  # kind of the parent, uid of the child -> its condition

    def __contains__(self, key: ObjectKey) -> bool:
        """Whether an object with this key is known."""
        return key in self._objects[key.kind]

    def of_kind(self, kind: Kind) -> frozenset[ObjectKey]:
        """Return the keys of all known objects of a kind."""
        return frozenset(self._objects[kind])

    def count(self, kind: Kind) -> int:
        """Return how many objects of a kind are known."""
        return len(self._objects[kind])

    def referring_to(self, key: ObjectKey) -> tuple[ObjectKey, ...]:
        """Return the keys of the objects that refer to this object."""
        return tuple(self._referring.get(key, ()))

    def rank(self, key: ObjectKey) -> int | None:
        """Return an object's read order from its last document; None if it is finished or unknown."""
        known = self._objects[key.kind].get(key)
        return known.rank if known is not None else None

    def learn(self, key: ObjectKey, document: object) -> tuple[ObjectKey, ...] | None:
        """Remember an object; return its dependents, or None if its declaration is unchanged."""
        controller = self._controllers[key.kind]
        now = KnownObject(
            key=key,
            uid=text(document, "metadata", "uid"),
            reference=_within(key, controller.reference(document)),
            fingerprint=fingerprint(document, controller.finalizer),
            held=is_held(document, controller.finalizer),
            rank=controller.rank(document),
        )
        before = self._objects[key.kind].get(key)
        if before == now and not (before.held and not now.held):
            self._objects[key.kind][key] = now
            return None
        concerned = dict.fromkeys(self.forget(key))
        self._objects[key.kind][key] = now
        if now.uid:
            self._by_uid[now.uid] = key
        if now.reference is not None:
            self._referring.setdefault(now.reference, {})[key] = None
        return (*concerned | dict.fromkeys(controller.dependents(now, self)),)

    def forget(self, key: ObjectKey) -> tuple[ObjectKey, ...]:
        """Forget a removed object; return its dependents."""
        known = self._objects[key.kind].pop(key, None)
        if known is None:
            return ()
        if known.uid:
            self._by_uid.pop(known.uid, None)
        if known.reference is not None:
            referring = self._referring[known.reference]
            del referring[key]
            if not referring:
                del self._referring[known.reference]
        return tuple(self._controllers[key.kind].dependents(known, self))

    def learn_child(self, parent: Kind, document: object) -> bool:
        """Remember a child; return True if it is new or changed.

        A child that had already ended when first seen is not new: its parent's status covers it, or asks for it.
        """
        child = (parent, text(document, "metadata", "uid") or "")
        before, now = self._children.get(child), condition_of_child(document)
        self._children[child] = now
        return not has_ended(document) if before is None else before != now

    def forget_child(self, parent: Kind, document: object) -> bool:
        """Forget a removed child; return True unless it had ended."""
        self._children.pop((parent, text(document, "metadata", "uid") or ""), None)
        return not has_ended(document)

    def parent_of(self, document: object, *, kind: Kind, labels: Children) -> ObjectKey | None:
        """Return the parent of a child, found by its labels."""
        uid = text(document, "metadata", "labels", labels.uid_label)
        known = self._by_uid.get(uid) if uid else None
        if known is not None and known.kind == kind:
            return known
        # The label holds the whole name unless it exceeds the limit for labels; then the uid has to be known.
        namespace, name = (
            text(document, "metadata", "namespace"),
            text(document, "metadata", "labels", labels.name_label),
        )
        return ObjectKey(kind, namespace, name) if namespace and name else None


def _within(key: ObjectKey, reference: ObjectKey | None) -> ObjectKey | None:
    """Return the reference, or None if it points into another namespace: no object may trigger reconciles elsewhere."""
    stranger = reference is not None and reference.namespace and reference.namespace != key.namespace
    return None if stranger else reference


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
