"""Detects served namespaces that refuse access, so that none blocks the other namespaces.

The rights in a namespace vanish with the namespace, before the objects that wait for their finalizers.
"""

from collections.abc import Iterable, Sequence

import structlog

from hudi_operator.kube.api import ObjectApi
from hudi_operator.kube.errors import Forbidden
from hudi_operator.kube.kinds import Kind

_log = structlog.get_logger(__name__)


async def refused_namespaces(kube: ObjectApi, kinds: Iterable[Kind], namespaces: Sequence[str]) -> frozenset[str]:
    """Return the namespaces where no kind may be listed; raises `Forbidden` if no namespace is left.

    A namespace that refuses only some kinds is not included: reconciling objects without those that refer to them would
    be wrong, so listing it raises the error.
    """
    namespaced = [kind for kind in kinds if kind.namespaced]
    refusals = {namespace: await _refusal(kube, namespaced, namespace) for namespace in namespaces}
    refused = {namespace: error for namespace, error in refusals.items() if error is not None}
    for namespace, error in refused.items():
        if len(refused) == len(refusals):
            raise error
        _log.warning("namespace is not served", namespace=namespace, error=str(error))
    return frozenset(refused)


def places_of(kind: Kind, namespaces: Iterable[str], refused: frozenset[str]) -> list[str | None]:
    """Return the namespaces in which to list a kind; None stands for the whole cluster."""
    served: list[str | None] = [namespace for namespace in namespaces if namespace not in refused]
    return served if kind.namespaced and served else [None]


async def _refusal(kube: ObjectApi, kinds: Iterable[Kind], namespace: str) -> Forbidden | None:
    refusal = None
    for kind in kinds:
        try:
            async for _ in kube.each(kind, namespace):
                break
        except Forbidden as error:
            refusal = error
        else:
            return None
    return refusal
