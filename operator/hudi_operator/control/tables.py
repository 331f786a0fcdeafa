"""The controller of tables: a table refers to its class, and its Jobs and pods carry its labels."""

from hudi_operator.control.keys import TABLE, class_key
from hudi_operator.control.observation.ending import FINALIZER
from hudi_operator.control.observation.related import RelatedObjects
from hudi_operator.control.parts import Parts
from hudi_operator.control.reconciler import Reconciler
from hudi_operator.jobs.names import MANAGED_BY, MANAGED_BY_LABEL, TABLE_LABEL, TABLE_UID_LABEL
from hudi_operator.kube.objects import JOB, POD, Kind, ObjectKey, text
from hudi_operator.runtime.controller import Children, Controller, Reconcile


def _connect(parts: Parts) -> Reconcile:
    related = RelatedObjects(kube=parts.kube, known=parts.known, controllers=parts.controllers)
    reconciler = Reconciler(
        kube=parts.kube, snapshots=parts.snapshots, settings=parts.settings, related=related, looks=parts.looks
    )
    reconciler.wake = parts.wake
    return reconciler.reconcile


def _class_of(table: object) -> ObjectKey:
    """Return the class of a table; the key without a name stands for the default class."""
    return class_key(text(table, "spec", "tableClassName") or "")


def _labelled(kind: Kind) -> Children:
    selector = f"{MANAGED_BY_LABEL}={MANAGED_BY}"
    return Children(kind=kind, label_selector=selector, uid_label=TABLE_UID_LABEL, name_label=TABLE_LABEL)


TABLES = Controller(
    kind=TABLE,
    connect=_connect,
    reference=_class_of,
    children=(_labelled(JOB), _labelled(POD)),
    polled=True,
    finalizer=FINALIZER,
)
