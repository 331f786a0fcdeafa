"""The informer: watch events come in, keys go into the queue.

An event can hold anything, so fields are read with care, and nothing is done here but to enqueue.
"""

from hudi_operator.control.fields import field, text
from hudi_operator.control.keys import TableKey, Trigger
from hudi_operator.control.queue import KeyedQueue
from hudi_operator.handlers.documents import own_key
from hudi_operator.handlers.known import KnownObjects
from hudi_operator.telemetry.metrics import metrics

_DELETED = "DELETED"
_CHILDREN_SETTLE_SECONDS = 1.0


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
        # What a listing names for the first time is only unknown to this process: whoever changes something goes first.
        # But a listing also tells of what has changed since the last one, or while no watch was open.
        unknown = field(event, "type") is None and key not in self._known
        if field(event, "type") == _DELETED:
            self._known.forget_table(key)
            self._queue.add(key)
        elif self._known.learn_table(key, document):
            self._queue.add(key, Trigger.POLL if unknown else Trigger.EVENT)
        metrics.set_tables(len(self._known))

    def class_event(self, event: object) -> None:
        """Enqueue a class that was made, changed or deleted, and all its tables."""
        metrics.watch_event("HudiTableClass")
        document = field(event, "object")
        name = text(document, "metadata", "name")
        if name is None:
            return
        if field(event, "type") == _DELETED:
            self._known.forget_class(name)
        elif self._known.learn_class(name, document):
            self._queue.add(TableKey.of_class(name))
        else:
            return
        for key in self._known.of_class(name):
            self._queue.add(key)

    def child_event(self, kind: str, event: object) -> None:
        """Enqueue the table of a Job or pod that has come, started, ended, got into trouble or gone."""
        metrics.watch_event(kind)
        document = field(event, "object")
        gone = field(event, "type") == _DELETED
        news = self._known.forget_child(document) if gone else self._known.learn_child(document)
        key = self._known.of_child(document)
        if news and key is not None:
            # A Job and its pod change several times within a moment: one look sees it all.
            self._queue.add_after(key, _CHILDREN_SETTLE_SECONDS, Trigger.CHILD)
