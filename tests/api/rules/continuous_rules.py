"""What the API server accepts and refuses of continuous ingestion in a HudiTable."""

from typing import Any

Document = dict[str, Any]

CONTINUOUS = {
    "spec.ingestion": {
        "mode": "Continuous",
        "source": {"files": {"path": "s3a://landing/flights/", "format": "csv"}},
    }
}


def _with(**settings: str) -> Document:
    return {**CONTINUOUS, "spec.ingestion.continuous": settings}


ACCEPTED: dict[str, Document] = {
    "continuous ingestion": CONTINUOUS,
    "continuous ingestion with its least settings": _with(
        minInterval="1s", recycleAfter="10m", progressDeadline="2m", serviceInterval="1m"
    ),
    "continuous ingestion with its greatest settings": _with(
        minInterval="1h", recycleAfter="168h", progressDeadline="168h", serviceInterval="720h"
    ),
}

REFUSED: dict[str, tuple[Document, str]] = {
    "settings of a continuous driver without its mode": (
        {**_with(minInterval="10s"), "spec.ingestion.mode": "Batch"},
        "continuous is only for mode Continuous",
    ),
    "a schedule of a continuous driver": (
        {**CONTINUOUS, "spec.ingestion.schedule": {"every": "5m"}},
        "schedule is not for mode Continuous, because its driver runs all the time",
    ),
    "batches that replace each other": (
        {**CONTINUOUS, "spec.ingestion.operation": "InsertOverwrite"},
        "operation InsertOverwrite is not for mode Continuous",
    ),
    "batches without a pause": (_with(minInterval="0s"), "minInterval must be at least 1s"),
    "batches hours apart": (_with(minInterval="2h"), "minInterval must not be longer than 1h"),
    "a driver that is recycled all the time": (_with(recycleAfter="1m"), "recycleAfter must be at least 10m"),
    "a driver that is never recycled": (_with(recycleAfter="169h"), "recycleAfter must not be longer than 168h"),
    "a driver that may not stand still": (_with(progressDeadline="1m"), "progressDeadline must be at least 2m"),
    "a driver that may stand still for ever": (
        _with(progressDeadline="200h"),
        "progressDeadline must not be longer than 168h",
    ),
    "services all the time": (_with(serviceInterval="1s"), "serviceInterval must be at least 1m"),
    **{
        f"{name} without a unit": (_with(**{name: "60"}), f"spec.ingestion.continuous.{name}: Invalid value")
        for name in ("minInterval", "recycleAfter", "progressDeadline", "serviceInterval")
    },
}
