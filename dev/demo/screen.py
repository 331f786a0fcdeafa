"""Shows the demonstration: each table's status and timeline as they change."""

import sys
import time
from dataclasses import dataclass, field
from typing import Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from hudi_operator.api.status.memory import joined

_INSTANTS_SHOWN = 10
_STATE_STYLES = {"COMPLETED": "green", "INFLIGHT": "yellow", "REQUESTED": "cyan"}


@dataclass
class Screen:
    """A live table on a terminal; elsewhere a line for each change."""

    console: Console = field(default_factory=Console)
    _live: Live | None = None
    _told: set[str] = field(default_factory=set)
    _started: float = field(default_factory=time.monotonic)

    def __enter__(self) -> Self:
        if sys.stdout.isatty():
            self._live = Live(console=self.console, refresh_per_second=4)
            self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.__exit__(None, None, None)
            self._live = None

    def say(self, text: str) -> None:
        """Print one line with the seconds since the beginning."""
        self.console.print(f"[{time.monotonic() - self._started:6.1f} s] {text}", markup=False, highlight=False)

    def show(self, tables: list[dict[str, Any]]) -> None:
        """Show the state of the HudiTables."""
        if self._live is not None:
            self._live.update(Group(*(_picture(table, table.get("status") or {}) for table in tables)))
            return
        for table in tables:
            for line in _lines(table.get("status") or {}):
                text = f"{table['metadata']['name']}: {line}"
                if text not in self._told:
                    self._told.add(text)
                    self.say(text)

    def tell(self, name: str, status: dict[str, Any]) -> None:
        """Print the completed instants of a table, each with the run that made it."""
        runs = {run["instant"]: run for run in _last_runs(status) if run.get("instant")}
        self.say(f"the story of {name}, as its status tells it:")
        for begun, action, state, _ in _instants(status):
            run = runs.get(begun, {})
            what = f"{run.get('service', ''):11} {run.get('message', '')}"
            self.console.print(
                f"    {begun} {action:13} {state:9} {what}".rstrip(),
                markup=False,
                highlight=False,
                soft_wrap=True,
            )


def _picture(table: dict[str, Any], status: dict[str, Any]) -> Group:
    metadata, spec = table["metadata"], table["spec"]
    conditions = {item["type"]: item["status"] for item in status.get("conditions") or ()}
    heading = Text.assemble(
        (f"{metadata['namespace']}/{metadata['name']}", "bold"),
        f"  {spec['type']}  {spec['basePath']}\n",
        *(f"{name}={value}  " for name, value in conditions.items()),
        f"\n{status.get('message') or ''}",
        *(
            f"\n{service}: {state['message']}"
            for service, state in (status.get("services") or {}).items()
            if state.get("message")
        ),
    )
    instants = Table("instant", "action", "state", "completed at")
    for instant in _instants(status)[-_INSTANTS_SHOWN:]:
        instants.add_row(*instant, style=_STATE_STYLES.get(instant[2], ""))
    return Group(heading, instants)


def _instants(status: dict[str, Any]) -> list[list[str]]:
    """Return time, action, state and completion time of the newest instants; a completion time may be empty."""
    lines = (status.get("timeline") or {}).get("instants") or ()
    return [[*line.split(" "), ""][:4] for line in lines]


def _lines(status: dict[str, Any]) -> list[str]:
    lines = [f"instant {begun} {action} {state}" for begun, action, state, _ in _instants(status)]
    lines += [f"job {job['name']} {job['state']}" for job in status.get("jobs") or ()]
    lines += [f"run {run['job']} {run['outcome']}: {run.get('message', '')}" for run in _last_runs(status)]
    return lines


def last_run(status: dict[str, Any], service: str) -> dict[str, Any]:
    """Return the last run of a service, with all its figures; empty before the first."""
    state = (joined(status).get("services") or {}).get(service) or {}
    return dict(state.get("lastRun") or {})


def _last_runs(status: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the last run of each service, oldest first."""
    runs = [run for service in status.get("services") or {} if (run := last_run(status, service))]
    return sorted(runs, key=lambda run: run.get("finishedAt") or "")
