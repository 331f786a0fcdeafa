"""kopf as an informer: its handlers turn watch events into keys and do nothing else.

Errors of kopf's event handlers are logged and dropped, so the handlers only read fields with care and enqueue.
"""

import itertools
from collections.abc import Iterator

import kopf

from hudi_operator.api.base import GROUP, VERSION
from hudi_operator.control.keys import TableKey
from hudi_operator.control.queue import KeyedQueue
from hudi_operator.handlers.documents import field, own_key, text
from hudi_operator.handlers.known import KnownObjects
from hudi_operator.jobs.names import MANAGED_BY, MANAGED_BY_LABEL
from hudi_operator.kube.transport import load_configuration
from hudi_operator.telemetry.metrics import metrics

_DELETED = "DELETED"


class Informer:
    """Takes watch events and puts the keys that they concern into the queue."""

    def __init__(self, *, queue: KeyedQueue[TableKey], known: KnownObjects) -> None:
        self._queue = queue
        self._known = known

    def table_event(self, event: object) -> None:
        """Enqueue a table that was made, changed or deleted; a change of its status alone calls for nothing."""
        metrics.watch_event("HudiTable")
        document = field(event, "object")
        key = own_key(document)
        if key is None:
            return
        if field(event, "type") == _DELETED:
            self._known.forget_table(key)
            self._queue.add(key)
        elif self._known.learn_table(key, document):
            self._queue.add(key)
        metrics.set_tables(len(self._known))

    def class_event(self, event: object) -> None:
        """Enqueue all tables of a class that was made, changed or deleted."""
        metrics.watch_event("HudiTableClass")
        document = field(event, "object")
        name = text(document, "metadata", "name")
        if name is None:
            return
        if field(event, "type") == _DELETED:
            self._known.forget_class(name)
        elif not self._known.learn_class(name, document):
            return
        for key in self._known.of_class(name):
            self._queue.add(key)

    def child_event(self, kind: str, event: object) -> None:
        """Enqueue the table of a Job or pod that has come, changed or gone."""
        metrics.watch_event(kind)
        key = self._known.of_child(field(event, "object"))
        if key is not None:
            self._queue.add(key)

    def registry(self) -> kopf.OperatorRegistry:
        """Return the handlers as kopf wants them, apart from kopf's global registry."""
        registry = kopf.OperatorRegistry()

        @kopf.on.login(registry=registry)
        async def credentials(**_: object) -> kopf.ConnectionInfo:
            return await watch_credentials()

        @kopf.on.event(GROUP, VERSION, "huditables", registry=registry)
        async def table(event: kopf.RawEvent, **_: object) -> None:
            self.table_event(event)

        @kopf.on.event(GROUP, VERSION, "huditableclasses", registry=registry)
        async def table_class(event: kopf.RawEvent, **_: object) -> None:
            self.class_event(event)

        @kopf.on.event("batch", "v1", "jobs", registry=registry)
        async def job(event: kopf.RawEvent, **_: object) -> None:
            self.child_event("Job", event)

        @kopf.on.event("v1", "pods", registry=registry)
        async def pod(event: kopf.RawEvent, **_: object) -> None:
            self.child_event("Pod", event)

        return registry


class _Backoffs:
    """Seconds between attempts, without end: after its last attempt kopf would stop the whole operator."""

    def __iter__(self) -> Iterator[float]:
        return itertools.chain((1, 1, 2, 3, 5, 8, 13, 21), itertools.repeat(30))


def informer_settings() -> kopf.OperatorSettings:
    """Return kopf's settings for watching only: no writes, no peering, no events, timeouts on every stream."""
    settings = kopf.OperatorSettings()
    settings.peering.standalone = True
    settings.posting.enabled = False
    settings.scanning.disabled = True  # the CRDs are there before the operator, so it needs no right to watch CRDs
    settings.process.ultimate_exiting_timeout = None
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 310
    settings.watching.connect_timeout = 30
    settings.watching.reconnect_backoff = 2.0
    settings.watching.chunk_size = 500
    settings.networking.request_timeout = 60
    settings.networking.error_backoffs = _Backoffs()
    ours = f"{MANAGED_BY_LABEL}={MANAGED_BY}"
    settings.watching.label_selectors["batch", "v1", "jobs"] = ours
    settings.watching.label_selectors["v1", "pods"] = ours
    return settings


async def watch_credentials() -> kopf.ConnectionInfo:
    """Return the API server and credentials for kopf: the same that the operator's own client takes."""
    configuration = await load_configuration()
    scheme, _, token = str(configuration.api_key.get("BearerToken") or "").rpartition(" ")
    return kopf.ConnectionInfo(
        server=configuration.host,
        ca_path=configuration.ssl_ca_cert,
        insecure=not configuration.verify_ssl,
        scheme=(scheme or "Bearer").capitalize() if token else None,
        token=token or None,
        certificate_path=configuration.cert_file,
        private_key_path=configuration.key_file,
        proxy_url=configuration.proxy,
    )
