"""Puts the finalizer on a resource that a run works for, and requeues its table."""

from collections.abc import Callable, Mapping
from typing import Any

from hudi_operator.control.keys import table_named_by
from hudi_operator.kube.api import NO_NOTES, KubernetesApi, add_finalizer
from hudi_operator.kube.objects import Kind, ObjectKey

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
