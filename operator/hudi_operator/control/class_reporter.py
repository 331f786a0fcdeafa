"""Writes what the operator has to say of a class into the class itself."""

import structlog

from hudi_operator.api.resources import parse_table_class
from hudi_operator.api.salvage import read_by_parts
from hudi_operator.api.table_class_status import HudiTableClassStatus
from hudi_operator.kube.client import KubernetesClient
from hudi_operator.kube.errors import NotFound
from hudi_operator.planning.status.class_status import build_class_status

_log = structlog.get_logger(__name__)


class ClassReporter:
    """Keeps the status of classes; no table waits for it."""

    def __init__(self, kube: KubernetesClient) -> None:
        self._kube = kube

    async def report(self, name: str) -> None:
        """Write the status of a class unless it is what it should be; a class that is gone has none."""
        document = await self._kube.get_class(name)
        if document is None:
            return
        previous, _ = read_by_parts(HudiTableClassStatus, document.get("status"))
        status = build_class_status(parse_table_class(document), previous, now=self._kube.now())
        try:
            await self._kube.replace_class_status(document, status.to_document())
        except NotFound:
            _log.warning("the class is gone, or its definition is an older one without a status", table_class=name)
