"""The usage of a run in documents from outside: bounded figures, or none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hudi_jobs.contract import (
    DriverUsage,
    ExecutorsUsage,
    JobOutcome,
    Outcome,
    Progress,
    RunUsage,
    TaskResult,
    decode_outcome,
)
from hudi_jobs.contract.operator_folder import decode_progress

DRIVER = {"cpuSeconds": 12.5, "peakMemoryBytes": 2**30}
EXECUTORS = {"number": 3, "reported": 2, "cpuSeconds": 61, "peakMemoryBytes": 2**31}
GOOD = {"driver": DRIVER, "executors": EXECUTORS, "bytesRead": 10, "bytesWritten": 0}

IMPOSSIBLE: list[Any] = [
    7,
    "much",
    [],
    [GOOD],
    {"driver": {}},
    {"driver": {"cpuSeconds": -0.001}},
    {"driver": {"cpuSeconds": float("nan")}},
    {"driver": {"cpuSeconds": float("inf")}},
    {"driver": {"cpuSeconds": 1.1e11}},
    {"driver": {"cpuSeconds": 10**3000}},
    {"driver": {"cpuSeconds": "12"}},
    {"driver": {"cpuSeconds": True}},
    {"driver": {**DRIVER, "peakMemoryBytes": 2**46 + 1}},
    {"driver": {**DRIVER, "peakMemoryBytes": -1}},
    {"driver": {**DRIVER, "peakMemoryBytes": 1.5}},
    {"driver": "\x1b]0;x\x07"},
    {"executors": {**EXECUTORS, "reported": 4}},
    {"executors": {**EXECUTORS, "number": 10_001}},
    {"executors": {**EXECUTORS, "number": None}},
    {"executors": [EXECUTORS]},
    {**GOOD, "bytesRead": 2**60 + 1},
    {**GOOD, "bytesWritten": -1},
    {**GOOD, "bytesWritten": "1"},
]


def outcome_with(usage: object) -> str:
    return json.dumps({"results": [{"id": "a", "outcome": "Succeeded"}], "usage": usage})


@pytest.mark.parametrize("usage", IMPOSSIBLE, ids=[repr(each)[:60] for each in IMPOSSIBLE])
def test_impossible_usage_is_dropped_and_the_outcome_stays(usage: object) -> None:
    assert decode_outcome(outcome_with(usage)) == JobOutcome(results=(TaskResult(id="a", outcome=Outcome.SUCCEEDED),))


@pytest.mark.parametrize("usage", IMPOSSIBLE, ids=[repr(each)[:60] for each in IMPOSSIBLE])
def test_impossible_usage_is_dropped_and_the_progress_stays(usage: object) -> None:
    base = {"run": "flights-ingestion-1", "sequence": 3, "state": "Waiting", "writtenAt": "2026-03-10T12:00:00Z"}
    progress = decode_progress(json.dumps({**base, "usage": usage}).encode())
    assert progress == Progress.model_validate(base)


def test_usage_of_a_driver_and_executors_is_read() -> None:
    assert decode_outcome(outcome_with(GOOD)).usage == RunUsage(
        driver=DriverUsage(cpu_seconds=12.5, peak_memory_bytes=2**30),
        executors=ExecutorsUsage(number=3, reported=2, cpu_seconds=61.0, peak_memory_bytes=2**31),
        bytes_read=10,
        bytes_written=0,
    )


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, None),
        ({}, RunUsage()),
        ({"bytesRead": 3}, RunUsage(bytes_read=3)),
        ({"driver": {"cpuSeconds": 0}}, RunUsage(driver=DriverUsage(cpu_seconds=0.0))),
        ({"driver": DRIVER, "gpuSeconds": 7}, RunUsage(driver=DriverUsage.model_validate(DRIVER))),
    ],
)
def test_usage_with_missing_or_further_parts_is_read(usage: object, expected: RunUsage | None) -> None:
    assert decode_outcome(outcome_with(usage)).usage == expected


def test_outcome_of_an_older_driver_has_no_usage() -> None:
    assert decode_outcome('{"results": []}').usage is None
