"""A controller: a kind that is reconciled, and how what happens in the cluster leads to keys of it or of other kinds.

The informer, the resync, the queue and the process work from a list of controllers, and know no kind besides.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from hudi_operator.kube.kinds import Kind, ObjectKey

Parts = TypeVar("Parts")


class Trigger(IntEnum):
    """Why a key is reconciled; of several reasons the greatest counts."""

    POLL = 0
    """Time has passed: nothing says that anything has changed."""

    CHILD = 1
    """A child of the object, as its Job or pod, has come, changed or gone."""

    EVENT = 2
    """The object or one that it depends on has changed, or the last reconcile failed: nothing known before counts."""


Reconcile: TypeAlias = Callable[[ObjectKey, Trigger], Awaitable[float | None]]
"""Bring one object closer to its declaration; return the seconds until the next time, or None to wait for an event.

Raising means that the reconcile failed: the key comes back after its backoff.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownObject:
    """What is remembered of an object: just enough to tell what an event means.

    `reference` is the object that it names: of a table its class. `held` says whether it had the operator's finalizer:
    that it has one now is no news, that it lost it is. `rank` is what the controller's `rank` said of it last.
    """

    key: ObjectKey
    uid: str | None
    reference: ObjectKey | None
    fingerprint: int
    held: bool = field(default=False, compare=False)
    rank: int | None = field(default=0, compare=False)


class References(Protocol):
    """Who names whom."""

    def referring_to(self, key: ObjectKey) -> Iterable[ObjectKey]:
        """Return the keys of the objects that name this one."""
        ...


@dataclass(frozen=True, kw_only=True)
class Children:
    """Objects that are made for those of a controller, as Jobs and pods: watched by labels, and never listed.

    The name in the label counts where no object of the uid in the other one is known.
    """

    kind: Kind
    label_selector: str
    uid_label: str
    name_label: str


def refers_to_nothing(_document: object) -> ObjectKey | None:
    """Return that an object names no other one."""
    return None


def ranks_with_all_others(_document: object) -> int | None:
    """Return that an object is read when its turn comes among those of its kind."""
    return 0


def concerns_itself_alone(_known: KnownObject, _references: References) -> Iterable[ObjectKey]:
    """Return that no other object's reconciliation reads this one."""
    return ()


def concerns_what_it_refers_to(known: KnownObject, _references: References) -> Iterable[ObjectKey]:
    """Return the object that this one names: the right `dependents` for a kind that enters another's observation."""
    return () if known.reference is None else (known.reference,)


@dataclass(frozen=True, kw_only=True)
class Controller(Generic[Parts]):
    """One kind of ours: how its objects are reconciled, and whom their changes concern.

    A change of an object, of what a resync finds or an event tells, puts its own key into the queue and those of its
    `dependents`. A kind that is not `namespaced` is watched and listed in the whole cluster, any other one in the
    namespaces that the operator serves.
    """

    kind: Kind

    connect: Callable[[Parts], Reconcile]
    """Makes what reconciles an object, from the parts that all controllers of a process share."""

    reference: Callable[[object], ObjectKey | None] = refers_to_nothing
    """Which object a document names; it is given whatever the API server holds, and never raises."""

    dependents: Callable[[KnownObject, References], Iterable[ObjectKey]] = concerns_itself_alone
    """Which other objects are reconciled when one of this kind has come, changed or gone."""

    observed_as: Callable[[dict[str, Any]], object] | None = None
    """Reads a document for the observation of the object that it names; None where it does not enter it."""

    rank: Callable[[object], int | None] = ranks_with_all_others
    """When a document is read of very many that name one object: the lowest number first, None if nothing is left to do
    for it. It is given whatever the API server holds, and never raises."""

    polled: bool = False
    """Whether an object is always in the queue, so that a resync puts back one that is not."""

    children: tuple[Children, ...] = ()
    finalizer: str | None = None
    """The finalizer that the operator itself puts on objects of the kind."""


def listing_order(controllers: Iterable[Controller[Any]]) -> list[Controller[Any]]:
    """Return the controllers with those first on whose objects others depend: they are known when these are queued."""
    return sorted(controllers, key=lambda one: one.dependents is concerns_itself_alone)


def reconcile_by_kind(controllers: Iterable[Controller[Parts]], parts: Parts) -> Reconcile:
    """Return what reconciles an object of any of the controllers' kinds."""
    reconcilers = {controller.kind: controller.connect(parts) for controller in controllers}

    async def reconcile(key: ObjectKey, trigger: Trigger) -> float | None:
        return await reconcilers[key.kind](key, trigger)

    return reconcile
