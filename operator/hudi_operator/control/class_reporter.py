"""The controller of classes: writes the status of each class."""

import structlog

from hudi_operator.api.resources import parse_table_class
from hudi_operator.api.salvage import read_by_parts
from hudi_operator.api.status.conditions import HudiTableClassStatus
from hudi_operator.control.parts import Parts
from hudi_operator.kube.api import KubernetesApi
from hudi_operator.kube.errors import NotFound
from hudi_operator.kube.keys import TABLE_CLASS, class_key
from hudi_operator.kube.objects import ObjectKey
from hudi_operator.planning.outcome.status.class_status import build_class_status
from hudi_operator.runtime.controller import Controller, KnownObject, Reconcile, References, Trigger

_log = structlog.get_logger(__name__)


class ClassReporter:
    """Maintains the status of classes; no table waits for it."""

    def __init__(self, kube: KubernetesApi) -> None:
        self._kube = kube

    async def reconcile(self, key: ObjectKey, _trigger: Trigger) -> None:
        """Write the status of a class if it changed."""
        document = await self._kube.get(key)
        if document is None:
            return
        previous, _ = read_by_parts(HudiTableClassStatus, document.get("status"))
        status = build_class_status(parse_table_class(document), previous, now=self._kube.now())
        try:
            await self._kube.replace_status(TABLE_CLASS, document, status.to_document())
        except NotFound:
            _log.warning("the class is gone, or its definition is an older one without a status", table_class=key.name)


def _connect(parts: Parts) -> Reconcile:
    return ClassReporter(parts.kube).reconcile


def _tables_of(table_class: KnownObject, references: References) -> tuple[ObjectKey, ...]:
    """Return the tables of a class, and tables without a class: this class may be, or have been, the default."""
    return (*references.referring_to(table_class.key), *references.referring_to(class_key("")))


TABLE_CLASSES = Controller(kind=TABLE_CLASS, connect=_connect, dependents=_tables_of)
