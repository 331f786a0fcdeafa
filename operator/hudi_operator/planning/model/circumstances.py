"""The circumstances of a run beside the table's own spec: the class, the Spark image and the operator.

A failure counts only under the circumstances in which its run was decided. When they change, the operator forgets the
failure, as after a change of the spec.
"""

import hashlib

from hudi_operator import __version__
from hudi_operator.api.resources import HudiTableClass
from hudi_operator.api.status.table import ServiceStatus


def spark_image(table_class: HudiTableClass | None, default_image: str) -> str:
    """Return the image that runs of a table use."""
    return (table_class.spec.spark_image if table_class else None) or default_image


def circumstances_of(table_class: HudiTableClass | None, *, image: str) -> str | None:
    """Return a fingerprint of the circumstances, or None while the class is not known."""
    if table_class is None:
        return None
    metadata = table_class.metadata
    parts = (metadata.name, metadata.uid, str(metadata.generation), image, __version__)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def class_version_of(table_class: HudiTableClass) -> str:
    """Return a fingerprint of the spec of a class."""
    metadata = table_class.metadata
    return hashlib.sha256("\0".join((metadata.name, metadata.uid, str(metadata.generation))).encode()).hexdigest()[:16]


def have_changed(memory: ServiceStatus, *, generation: int, circumstances: str | None) -> bool:
    """Tell whether the remembered failures belong to another spec or to other circumstances.

    Failures that were counted while the class was unknown name no circumstances, and always count.
    """
    if memory.failures_generation != generation:
        return True
    return differ(memory.failures_circumstances, circumstances)


def differ(before: str | None, now: str | None) -> bool:
    """Tell whether two fingerprints are both known and differ."""
    return before is not None and now is not None and before != now
