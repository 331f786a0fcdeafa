"""The commands about tables against a real API server, with the rights of a person."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.command import Done, command
from tests.cli.tables import recorded

from hudi_operator.control.keys import TABLE
from hudi_operator.kube.events import EventType, event_manifest
from hudi_operator.kube.objects import collection_path
from hudi_operator.kube.transport import Transport

pytestmark = pytest.mark.cluster


@pytest.fixture
async def lake(transport: Transport, namespace: str) -> str:
    """A namespace with the recorded tables."""
    for name, document in recorded().items():
        document["metadata"] = {"name": name, "namespace": namespace}
        status = document.pop("status")
        path = collection_path(TABLE, namespace)
        made = await transport.request("POST", path, query={"fieldValidation": "Strict"}, body=document)
        await transport.request("PUT", f"{path}/{name}/status", body={**made, "status": status})
    return namespace


def current_config() -> dict[str, Any]:
    return dict(yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text()))


async def hudi(*arguments: str) -> Done:
    """Run a command beside the loop of the test."""
    return await asyncio.to_thread(command, *arguments)


async def test_status_lists_the_tables_and_ends_with_1_for_an_unhealthy_one(lake: str) -> None:
    done = await hudi("status", "-n", lake)
    assert done.returncode == 1, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == sorted(recorded())
    assert done.stderr == "5 tables: 3 ready, 3 unhealthy, 1 suspended.\n"
    everywhere = await hudi("status", "-A", "--unhealthy", "-o", "name")
    assert "huditable.hudi-operator.io/blocked" in everywhere.stdout
    healthy = await hudi("status", "-n", lake, "--class", "other")
    assert (healthy.returncode, healthy.stdout) == (0, "")


async def test_status_as_documents_is_what_the_cluster_has(lake: str) -> None:
    listed = json.loads((await hudi("status", "-n", lake, "-o", "json")).stdout)
    shown = yaml.safe_load((await hudi("status", "-n", lake, "-o", "yaml")).stdout)
    assert listed == shown
    assert [one["metadata"]["name"] for one in listed["items"]] == sorted(recorded())


async def test_explain_shows_what_the_status_says(lake: str) -> None:
    done = await hudi("explain", "ht/quarantined", "-n", lake)
    assert done.returncode == 1
    assert "To do: Look at the rows" in done.stdout
    assert yaml.safe_load((await hudi("explain", "orders", "-n", lake, "-o", "yaml")).stdout)["services"]["compaction"][
        "due"
    ]


async def test_history_and_events_of_a_table_are_shown(lake: str, transport: Transport) -> None:
    about = await transport.request("GET", f"{collection_path(TABLE, lake)}/orders")
    event = event_manifest(about, kind=EventType.WARNING, reason="Tried", message="It failed.", instance="tests")
    await transport.request("POST", f"/api/v1/namespaces/{lake}/events", body=event)
    assert "Read 20 rows of 1 file." in (await hudi("history", "orders", "-n", lake)).stdout
    assert "It failed." in (await hudi("events", "orders", "-n", lake)).stdout
    assert (await hudi("events", "blocked", "-n", lake)).stderr == "There are no Events about blocked.\n"


async def test_wait_ends_with_the_state_or_with_the_time(lake: str) -> None:
    assert (await hudi("wait", "orders", "-n", lake, "--for", "ready")).returncode == 0
    done = await hudi("wait", "blocked", "-n", lake, "--timeout", "1s")
    assert done.returncode == 1
    assert "is not ready" in done.stderr


async def test_missing_table_is_named(lake: str) -> None:
    done = await hudi("explain", "nobody", "-n", lake)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"There is no HudiTable nobody in namespace {lake}." in done.stderr


async def test_names_of_tables_are_completed_from_the_cluster(lake: str, capsys: pytest.CaptureFixture[str]) -> None:
    from hudi_operator.cli.base.completion import complete_for_kubectl  # noqa: PLC0415
    from hudi_operator.cli.main import GROUP  # noqa: PLC0415

    await asyncio.to_thread(complete_for_kubectl, GROUP, ["explain", "-n", lake, "o"])
    assert capsys.readouterr().out == "orders\t\n:4\n"


async def test_namespace_and_context_come_from_the_kubeconfig(lake: str, tmp_path: Path) -> None:
    config = current_config()
    (context,) = config["contexts"][:1]
    config["contexts"] = [context, {"name": "team", "context": {**context["context"], "namespace": lake}}]
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump(config))
    done = await hudi("status", "--kubeconfig", str(file), "--context", "team", "-o", "name")
    assert len(done.stdout.splitlines()) == len(recorded())
    assert (await hudi("status", "--kubeconfig", str(file), "--context", "none")).returncode == 3


async def test_cluster_without_an_answer_and_missing_kubeconfig_end_with_3(tmp_path: Path) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump(config))
    for given in (str(file), str(tmp_path / "missing")):
        done = await hudi("status", "--kubeconfig", given)
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr.startswith("Error: ")
