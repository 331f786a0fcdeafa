"""Names of columns that a table can tell apart."""

from collections.abc import Iterable

from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed


def require_distinct(names: Iterable[str], where: str = "The messages or the table") -> None:
    """Raise `TaskFailed` if names of columns differ only in the case of letters: Spark takes them for one column."""
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.lower(), name)
        if other != name:
            raise TaskFailed(
                FailureReason.SCHEMA_INCOMPATIBLE,
                f"{where} have the columns {other} and {name}, which are the same column in a "
                "table; give them one name in the producer, or declare the columns of JSON values.",
            )
