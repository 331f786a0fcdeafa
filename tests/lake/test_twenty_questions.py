"""The questions of a platform team, each answered by its one command, on a lake of sixty tables of five tenants."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
import yaml
from tests.cli.command import Done, command
from tests.faults.arena import API, SETTINGS, is_error
from tests.faults.driver import commit, ended
from tests.faults.node import NODE_LABEL, Ended, FakeNode
from tests.faults.upstream import open_session
from tests.lake.recorded_lake import BROKEN, HEALTHY, TENANTS, make_lake

from hudi_jobs.contract import decode_outcome
from hudi_operator.api.spec.operation import OPERATION_FIELDS
from hudi_operator.kube.errors import NotFound
from hudi_operator.kube.transport import MERGE_PATCH, Transport, load_configuration
from toolkit.operator_process import LocalOperator

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(600),
]

Document = dict[str, Any]
ZONE = "America/New_York"
"""The zone of the writers of the recorded timelines."""


@dataclass
class Lake:
    """The lake, and the namespaces of its tenants by their names."""

    folder: Path
    namespaces: dict[str, str]
    table_class: str
    transport: Transport
    operator: LocalOperator

    async def ask(self, *words: str) -> Done:
        """Run a command as a person."""
        return await asyncio.to_thread(command, *words)

    async def tables(self) -> list[Document]:
        """Return the tables of all tenants."""
        listed = json.loads((await self.ask("status", "-A", "--class", self.table_class, "-o", "json")).stdout)
        return list(listed["items"])

    async def until(self, look: Callable[[], Awaitable[Any]]) -> Any:
        """Return the first true answer."""
        try:
            async with asyncio.timeout(120):
                while not (found := await look()):  # noqa: ASYNC110 - no event tells
                    await asyncio.sleep(0.3)
                return found
        except TimeoutError:
            log = self.operator.log.read_text(errors="replace").splitlines()[-20:]
            pytest.fail("\n".join(["no answer in time", *log]), pytrace=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lake(cluster: None, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lake]:  # noqa: ARG001
    """An operator that observes the sixty tables, as `adopt` writes them, and one table that it ingests."""
    folder, mark = tmp_path_factory.mktemp("lake"), uuid4().hex[:6]
    make_lake(folder / "lake")
    configuration = await load_configuration()
    namespaces = {tenant: f"{tenant}-{mark}" for tenant in TENANTS}
    async with contextlib.AsyncExitStack() as stack:
        transport = await stack.enter_async_context(Transport(configuration, timeout_seconds=30))
        session = await stack.enter_async_context(open_session(configuration))
        stack.push_async_callback(_remove, transport, namespaces.values(), mark)
        await _declare(transport, folder, namespaces, mark)
        await stack.enter_async_context(FakeNode(transport, session, name=mark, work=ingest))
        own = {"WATCH_NAMESPACES": ",".join(namespaces.values()), "OPERATOR_NAMESPACE": namespaces["sales"]}
        operator = LocalOperator(
            kubeconfig=Path(os.environ["KUBECONFIG"]),
            settings={**SETTINGS, "POLL_SECONDS": "3", "MAX_POLL_SECONDS": "6", **own},
            log=folder / "operator.log",
        )
        await stack.enter_async_context(operator)
        found = Lake(folder, namespaces, mark, transport, operator)
        await found.until(lambda: _all_read(found))
        yield found
        assert [line["event"] for line in operator.lines() if is_error(line)] == []


async def ingest(pod: Document) -> Ended:
    """Commit as a driver that has read everything up to now."""
    outcome = decode_outcome((await commit(pod)).message)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return ended(outcome.results[0].copy_with(complete_up_to=now))


async def _declare(transport: Transport, folder: Path, namespaces: dict[str, str], mark: str) -> None:
    rules = {
        "allowedBasePaths": [f"file://{folder}/lake"],
        "allowedSourcePaths": [f"file://{folder}/landing"],
        "execution": {"mode": "Local"},
        "job": {"nodeSelector": {NODE_LABEL: mark}},
        "operations": {"allowed": [*OPERATION_FIELDS], "approval": "Manual"},
    }
    api = {"apiVersion": "hudi-operator.io/v1beta1"}
    table_class = {**api, "kind": "HudiTableClass", "metadata": {"name": mark}, "spec": rules}
    await transport.request("POST", f"{API}/huditableclasses", body=table_class)
    for tenant, namespace in namespaces.items():
        await transport.request("POST", "/api/v1/namespaces", body={"metadata": {"name": namespace}})
        place = str(folder / "lake" / tenant)
        drafted = await asyncio.to_thread(command, "adopt", place, "--namespace", namespace, "--class", mark)
        for document in yaml.load_all(drafted.stdout, yaml.CSafeLoader):
            if "-upgraded-" in document["metadata"]["name"]:  # their files do not show the zone, so a person decides
                document["spec"]["timelineTimeZone"] = ZONE
            await transport.request("POST", f"{API}/namespaces/{namespace}/huditables", body=document)
    (folder / "landing").mkdir()
    (folder / "landing" / "first.csv").write_text("1\n")
    source = {"files": {"path": f"file://{folder}/landing", "format": "csv"}}
    spec = {
        "tableClassName": mark,
        "basePath": f"file://{folder}/lake/sales/orders",
        "type": "CopyOnWrite",
        "recordKey": ["id"],
        "ingestion": {"source": source, "operation": "Insert", "schedule": {"every": "24h"}},
    }
    orders = {**api, "kind": "HudiTable", "metadata": {"name": "orders"}, "spec": spec}
    await transport.request("POST", f"{API}/namespaces/{namespaces['sales']}/huditables", body=orders)


async def _remove(transport: Transport, namespaces: Any, mark: str) -> None:
    for namespace in namespaces:
        for plural in ("hudioperations", "huditables"):
            path = f"{API}/namespaces/{namespace}/{plural}"
            async for one in transport.list_items(path):
                with contextlib.suppress(NotFound):
                    place = f"{path}/{one['metadata']['name']}"
                    await transport.request(
                        "PATCH", place, body={"metadata": {"finalizers": None}}, content_type=MERGE_PATCH
                    )
        with contextlib.suppress(NotFound):
            await transport.request("DELETE", f"/api/v1/namespaces/{namespace}")
    with contextlib.suppress(NotFound):
        await transport.request("DELETE", f"{API}/huditableclasses/{mark}")


async def _all_read(lake: Lake) -> bool:
    tables = await lake.tables()
    ready = [one for one in tables if "timeline" in one.get("status", {})]
    return len(ready) == len(HEALTHY) + len(BROKEN) + 1


def codes(table: Document) -> set[str]:
    """Return the codes of the findings above Info."""
    found = table["status"].get("findings") or ()
    return {one["code"] for one in found if one["severity"] != "Info"}


async def test_only_the_broken_tables_are_unhealthy_and_each_with_its_cause(lake: Lake) -> None:
    done = await lake.ask("status", "-A", "--unhealthy", "--class", lake.table_class)
    assert done.returncode == 1
    assert {line.split()[1] for line in done.stdout.splitlines()[1:]} == set(BROKEN)
    assert "61 tables: " in done.stderr
    found = {one["metadata"]["name"]: codes(one) for one in await lake.tables()}
    assert {name: set(one.in_status) for name, one in BROKEN.items()} == {name: found[name] for name in BROKEN}
    assert {name: said for name, said in found.items() if said and name not in BROKEN} == {}


@pytest.mark.parametrize("name", BROKEN)
async def test_explanation_of_a_broken_table_has_the_evidence_and_the_remedy(lake: Lake, name: str) -> None:
    (namespace,) = [one["metadata"]["namespace"] for one in await lake.tables() if one["metadata"]["name"] == name]
    done = await lake.ask("explain", name, "-n", namespace)
    assert done.returncode == 1, done.stderr
    assert all(code in done.stdout for code in BROKEN[name].in_status)
    assert done.stdout.count("To do: ") >= len(BROKEN[name].in_status)


async def test_timeline_of_a_table_shows_what_is_pending(lake: Lake) -> None:
    (table,) = [one for one in await lake.tables() if one["metadata"]["name"] == "killed-compaction"]
    done = await lake.ask("timeline", "ht/killed-compaction", "-n", table["metadata"]["namespace"])
    assert done.returncode == 0, done.stderr
    (pending,) = table["status"]["timeline"]["pending"]
    assert pending.split()[0] in done.stdout


async def test_bucket_that_somebody_hands_over_has_the_same_broken_tables(lake: Lake) -> None:
    done = await lake.ask("doctor", str(lake.folder / "lake"), "--fail-on", "Warning", "-o", "json")
    assert done.returncode == 1
    severities = {
        one["path"].rpartition("/")[2]: {said["severity"] for said in one["findings"]}
        for one in json.loads(done.stdout)["tables"]
    }
    assert {name for name, found in severities.items() if found - {"Info"}} == set(BROKEN)


async def test_table_furthest_behind_its_source_comes_first(lake: Lake) -> None:
    done = await lake.ask("status", "-A", "--sort", "behind", "--class", lake.table_class)
    assert done.stdout.splitlines()[1].split()[1] == "orders"


async def test_next_run_of_a_table_is_explained(lake: Lake) -> None:
    done = await lake.ask("explain", "orders", "-n", lake.namespaces["sales"])
    assert done.returncode == 0
    (ingestion,) = [line for line in done.stdout.splitlines() if line.strip().startswith("ingestion")]
    assert "in 23h" in ingestion


async def test_requested_run_starts_now_and_is_in_the_history_and_the_cost(lake: Lake) -> None:
    sales = lake.namespaces["sales"]

    async def runs() -> int:
        return (await lake.ask("history", "orders", "-n", sales)).stdout.count("Succeeded")

    before = await runs()
    assert (await lake.ask("run", "orders", "-n", sales)).returncode == 0

    async def is_done() -> bool:
        return await runs() > before

    await lake.until(is_done)
    cost = (await lake.ask("cost", "-A", "--since", "today", "--by", "namespace")).stdout
    assert sales in cost


async def test_sizes_of_all_tables_are_listed(lake: Lake) -> None:
    listed = (await lake.ask("top", "-A", "-o", "name")).stdout.splitlines()
    assert {f"huditable.hudi-operator.io/{name}" for name in BROKEN} < set(listed)


async def test_tenant_is_stopped_and_continues(lake: Lake) -> None:
    sales = lake.namespaces["sales"]
    tenant = ("--namespace-wide", "-n", sales)
    assert (await lake.ask("suspend", *tenant, "--reason", "the bucket moves")).returncode == 0

    async def is_suspended() -> bool:
        return "the bucket moves" in (await lake.ask("explain", "orders", "-n", sales)).stdout

    # The operator reads the namespace before it starts what is requested; without a request, within two minutes.
    await lake.ask("run", "orders", "-n", sales)
    await lake.until(is_suspended)
    assert (await lake.ask("resume", *tenant)).returncode == 0
    await lake.ask("run", "orders", "-n", sales)

    async def continues() -> bool:
        return not await is_suspended()

    await lake.until(continues)


async def test_merge_of_a_changed_resource_is_foreseen(lake: Lake, tmp_path: Path) -> None:
    sales = lake.namespaces["sales"]
    table = await lake.transport.request("GET", f"{API}/namespaces/{sales}/huditables/orders")
    document = {key: table[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": {"name": "orders"}}
    document["spec"]["cleaning"] = {"trigger": {"commits": 7}}
    (tmp_path / "orders.yaml").write_text(yaml.safe_dump(document))
    done = await lake.ask("plan", "-f", str(tmp_path / "orders.yaml"), "--live", "-n", sales)
    assert (done.returncode, "+    commits: 7" in done.stdout) == (0, True)


async def test_upgrade_is_examined_before(lake: Lake) -> None:
    done = await lake.ask("preflight", "-n", lake.namespaces["sales"], "-o", "json")
    assert done.returncode in {0, 1}, done.stderr
    assert json.loads(done.stdout)


async def test_move_to_another_tenant_is_foreseen_and_changes_nothing(lake: Lake) -> None:
    sales, finance = lake.namespaces["sales"], lake.namespaces["finance"]
    done = await lake.ask("move", "orders", "-n", sales, "--to-namespace", finance, "--dry-run")
    assert (done.returncode, finance in done.stdout + done.stderr) == (0, True), done
    assert len([one for one in await lake.tables() if one["metadata"]["name"] == "orders"]) == 1


@pytest.mark.parametrize("kind", ["restore", "erase"])
async def test_operation_that_a_person_requests_waits_for_approval(lake: Lake, kind: str) -> None:
    sales, now = lake.namespaces["sales"], datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    what = {"restore": ("--to", now), "erase": ("--key", "id=4711")}[kind]
    done = await lake.ask(kind, "orders", *what, "--yes", "-n", sales)
    assert done.returncode == 0, done.stderr
    name = done.stdout.split()[0].partition("/")[2]

    async def waits() -> bool:
        history = (await lake.ask("history", "orders", "-n", sales)).stdout
        return any(name in line and "pprov" in line for line in history.splitlines())

    await lake.until(waits)
    await lake.transport.request("DELETE", f"{API}/namespaces/{sales}/hudioperations/{name}")
