"""A hundred tables for which nothing is due: the operator writes nothing, and reads little."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.faults.arena import PATIENCE, Arena, arena
from tests.faults.skew import skews

from hudi_operator.api.crd.kinds import KINDS

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800), pytest.mark.usefixtures("cluster")]

TABLES = 100
WATCH_SECONDS = 300
"""After how long a watch is opened again (`watch_settings`)."""


async def test_idle_tables_cause_no_write_and_a_bounded_number_of_reads(
    tmp_path: Path, seed: int, *, full: bool
) -> None:
    # Shortened, everything that happens by the clock happens ten times as often as by default, or more often.
    window, poll, longest, resync = (600.0, 10.0, 300.0, 300.0) if full else (30.0, 1.0, 30.0, 10.0)
    times: dict[str, Any] = {"POLL_SECONDS": f"{poll}", "MAX_POLL_SECONDS": f"{longest}", "RESYNC_SECONDS": f"{resync}"}
    port = free_port()
    skew = next(skews(full=full, start=seed))
    others: dict[str, Any] = {"METRICS_PORT": str(port), "LEADER_ELECTION": "true"}
    async with arena(tmp_path / "idle", skew=skew, **others, **times) as place:
        await asyncio.gather(*(place.declare(f"idle-{number}") for number in range(TABLES)))
        await until_idle(place)
        before, reads, requests = len(place.proxy.writes), Counter(place.proxy.reads), await store_requests(port)

        await asyncio.sleep(window)

        written = [str(write.call) for write in place.proxy.writes[before:]]
        read = place.proxy.reads - reads
        asked = await store_requests(port) - requests
    print(f"in {window:g} s, {skew}: {asked:g} requests to the store, {dict(read)}")  # noqa: T201 - the measure itself
    assert written == []
    # One listing per read; a table that rests is polled less and less often.
    assert 0 < asked <= TABLES * window / poll
    # One listing of each kind of the operator per resync, and one that asks whether the namespace may be read; watches,
    # of Jobs and pods too, that are opened again when they time out: nothing that grows with the reconciles or tables.
    watches = sum(number for call, number in read.items() if call.startswith("WATCH"))
    resyncs = 1 + window / (0.9 * resync)  # the pause between two resyncs is drawn from 0.9 to 1.1 of the period
    assert read.total() - watches <= (len(KINDS) + 1) * resyncs
    assert watches <= (len(KINDS) + 2) * (1 + window / WATCH_SECONDS)


async def until_idle(place: Arena) -> None:
    """Wait until every table has ingested once, and until nothing has been written for a while."""

    async def ready() -> bool:
        statuses = [table.get("status") or {} for table in await place.items(place.tables)]
        return all(status.get("history") and not status.get("activeJobs") for status in statuses)

    await place.eventually(ready, what="all tables have ingested", seconds=2 * PATIENCE)
    seen = -1
    while seen != len(place.proxy.writes):
        seen = len(place.proxy.writes)
        await asyncio.sleep(5)


async def store_requests(port: int) -> float:
    """Return how often the operator has asked the store for something since it began."""
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/metrics") as answer:
        families = {family.name: family for family in text_string_to_metric_families(await answer.text())}
    return float(sum(sample.value for sample in families["hudi_operator_store_requests"].samples))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
