"""The real process, from its start to its end by a signal."""

from __future__ import annotations

import json
import signal

import pytest
from tests.cli.running_operator import Eventually, running_operator

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_the_operator_becomes_ready_and_ends_cleanly_on_a_signal(
    namespace: str, number: signal.Signals, eventually: Eventually
) -> None:
    async with running_operator(namespace, eventually=eventually, ends_by=number) as log:
        pass
    lines = [json.loads(line) for line in log]
    assert lines[-1]["event"] == "operator stopped"
    # A watch that is cut off while it starts complains, so only the operator's own messages count.
    own = [line for line in lines if line["logger"].startswith("hudi_operator")]
    assert {line["level"] for line in own} == {"info"}
