"""The progress of a run in a lease record: what people read of it, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hudi_jobs.contract import OPERATOR_FILE_LIMIT, Service
from hudi_jobs.contract.run_progress import (
    PROGRESS_LINE_LIMIT,
    ProgressUnit,
    RunPhase,
    RunProgress,
    decode_run_progress,
    encode_run_progress,
    lease_of,
)

GIB = 2**30
COMPACTING: dict[str, Any] = {"run": "orders-1", "phase": "Compacting", "unit": "FileGroups", "seconds": 60}


def line(**fields: Any) -> str:
    return RunProgress.model_validate(COMPACTING | fields).line


def record(progress: object) -> bytes:
    return json.dumps({"run": "orders-1", "state": "Held", "progress": progress}).encode()


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "Compacting"),
        ({"done": 0, "total": 480}, "Compacting: 0 of 480 file groups"),
        ({"done": 120, "total": 480}, "Compacting: 120 of 480 file groups, about 3m left"),
        ({"done": 1, "total": 1}, "Compacting: 1 of 1 file group"),
        (
            {"done": 120, "total": 480, "bytesRead": 2 * GIB, "bytesToRead": 8 * GIB},
            "Compacting: 120 of 480 file groups, 2.0 GiB of 8.0 GiB, 34.1 MiB/s, about 3m left",
        ),
        # No file group is finished, so the bytes tell the time that is left.
        (
            {"done": 0, "total": 2, "bytesRead": GIB, "bytesToRead": 2 * GIB},
            "Compacting: 0 of 2 file groups, 1.0 GiB of 2.0 GiB, 17.1 MiB/s, about 60s left",
        ),
        # Hudi has read more than its plan expects.
        ({"bytesRead": 3 * GIB, "bytesToRead": 2 * GIB}, "Compacting: 3.0 GiB read, 51.2 MiB/s"),
        ({"done": 5, "total": 4}, "Compacting"),
        # The pace of the first seconds is that of the start.
        ({"done": 1, "total": 4, "seconds": 9}, "Compacting: 1 of 4 file groups"),
        ({"done": 1, "total": 2**53, "seconds": 600}, "Compacting: 1 of 9,007,199,254,740,992 file groups"),
        (
            {"phase": "Writing", "unit": "Tasks", "done": 1, "total": 2, "bytesRead": GIB, "bytesWritten": 6 * 2**20},
            "Writing: 1 of 2 tasks, 6.0 MiB written, 102 KiB/s",
        ),
        (
            {"phase": "Reading", "unit": "Tasks", "done": 3, "total": 8, "bytesRead": GIB, "bytesToRead": 2 * GIB},
            "Reading: 3 of 8 tasks, 1.0 GiB of 2.0 GiB, 17.1 MiB/s, about 60s left",
        ),
        ({"phase": "Cleaning", "bytesRead": 0, "bytesWritten": 0}, "Cleaning"),
    ],
)
def test_progress_is_one_line(fields: dict[str, Any], text: str) -> None:
    assert line(**fields) == text


def test_the_longest_line_fits_the_status() -> None:
    numbers = {"done": 2**53 - 1, "total": 2**53, "bytesRead": 1023 * 2**40, "bytesToRead": 2**53}
    for phase in RunPhase:
        for unit in ProgressUnit:
            assert len(line(phase=phase, unit=unit, seconds=30 * 86_400, **numbers)) <= PROGRESS_LINE_LIMIT


def test_a_lease_record_has_the_progress_that_its_driver_wrote() -> None:
    progress = RunProgress.model_validate(COMPACTING | {"done": 1, "total": 2})

    assert decode_run_progress(record(encode_run_progress(progress))) == progress


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"[" * 100_000,
        b'{"run": "orders-1", "state": "Held"}',
        record(None),
        record("much"),
        record({**COMPACTING, "run": "\x1b[31m"}),
        record({**COMPACTING, "run": "o" * 331}),
        record({**COMPACTING, "phase": "Done <script>"}),
        record({**COMPACTING, "unit": "Rabbits"}),
        record({**COMPACTING, "done": -1}),
        record({**COMPACTING, "total": 2**53 + 1}),
        record({**COMPACTING, "bytesRead": 1e300}),
        record({**COMPACTING, "seconds": 31 * 86_400}),
        record({**COMPACTING, "seconds": float("nan")}),
        record(COMPACTING).ljust(OPERATOR_FILE_LIMIT + 1),
    ],
)
def test_a_record_that_no_driver_writes_has_no_progress(content: bytes) -> None:
    assert decode_run_progress(content) is None


def test_an_ingestion_and_a_service_report_in_different_leases() -> None:
    assert lease_of(Service.INGESTION) != lease_of(Service.COMPACTION) == lease_of(Service.OPERATION)
