"""The commands about tables against a real API server, with the rights of a person."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.command import Done, command
from tests.cli.person import current_config, tenant_of
from tests.cli.tables import recorded

from hudi_operator.api.resources import SUSPEND_ANNOTATION
from hudi_operator.kube.events import EventType, event_manifest
from hudi_operator.kube.keys import OPERATION, TABLE
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
    names = (await hudi("events", "orders", "-n", lake, "-o", "name")).stdout
    assert names.startswith("event/orders.")
    (listed,) = json.loads((await hudi("events", "orders", "-n", lake, "-o", "json")).stdout)["items"]
    assert (listed["apiVersion"], listed["kind"]) == ("v1", "Event")
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
    from hudi_operator.cli.base.completed_names import complete_for_kubectl  # noqa: PLC0415
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


async def operations(transport: Transport, namespace: str) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one async for one in transport.list_items(collection_path(OPERATION, namespace))}


async def test_run_of_a_service_creates_an_operation_in_the_name_of_the_caller(lake: str, transport: Transport) -> None:
    done = await hudi("run", "orders", "compaction", "-n", lake, "--dry-run")
    assert done.returncode == 0, done.stderr
    ((name, made),) = (await operations(transport, lake)).items()
    assert done.stdout == f"hudioperation.hudi-operator.io/{name} created\n"
    assert f"wait orders -n {lake} --operation {name}" in done.stderr
    assert made["spec"]["runService"] == {"service": "Compaction"}
    assert made["spec"]["dryRun"] is True
    assert made["spec"]["requestedBy"]
    assert {one["manager"] for one in made["metadata"]["managedFields"]} == {"hudi-cli"}


async def test_run_without_a_service_and_retry_request_a_run_by_the_annotation(lake: str, transport: Transport) -> None:
    values = []
    for words in (("run", "orders"), ("retry", "orders"), ("retry", "orders", "--dry-run")):
        assert (await hudi(*words, "-n", lake)).returncode == 0
        table = await transport.request("GET", f"{collection_path(TABLE, lake)}/orders")
        values.append(table["metadata"]["annotations"]["hudi-operator.io/requested-at"])
    assert values[0] != values[1] == values[2]
    assert (await hudi("run", "nobody", "-n", lake)).returncode == 1


async def test_failed_operation_is_repeated_and_a_waiting_one_is_not(lake: str, transport: Transport) -> None:
    await hudi("restore", "orders", "--to", "20260310115400000", "--yes", "-n", lake)
    ((name, made),) = (await operations(transport, lake)).items()
    assert made["spec"]["restore"] == {"instant": "20260310115400000"}
    refused = await hudi("retry", "orders", "--operation", name, "-n", lake)
    assert (refused.returncode, "is Pending" in refused.stderr) == (1, True)
    late = await hudi("wait", "orders", "--operation", name, "-n", lake, "--timeout", "1s")
    assert late.returncode == 1
    other = await hudi("wait", "blocked", "--operation", name, "-n", lake)
    assert (other.returncode, f"no HudiOperation {name} of HudiTable blocked" in other.stderr) == (1, True)
    path = f"{collection_path(OPERATION, lake)}/{name}/status"
    status = {"observedGeneration": 1, "finishedAt": "2026-03-10T12:00:00Z", "message": "It was refused."}
    await transport.request("PUT", path, body={**made, "status": status})
    ended = await hudi("wait", "orders", "--operation", name, "-n", lake)
    assert (ended.returncode, "is Failed: It was refused." in ended.stderr) == (1, True)
    assert (await hudi("retry", "orders", "--operation", name, "-n", lake)).returncode == 0
    assert len(await operations(transport, lake)) == 2
    assert "hop/" in (await hudi("history", "orders", "-n", lake)).stdout


async def test_destructive_commands_ask_before_and_print_what_they_would_create(
    lake: str, transport: Transport
) -> None:
    erase = ("erase", "orders", "--key", "id=4711", "-n", lake)
    refused = await hudi(*erase)
    assert (refused.returncode, "add --yes" in refused.stderr) == (2, True)
    assert await operations(transport, lake) == {}
    shown = yaml.safe_load((await hudi(*erase, "-o", "yaml")).stdout)
    assert shown["spec"]["erase"] == {"keys": [{"id": "4711"}]}
    assert await operations(transport, lake) == {}
    assert (await hudi(*erase, "--yes")).returncode == 0
    assert len(await operations(transport, lake)) == 1


async def test_suspension_says_who_and_why_and_resume_removes_it(lake: str, transport: Transport) -> None:
    async def texts() -> set[str | None]:
        tables = [one async for one in transport.list_items(collection_path(TABLE, lake))]
        return {(one["metadata"].get("annotations") or {}).get(SUSPEND_ANNOTATION) for one in tables}

    assert (await hudi("suspend", "--all", "-n", lake, "--reason", "the bucket moves", "--dry-run")).returncode == 0
    assert await texts() == {None}
    assert (await hudi("suspend", "--all", "-n", lake, "--reason", "the bucket moves")).returncode == 0
    (text,) = await texts()
    assert text is not None
    assert text.endswith(": the bucket moves")
    assert len((await hudi("resume", "orders", "ht/paused", "-n", lake)).stdout.splitlines()) == 2
    assert await texts() == {None, text}
    assert (await hudi("suspend", "-n", lake)).returncode == 2
    assert (await hudi("suspend", "--namespace-wide", "-n", lake)).returncode == 0
    found = await transport.request("GET", f"/api/v1/namespaces/{lake}")
    assert SUSPEND_ANNOTATION in found["metadata"]["annotations"]
    assert (await hudi("resume", "--namespace-wide", "-n", lake)).returncode == 0


async def test_annotation_of_the_command_line_survives_the_apply_of_a_gitops_tool(
    lake: str, transport: Transport
) -> None:
    """Flux applies what Git says by server-side apply."""
    await hudi("suspend", "orders", "-n", lake, "--reason", "backfill")
    path = f"{collection_path(TABLE, lake)}/orders"
    table = await transport.request("GET", path)
    git = {key: table[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": {"name": "orders"}}
    query = {"fieldManager": "kustomize-controller", "force": "true"}
    applied = await transport.request("PATCH", path, query=query, body=git, content_type="application/apply-patch+yaml")
    assert applied["metadata"]["annotations"][SUSPEND_ANNOTATION].endswith(": backfill")


async def test_plan_with_a_cluster_shows_the_difference_and_the_refusal_of_the_api_server(
    lake: str, transport: Transport, tmp_path: Path
) -> None:
    table = await transport.request("GET", f"{collection_path(TABLE, lake)}/orders")
    document = {key: table[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": {"name": "orders"}}
    file = tmp_path / "orders.yaml"

    async def planned(**changes: Any) -> Done:
        file.write_text(yaml.safe_dump({**document, "spec": {**document["spec"], **changes}}))
        return await hudi("plan", "-f", str(file), "--live", "-n", lake)

    assert "The cluster has the same spec." in (await planned()).stdout
    changed = await planned(compaction={"trigger": {"deltaCommits": 7}})
    assert (changed.returncode, "+    deltaCommits: 7" in changed.stdout) == (0, True)
    refused = await planned(type="CopyOnWrite")
    assert (refused.returncode, "refused" in refused.stdout) == (1, True)
    after = await transport.request("GET", f"{collection_path(TABLE, lake)}/orders")
    assert after["metadata"]["resourceVersion"] == table["metadata"]["resourceVersion"]


async def test_plan_with_a_cluster_decides_for_the_namespace_of_the_context(lake: str, tmp_path: Path) -> None:
    config = current_config()
    (context,) = config["contexts"][:1]
    config["contexts"] = [{**context, "context": {**context["context"], "namespace": lake}}]
    kubeconfig, file = tmp_path / "config", tmp_path / "resources.yaml"
    kubeconfig.write_text(yaml.safe_dump(config))
    api = {"apiVersion": "hudi-operator.io/v1beta1"}
    rules = {"allowedBasePaths": ["s3a://lake"], "allowedNamespaces": {"names": ["default"]}}
    spec = {"basePath": "s3a://lake/new", "type": "CopyOnWrite", "recordKey": ["id"], "tableClassName": "gold"}
    resources = (
        {**api, "kind": "HudiTableClass", "metadata": {"name": "gold"}, "spec": rules},
        {**api, "kind": "HudiTable", "metadata": {"name": "new"}, "spec": spec},
    )
    file.write_text(yaml.safe_dump_all(resources))
    done = await hudi("plan", "-f", str(file), "--live", "--kubeconfig", str(kubeconfig))
    assert (done.returncode, "refused ClassNotAllowed" in done.stdout) == (1, True)
    assert lake in done.stdout


async def test_top_lists_every_table(lake: str) -> None:
    done = await hudi("top", "-n", lake)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, len(recorded()) + 1), done.stderr


async def test_cost_of_tables_without_a_run_is_said(lake: str) -> None:
    done = await hudi("cost", "-n", lake, "--since", "yesterday")
    assert (done.returncode, done.stdout, "No run has ended" in done.stderr) == (0, "", True)
    assert (await hudi("cost", "orders", "-n", lake, "-o", "json")).stdout == "[]\n"
    assert (await hudi("cost", "--since", "soon")).returncode == 2
    backwards = await hudi("cost", "--since", "today", "--until", "yesterday")
    assert (backwards.returncode, "is after --until" in backwards.stderr) == (2, True)


@pytest.mark.parametrize(("since", "told"), [("35d", False), ("36d", True)])
async def test_cost_of_days_that_tables_no_longer_remember_says_so(lake: str, since: str, told: bool) -> None:
    done = await hudi("cost", "-n", lake, "--since", since)
    assert ("Tables remember 35 days" in done.stderr) == told


async def test_timeline_of_a_table_is_that_of_its_status(lake: str) -> None:
    done = await hudi("timeline", "ht/orders", "-n", lake)
    assert (done.returncode, "deltacommit" in done.stdout) == (0, True), done.stderr
    document = yaml.safe_load((await hudi("timeline", "ht/orders", "-n", lake, "-o", "yaml")).stdout)
    assert document["timeline"]["completedCommits"] == 2
    assert (await hudi("timeline", "ht/orders", "-n", lake, "-o", "name")).stdout.endswith("/orders\n")
    blocked = await hudi("timeline", "ht/blocked", "-n", lake)
    assert (blocked.returncode, "has no timeline: The path is not allowed" in blocked.stderr) == (1, True)
    assert (await hudi("timeline", "ht/nobody", "-n", lake)).returncode == 1


async def test_preflight_asks_the_api_server_about_every_object_and_changes_nothing(
    lake: str, transport: Transport
) -> None:
    before = [one async for one in transport.list_items(collection_path(TABLE, lake))]
    done = await hudi("preflight", "-o", "json")
    assert done.returncode in {0, 1}, done.stderr
    found = json.loads(done.stdout)
    messages = [one["message"] for one in found["checks"]]
    assert "The definition of HudiTable is that of this version." in messages
    assert "You have the rights that `helm upgrade` needs." in messages
    assert not any("were not checked" in one for one in messages)
    assert [one async for one in transport.list_items(collection_path(TABLE, lake))] == before


async def test_preflight_without_rights_on_the_cluster_ends_with_3(
    lake: str, transport: Transport, tmp_path: Path
) -> None:
    kubeconfig = await tenant_of(transport, lake, tmp_path)
    done = await hudi("preflight", "--kubeconfig", kubeconfig)
    assert (done.returncode, done.stdout) == (3, "")
