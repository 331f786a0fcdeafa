"""What the controllers of one process share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hudi_operator.control.settings import Settings
from hudi_operator.control.snapshots.reader import Snapshots
from hudi_operator.kube.api import KubernetesApi
from hudi_operator.kube.kinds import ObjectKey
from hudi_operator.runtime.controller import Controller
from hudi_operator.runtime.known import KnownObjects


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The parts from which a controller is made.

    `wake` has an object reconciled although no event came for it. `alert` does so as if one had: something that it
    depends on is not what it was, and that is no news to the informer, so that nothing known before counts.
    """

    kube: KubernetesApi
    snapshots: Snapshots
    settings: Settings
    controllers: Sequence[Controller["Parts"]]
    known: KnownObjects
    wake: Callable[[ObjectKey], None]
    alert: Callable[[ObjectKey], None]
