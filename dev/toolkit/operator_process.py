"""Runs the operator as a process of this machine, which tests can kill and restart."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

from toolkit.wrong_clock import clock_environment, forget_clock

ROOT = Path(__file__).resolve().parents[2]


class LocalOperator:
    """Runs `hudi-operator run`, and restarts it whenever it ends, during the context.

    `settings` are its variables without their prefix. Both its outputs go to the file `log`.
    `ahead` is how far its clock is ahead of this machine's.
    """

    def __init__(
        self, *, kubeconfig: Path, settings: Mapping[str, str], log: Path, ahead: timedelta = timedelta()
    ) -> None:
        # HUDI_OPERATOR_CACHE, for example, is a variable of the development programs.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("HUDI_OPERATOR_")}
        given = {f"HUDI_OPERATOR_{name}": value for name, value in settings.items()}
        self._environment = {**inherited, **given, **clock_environment(ahead), "KUBECONFIG": str(kubeconfig)}
        self._process: asyncio.subprocess.Process | None = None
        self._keeper: asyncio.Task[None] | None = None
        self.log = log
        self.starts = 0

    async def __aenter__(self) -> Self:
        await self._start()
        self._keeper = asyncio.create_task(self._keep())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeper
        await self.kill()

    @property
    def pid(self) -> int:
        """The process number of the current or last run."""
        if self._process is None:
            raise RuntimeError("the operator has not been started")
        return self._process.pid

    async def kill(self) -> None:
        """Kill the process, like a crash of its machine."""
        await self._end(signal.SIGKILL)

    async def terminate(self) -> None:
        """Send SIGTERM, and wait for the end of the process."""
        await self._end(signal.SIGTERM)

    def lines(self) -> list[dict[str, Any]]:
        """Return the log's entries; a line that is not JSON becomes an error with the line as its event."""
        lines = []
        for line in self.log.read_text(errors="replace").splitlines():
            try:
                lines.append(json.loads(line))
            except ValueError:
                lines.append({"level": "error", "logger": "", "event": line})
        return lines

    async def _start(self) -> None:
        with self.log.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "hudi_operator",
                "run",
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=self._environment,
                cwd=ROOT,
            )
        self.starts += 1

    async def _keep(self) -> None:
        while self._process is not None:
            await self._process.wait()
            forget_clock(self._process.pid)
            await self._start()

    async def _end(self, number: signal.Signals) -> None:
        process = self._process
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)
        await process.wait()
        forget_clock(process.pid)
