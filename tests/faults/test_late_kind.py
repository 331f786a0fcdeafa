"""HudiOperation comes late, as with an upgrade from a release without it, and goes, as with the way back."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tests.faults.arena import API, Arena, arena
from tests.faults.lifecycle import NAME, created, ingested
from tests.faults.operating import operate
from tests.faults.operation import declare, reached, working

from hudi_operator.kube.errors import NotFound

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.usefixtures("cluster")]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITION = "hudioperations.hudi-operator.io"
FILE = Path(__file__).parents[2] / "crds" / "hudi-operator.io_hudioperations.yaml"


async def test_tables_go_on_without_the_kind_and_what_comes_with_it_is_carried_out(tmp_path: Path) -> None:
    async with arena(tmp_path / "late") as place:
        if await place.items(f"{API}/hudioperations"):
            pytest.skip("the definition of a kind takes all of its objects with it, and there are some of others")
        place.node.work = working(operate)
        await created(place)
        await take_away(place)
        try:
            await ingested(place)
            assert place.operator.starts == 1, "a kind that goes ends nothing"

            await place.operator.kill()
            await waits(place)
        finally:
            await place.transport.request("POST", DEFINITIONS, body=yaml.load(FILE.read_text(), yaml.CSafeLoader))
        await place.eventually(lambda: is_served(place), what="the kind is served")
        await declare(place, approved=True)
        await reached(place, "Succeeded")
        assert len(place.lake(NAME).commits()) == 1
        assert place.unexpected() == []


async def take_away(place: Arena) -> None:
    await place.transport.request("DELETE", f"{DEFINITIONS}/{DEFINITION}")

    async def gone() -> bool:
        return not await is_served(place)

    await place.eventually(gone, what="the kind is not served any more")


async def is_served(place: Arena) -> bool:
    try:
        await place.items(place.operations)
    except NotFound:
        return False
    return True


async def waits(place: Arena) -> None:
    """Wait until a process that has just started says what it waits for."""
    known = len(place.operator.lines())

    async def says() -> bool:
        return any("hudi-operator crds" in str(line) for line in place.operator.lines()[known:])

    await place.eventually(says, what="the operator says which kinds are missing")
