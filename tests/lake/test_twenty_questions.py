"""The questions of a platform team, each answered by its one command, on a lake of sixty tables of five tenants."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml
from prometheus_client.samples import Sample
from tests.chart.expressions import TARGET, selectors
from tests.chart.test_dashboards import expressions
from tests.cli.command import Done
from tests.faults.arena import API
from tests.lake.recorded_lake import BROKEN
from tests.lake.running_lake import Lake, ingesting, running_lake

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(600),
]

Document = dict[str, Any]

WITHOUT_SERIES = {
    *("Behind their freshness", "Largest tables", "Size", "Log files", "Small files"),
    *("Core hours a day, by namespace", "Core hours a day, by service", "Most expensive tables"),
}
"""Panels that may be empty: no driver measures files, all tables are fresh, and runs of no second cost nothing."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lake(cluster: None, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lake]:  # noqa: ARG001
    """The lake with its operator."""
    async with running_lake(tmp_path_factory.mktemp("lake")) as found:
        yield found


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


async def test_log_of_the_last_failed_run_is_shown_also_when_its_pod_is_gone(lake: Lake) -> None:
    sales = lake.namespaces["sales"]

    async def log() -> Done | None:
        done = await lake.ask("logs", "returns", "-n", sales, "--failed")
        return done if "The end of the log of" in done.stderr else None

    kept = await lake.until(log)
    assert (kept.returncode, "the column price is missing" in kept.stdout, "\x1b" in kept.stdout) == (0, True, False)
    lake.kubelet.logs.clear()
    await lake.transport.request(
        "DELETE", f"/apis/batch/v1/namespaces/{sales}/jobs", body={"propagationPolicy": "Foreground"}
    )
    assert (await lake.ask("logs", "returns", "-n", sales, "--failed")).stdout == kept.stdout


async def test_person_at_night_comes_from_the_alert_to_the_cause_and_the_remedy(lake: Lake) -> None:
    """The condition of `HudiTableNotReady` holds, and the three commands of the page name cause and remedy."""
    sales = lake.namespaces["sales"]

    async def not_ready() -> list[dict[str, str]]:
        infos = [one.labels for one in await lake.page() if one.name == "hudi_operator_table_info"]
        found = [one for one in infos if one["ready"] == "False"]
        return found if any(one["table"] == "returns" for one in found) else []

    found = {one["table"]: one for one in await lake.until(not_ready)}
    assert found.keys() <= {*BROKEN, "returns"}
    assert (found["returns"]["table_namespace"], found["returns"]["reason"]) == (sales, "ColumnMissing")
    unhealthy = (await lake.ask("status", "-A", "--unhealthy")).stdout
    assert any(line.split()[:2] == [sales, "returns"] for line in unhealthy.splitlines())
    explained = (await lake.ask("explain", "returns", "-n", sales)).stdout
    assert "The input lacks the column price." in explained
    assert "the column price is missing" in (await lake.ask("logs", "returns", "-n", sales, "--failed")).stdout


async def test_picture_of_the_lake_has_series_in_every_other_panel(lake: Lake) -> None:
    asked = expressions("lake", job="j")

    async def is_shown() -> bool:
        page = await lake.page()
        empty = {title for title, texts in asked.items() if not any(has_series(page, text) for text in texts)}
        return empty <= WITHOUT_SERIES

    await lake.until(is_shown)


def has_series(page: list[Sample], expression: str) -> bool:
    """Tell whether each selector of an expression finds a sample of a page, whatever labels a scrape adds."""
    return all(any(_is_selected(sample, one) for sample in page) for one in selectors(expression))


def _is_selected(sample: Sample, selector: Any) -> bool:
    own = [one for one in selector.matchers.matchers if one.name not in TARGET]
    return sample.name == selector.name and all(sample.labels.get(one.name, "") == one.value for one in own)


async def test_tables_that_wait_for_a_quota_name_the_limit_and_who_uses_it(lake: Lake) -> None:
    sales, small = lake.namespaces["sales"], f"{lake.table_class}-small"

    async def has_begun() -> bool:
        return "slow-one-ingestion" in (await lake.ask("explain", "slow-one", "-n", sales)).stdout

    await ingesting(lake.transport, lake.folder, sales, "slow-one", small)
    await lake.until(has_begun)
    await ingesting(lake.transport, lake.folder, sales, "slow-two", small)
    said = "The class runs 1 job, which is its limit. jobQuota.runningJobs is used by slow-one in this namespace."

    async def waiting() -> list[str]:
        lines = (await lake.ask("status", "-A", "-o", "wide")).stdout.splitlines()
        return [line for line in lines if line.split()[:2] == [sales, "slow-two"] and said in line]

    assert len(await lake.until(waiting)) == 1
