"""The known objects: just enough to find what an event affects."""

from collections.abc import Iterable
from typing import Any

from hudi_operator.kube.fields import text
from hudi_operator.kube.kinds import Kind, ObjectKey
from hudi_operator.runtime.controller import Children, Controller, KnownObject
from hudi_operator.runtime.documents import condition_of_child, fingerprint, has_ended, is_held


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
