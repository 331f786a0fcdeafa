"""What the success of a run depends on beside the table's own spec: the class, the Spark image and the operator.

A failure says something about the circumstances under which its run was decided. When they change, it is reset as
after a change of the spec.
"""

import hashlib

from hudi_operator import __version__
from hudi_operator.api.resources import HudiTableClass
from hudi_operator.api.status.table import ServiceStatus


def circumstances_of(table_class: HudiTableClass | None, *, image: str) -> str | None:
    """Return a fingerprint of the circumstances, or None while the class is not known."""
    if table_class is None:
        return None
    metadata = table_class.metadata
    parts = (metadata.name, metadata.uid, str(metadata.generation), image, __version__)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def class_version_of(table_class: HudiTableClass) -> str:
    """Return a fingerprint of a class, which changes with what it says."""
    metadata = table_class.metadata
    return hashlib.sha256("\0".join((metadata.name, metadata.uid, str(metadata.generation))).encode()).hexdigest()[:16]


def have_changed(memory: ServiceStatus, *, generation: int, circumstances: str | None) -> bool:
    """Tell whether the failures that are remembered belong to another spec or to other circumstances.

    Failures that were counted while the class was not known name no circumstances, and belong to any.
    """
    if memory.failures_generation != generation:
        return True
    return differ(memory.failures_circumstances, circumstances)


def differ(before: str | None, now: str | None) -> bool:
    """Tell whether two fingerprints are known and not the same."""
    return before is not None and now is not None and before != now
