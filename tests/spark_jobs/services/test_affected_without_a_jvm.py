"""A run whose JVM has died tells why it failed, although nobody can say any more what became of pending instants."""

from typing import Any, cast

import pytest

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import AffectedInstant
from hudi_jobs.table_services.timeline import Begun, Timeline
from hudi_jobs.table_services.unfinished_work import noting_affected


class Gone:
    """A timeline that was read, and whose JVM has then died."""

    def begun(self) -> list[Begun]:
        return [Begun("20260310113000000", "deltacommit")]

    def completed(self) -> list[tuple[str, str]]:
        raise ConnectionError("the JVM has died")


def test_the_cause_is_what_is_reported() -> None:
    noted: list[AffectedInstant] = []
    context = TaskContext(spark=cast("Any", None), run="run-1", task=cast("Any", None), affected=noted)
    with pytest.raises(MemoryError), noting_affected(context, lambda: cast("Timeline", Gone())):
        raise MemoryError
    assert noted == []
