"""A controller: a reconciled kind, and how cluster events map to keys of this and other kinds.

The informer, the resync, the queue and the process work from a list of controllers and know no other kind.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from hudi_operator.kube.objects import Kind, ObjectKey

Parts = TypeVar("Parts")


class Trigger(IntEnum):
    """Why a key is reconciled; of several reasons the greatest wins."""

    POLL = 0
    """Time has passed; no change is known."""

    CHILD = 1
    """A child object, such as a Job or pod, was added, changed or removed."""

    EVENT = 2
    """The object or a dependency changed, or the last reconcile failed: ignore cached observations."""


Reconcile: TypeAlias = Callable[[ObjectKey, Trigger], Awaitable[float | None]]
"""Reconcile one object; return seconds until the next reconcile, or None to wait for an event.

An exception means failure: the key returns after its backoff.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownObject:
    """The remembered state of an object, just enough to interpret an event.

    `reference` is the object it refers to: the class of a table. `held` says whether it had the operator's finalizer;
    adding the finalizer is ignored, losing it triggers a reconcile. `rank` is the last value of the controller's
    `rank`.
    """

    key: ObjectKey
    uid: str | None
    reference: ObjectKey | None
    fingerprint: int
    held: bool = field(default=False, compare=False)
    rank: int | None = field(default=0, compare=False)


class References(Protocol):
    """Looks up which objects refer to a given object."""

    def referring_to(self, key: ObjectKey) -> Iterable[ObjectKey]:
        """Return the keys of the objects that refer to this object."""
        ...


@dataclass(frozen=True, kw_only=True)
class Children:
    """Child objects of a controller's objects, such as Jobs and pods: watched by labels, never listed.

    The name label is used if no object with the uid label's value is known.
    """

    kind: Kind
    label_selector: str
    uid_label: str
    name_label: str


def refers_to_nothing(_document: object) -> ObjectKey | None:
    """Return None: the object refers to no other object."""
    return None


def ranks_with_all_others(_document: object) -> int | None:
    """Return rank 0: the object is read in turn with all others of its kind."""
    return 0


def concerns_itself_alone(_known: KnownObject, _references: References) -> Iterable[ObjectKey]:
    """Return no dependents: no other reconcile reads this object."""
    return ()


def concerns_what_it_refers_to(known: KnownObject, _references: References) -> Iterable[ObjectKey]:
    """Return the referenced object: the `dependents` of a kind that another kind's observation includes."""
    return () if known.reference is None else (known.reference,)


@dataclass(frozen=True, kw_only=True)
class Controller(Generic[Parts]):
    """A managed kind: how to reconcile its objects, and which other objects their changes affect.

    A change seen by a resync or an event enqueues the object's own key and its `dependents`. A kind that is not
    `namespaced` is watched and listed in the whole cluster, other kinds in the served namespaces.
    """

    kind: Kind

    connect: Callable[[Parts], Reconcile]
    """Build the reconcile function from the parts that all controllers of a process share."""

    reference: Callable[[object], ObjectKey | None] = refers_to_nothing
    """Return the object that a document refers to. Accepts any document and never raises."""

    dependents: Callable[[KnownObject, References], Iterable[ObjectKey]] = concerns_itself_alone
    """Return the other objects to reconcile when an object of this kind is added, changed or removed."""

    observed_as: Callable[[dict[str, Any]], object] | None = None
    """Parse a document for the observation of the object it refers to; None if it is not part of it."""

    rank: Callable[[object], int | None] = ranks_with_all_others
    """Order for reading when very many documents refer to one object: lowest first, None if finished.

    Accepts any document and never raises.
    """

    polled: bool = False
    """Whether an object is always in the queue, so that a resync puts back a missing object."""

    children: tuple[Children, ...] = ()
    finalizer: str | None = None
    """The finalizer that the operator puts on objects of this kind."""


def listing_order(controllers: Iterable[Controller[Any]]) -> list[Controller[Any]]:
    """Return the controllers, kinds with dependents first, so they are known before their dependents are queued."""
    return sorted(controllers, key=lambda one: one.dependents is concerns_itself_alone)


def reconcile_by_kind(controllers: Iterable[Controller[Parts]], parts: Parts) -> Reconcile:
    """Return a reconcile function that dispatches on the key's kind."""
    reconcilers = {controller.kind: controller.connect(parts) for controller in controllers}

    async def reconcile(key: ObjectKey, trigger: Trigger) -> float | None:
        return await reconcilers[key.kind](key, trigger)

    return reconcile
