"""The shared parts of a process's controllers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hudi_operator.control.settings import Settings
from hudi_operator.control.snapshots.looks import SourceLooks
from hudi_operator.control.snapshots.reader import Snapshots
from hudi_operator.kube.api import KubernetesApi
from hudi_operator.kube.objects import ObjectKey
from hudi_operator.runtime.controller import Controller
from hudi_operator.runtime.informer import KnownObjects


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
