"""Reads that the API server refuses are tried once more; writes are not."""

from __future__ import annotations

from typing import Any, cast

import pytest

from hudi_operator.kube import client
from hudi_operator.kube.client import KubernetesClient
from hudi_operator.kube.errors import ApiUnavailable
from hudi_operator.kube.objects import JOB, ObjectKey
from hudi_operator.kube.transport import Transport

REFUSED = ApiUnavailable("too many requests", status=429, retry_after=0.0)
KEY = ObjectKey(JOB, "n", "t")
TIMED_OUT = ApiUnavailable("no answer")


class FakeTransport:
    """Gives the errors that it is told to give, then an answer."""

    def __init__(self, *errors: ApiUnavailable) -> None:
        self._errors = list(errors)
        self.requests = 0

    async def request(self, *_: Any, **__: Any) -> dict[str, Any]:
        self.requests += 1
        if self._errors:
            raise self._errors.pop(0)
        return {"found": True}


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_SECOND_TRY_SECONDS", 0.0)


def kube(transport: FakeTransport) -> KubernetesClient:
    return KubernetesClient(cast("Transport", transport), operator_namespace="n")


async def test_a_refused_read_is_tried_once_more() -> None:
    transport = FakeTransport(REFUSED)
    assert await kube(transport).get(KEY) == {"found": True}
    with pytest.raises(ApiUnavailable):
        await kube(FakeTransport(REFUSED, REFUSED)).get(KEY)


async def test_a_read_that_was_waited_for_is_not_waited_for_again() -> None:
    transport = FakeTransport(TIMED_OUT)
    with pytest.raises(ApiUnavailable):
        await kube(transport).get(KEY)
    assert transport.requests == 1


async def test_a_write_is_left_to_whoever_knows_whether_it_took_effect() -> None:
    transport = FakeTransport(REFUSED)
    with pytest.raises(ApiUnavailable):
        await kube(transport).create(JOB, "n", {})
    assert transport.requests == 1
