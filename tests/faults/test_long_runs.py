"""A run of an hour: its status shows how far it is, and is not written more often than once a minute."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.faults.arena import arena
from tests.faults.driver import commit, folder_of
from tests.faults.node import Ended
from tests.faults.skew import Skew

from hudi_jobs.contract import OPERATOR_FOLDER, JobRequest
from hudi_jobs.contract.run_progress import INGESTION_LEASE
from hudi_operator.jobs.names import REQUEST_ANNOTATION

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600), pytest.mark.usefixtures("cluster")]

TOUCHES = 15

Document = dict[str, Any]


class LongRun:
    """A driver that renews its lease with ever more tasks done, until it is told to commit."""

    def __init__(self) -> None:
        self.over = asyncio.Event()

    async def work(self, pod: Document) -> Ended:
        request = JobRequest.model_validate_json(pod["metadata"]["annotations"][REQUEST_ANNOTATION])
        folder = folder_of(request.tasks[0].table.base_path) / OPERATOR_FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        done = 0
        while not self.over.is_set():
            done += 1
            progress = {"run": request.run, "phase": "Writing", "done": done, "total": 100_000, "seconds": done}
            record = {"run": request.run, "state": "Held", "progress": progress}
            draft = folder / "draft"
            draft.write_text(json.dumps(record))
            draft.rename(folder / INGESTION_LEASE)
            await asyncio.sleep(0.1)
        return await commit(pod)


async def test_a_status_shows_how_far_a_run_is_and_changes_at_most_once_a_minute(tmp_path: Path) -> None:
    run = LongRun()
    # The node is an hour behind, so the run seems to have begun an hour ago.
    async with arena(tmp_path / "long", skew=Skew(drivers=-timedelta(hours=1))) as place:
        place.node.work = run.work
        await place.declare("orders")

        async def shown() -> str | None:
            table = await place.get("orders")
            jobs = ((table or {}).get("status") or {}).get("jobs") or [{}]
            return str(jobs[0].get("progress") or "") or None

        def written() -> list[str]:
            return [write.call.path for write in place.proxy.writes if write.call.path.endswith("/orders/status")]

        first, seen_at = await place.eventually(shown, what="the run shows how far it is"), time.monotonic()
        assert first.startswith("Writing: ")
        assert first.endswith(" of 100,000 tasks")
        writes = len(written())
        for number in range(TOUCHES):
            await place.patch("orders", {"metadata": {"annotations": {"team.example.com/touched": str(number)}}})
            await asyncio.sleep(1)
        assert (await shown(), len(written())) == (first, writes)

        async def changed() -> bool:
            return (await shown() or "") != str(first)

        await place.eventually(changed, what="the progress changes")
        assert time.monotonic() - seen_at > 50
        assert len(written()) == writes + 1

        run.over.set()

        async def is_over() -> bool:
            return not ((await place.get("orders") or {}).get("status") or {}).get("jobs")

        await place.eventually(is_over, what="the run has ended")
        assert "100,000 tasks" not in json.dumps(await place.get("orders"))
        assert place.unexpected() == []
