"""The hold on a resource that a run of its table works for: its finalizer, and that the table comes to know of it."""

from collections.abc import Callable, Mapping
from typing import Any

from hudi_operator.control.keys import table_named_by
from hudi_operator.kube.api import NO_NOTES, KubernetesApi, add_finalizer
from hudi_operator.kube.kinds import Kind, ObjectKey

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
    """Return the resource with its finalizer, and with these annotations where it has none of their names.

    That it is held is no news to the informer, and nothing starts for one that is not: so its table is woken. That may
    have looked at the resource before it was held, so `wake` has it look at everything again.
    """
    held = await add_finalizer(kube, kind, document, finalizer, annotations=annotations)
    table = table_named_by(held) if held is not document else None
    if table is not None:
        wake(table)
    return held
