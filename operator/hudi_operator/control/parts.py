"""The shared parts of a process's controllers, and the finalizer on a resource that a run works for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hudi_operator.control.settings import Settings
from hudi_operator.control.snapshots.looks import SourceLooks
from hudi_operator.control.snapshots.reader import Snapshots
from hudi_operator.kube.api import NO_NOTES, KubernetesApi, add_finalizer
from hudi_operator.kube.keys import table_named_by
from hudi_operator.kube.objects import Kind, ObjectKey
from hudi_operator.runtime.controller import Controller
from hudi_operator.runtime.informer import KnownObjects

Document = dict[str, Any]


async def hold(
    kube: KubernetesApi,
    kind: Kind,
    document: Document,
    finalizer: str,
    *,
    wake: Callable[[ObjectKey], None],
    annotations: Mapping[str, str] = NO_NOTES,
) -> Document:
    """Add the finalizer, and annotations without an existing value; return the resource.

    Adding our own finalizer raises no event, and no run starts without it, so requeue the table explicitly. The table
    may have read the resource before, so `wake` makes it observe everything again.
    """
    held = await add_finalizer(kube, kind, document, finalizer, annotations=annotations)
    table = table_named_by(held) if held is not document else None
    if table is not None:
        wake(table)
    return held


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The parts for building a controller.

    `wake` requeues an object without an event. `alert` requeues it as if an event had come: a dependency changed
    without the informer noticing, so cached observations must be ignored.
    """

    kube: KubernetesApi
    snapshots: Snapshots
    settings: Settings
    controllers: Sequence[Controller["Parts"]]
    known: KnownObjects
    wake: Callable[[ObjectKey], None]
    alert: Callable[[ObjectKey], None]
    looks: SourceLooks | None = None
