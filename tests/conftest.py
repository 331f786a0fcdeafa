"""A namespace in the real cluster, with the resource definitions in place, and servers of streams, for every test.

Servers start with the first test that wants them, one of each for all tests. A test may kill one; the next finds it
running again with what it held. So topics, subjects and tables have names of their own test.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from hudi_operator.kube.transport import Transport
    from toolkit.streams import DebeziumConnect, KafkaBroker, Postgres, SchemaRegistry

CRDS = sorted((Path(__file__).parents[1] / "crds").glob("*.yaml"))
Eventually = Callable[..., Awaitable[Any]]
STAGED = {"chart", "cluster", "e2e", "matrix", "s3", "slow", "spark", "streams"}
"""Markers by which the stages of `dev/run_tests.py` choose."""

# Fewer examples than Hypothesis draws by default, which come with HYPOTHESIS_PROFILE=default.
# How long an example takes says something of what else the machine does.
settings.register_profile("brief", max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "brief"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files without a test that `-m` selects, because importing all files takes long."""
    if not (collection_path.name.startswith("test_") and collection_path.suffix == ".py"):
        return None
    expression = config.getoption("markexpr")
    wanted = wanted_markers(expression)
    if wanted and wanted.isdisjoint(markers_named_in(collection_path)):
        return True
    return True if excluded_markers(expression) & markers_of_all_tests_in(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a file that has a marker from elsewhere, since it would be left out where the marker is wanted."""
    has: dict[Path, set[str]] = {}
    for item in items:
        has.setdefault(item.path, set()).update(mark.name for mark in item.iter_markers())
    for path, names in has.items():
        if hidden := names & STAGED - markers_named_in(path):
            raise pytest.UsageError(f"{path} has to name its markers as pytest.mark: {', '.join(sorted(hidden))}")


def pytest_collection_finish() -> None:
    """Keep the garbage collector from walking over ten thousand collected tests again and again."""
    gc.collect()
    gc.freeze()


def wanted_markers(expression: str) -> set[str]:
    """Return the markers of which a test must have one; empty where an expression may be true without any."""
    if re.search(r"not\s*\(|or\s+not\b", expression):
        return set()
    return set(re.findall(r"(?<!\bnot )\b\w+", expression)) - {"and", "or", "not"}


def excluded_markers(expression: str) -> set[str]:
    """Return the markers that no selected test has; empty where an expression has alternatives."""
    conditions = re.sub(r"\((\w+ or )*\w+\) and ", "", expression)
    return set() if re.search(r"\bor\b|\(", conditions) else set(re.findall(r"\bnot (\w+)", conditions))


def markers_of_all_tests_in(file: Path) -> set[str]:
    """Return the markers that a file gives to all of its tests."""
    given = re.search(r"^pytestmark = (\[[^\]]*\]|.*)", file.read_text(), re.MULTILINE)
    return set(re.findall(r"pytest\.mark\.(\w+)", given[1])) if given else set()


def markers_named_in(file: Path) -> set[str]:
    """Return the markers that the text of a file names."""
    return set(re.findall(r"pytest\.mark\.(\w+)", file.read_text()))


@pytest.fixture(scope="session")
def cluster() -> None:
    """Apply the CustomResourceDefinitions to the cluster that KUBECONFIG names."""
    if not os.environ.get("KUBECONFIG"):
        pytest.fail("set KUBECONFIG to a cluster for tests, or start one with `make cluster-up`")
    asyncio.run(_apply_definitions())


@pytest.fixture
async def transport(cluster: None) -> AsyncIterator[Transport]:  # noqa: ARG001 - wanted for what it does
    """Plain requests to the API server, for what the operator itself never does."""
    async with await _open_transport() as opened:
        yield opened


@pytest.fixture
async def namespace(transport: Transport) -> AsyncIterator[str]:
    """A namespace of its own for one test; deleted afterwards, with what still holds it."""
    from hudi_operator.kube.errors import NotFound  # noqa: PLC0415 - see _open_transport

    name = f"test-{uuid.uuid4().hex[:8]}"
    await transport.request("POST", "/api/v1/namespaces", body={"metadata": {"name": name}})
    yield name
    tables = f"/apis/hudi-operator.io/v1beta1/namespaces/{name}/huditables"
    await transport.request("DELETE", f"/api/v1/namespaces/{name}")
    async for table in transport.list_items(tables):
        patch = {"metadata": {"finalizers": None}}
        with contextlib.suppress(NotFound):
            await transport.request(
                "PATCH",
                f"{tables}/{table['metadata']['name']}",
                body=patch,
                content_type="application/merge-patch+json",
            )


@pytest.fixture(scope="session")
def started_kafka() -> Iterator[KafkaBroker]:
    """The broker of all tests, with every kind of listener at two addresses."""
    from toolkit.streams import KafkaBroker, Listener  # noqa: PLC0415 - most tests want no server

    with KafkaBroker(listeners=Listener, reachable_at="127.0.0.2") as broker:
        yield broker


@pytest.fixture
def kafka(started_kafka: KafkaBroker) -> KafkaBroker:
    """A broker that runs."""
    started_kafka.start()
    return started_kafka


@pytest.fixture(scope="session")
def started_registry() -> Iterator[SchemaRegistry]:
    """The schema registry of all tests."""
    from toolkit.streams import SchemaRegistry  # noqa: PLC0415 - most tests want no server

    with SchemaRegistry() as registry:
        yield registry


@pytest.fixture
def schema_registry(started_registry: SchemaRegistry) -> SchemaRegistry:
    """A schema registry that runs."""
    started_registry.start()
    return started_registry


@pytest.fixture(scope="session")
def started_postgres() -> Iterator[Postgres]:
    """The database server of all tests."""
    from toolkit.streams import Postgres  # noqa: PLC0415 - most tests want no server

    with Postgres() as server:
        yield server


@pytest.fixture
def postgres(started_postgres: Postgres) -> Postgres:
    """A database server that runs."""
    started_postgres.start()
    return started_postgres


@pytest.fixture(scope="session")
def started_connect(started_kafka: KafkaBroker) -> Iterator[DebeziumConnect]:
    """The worker of Kafka Connect of all tests, with Debezium, beside their broker."""
    from toolkit.streams import DebeziumConnect  # noqa: PLC0415 - most tests want no server

    started_kafka.start()
    with DebeziumConnect(started_kafka.bootstrap) as worker:
        yield worker


@pytest.fixture
def debezium(started_connect: DebeziumConnect, kafka: KafkaBroker) -> DebeziumConnect:  # noqa: ARG001 - it has to run
    """A worker that runs, beside a broker that runs."""
    started_connect.start()
    return started_connect


@pytest.fixture
def eventually() -> Eventually:
    """Wait until a check, plain or asynchronous, finds something true, and return that; fail after a while."""

    async def wait(look: Callable[[], Any], *, seconds: float = 30) -> Any:
        try:
            async with asyncio.timeout(seconds):
                while True:
                    found = look()
                    if asyncio.iscoroutine(found):
                        found = await found
                    if found:
                        return found
                    await asyncio.sleep(0.05)
        except TimeoutError:
            pytest.fail(f"this did not come to be within {seconds:g} seconds", pytrace=True)

    return wait


async def _apply_definitions() -> None:
    async with await _open_transport() as transport:
        for path in CRDS:
            document = yaml.load(path.read_text(), yaml.CSafeLoader)  # seconds faster than the one in Python
            place = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{document['metadata']['name']}"
            how = {"fieldManager": "tests", "force": "true"}
            apply = "application/apply-patch+yaml"
            await transport.request("PATCH", place, query=how, body=document, content_type=apply)
            while not _established(await transport.request("GET", place)):  # noqa: ASYNC110 - no event tells
                await asyncio.sleep(0.1)


def _established(document: dict[str, Any]) -> bool:
    conditions = (document.get("status") or {}).get("conditions") or ()  # null until the API server has looked at it
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


async def _open_transport() -> Transport:
    # Imported late: most tests need no cluster, and the client takes most of a second to import.
    from hudi_operator.kube.transport import Transport, load_configuration  # noqa: PLC0415

    return Transport(await load_configuration(), timeout_seconds=30)
