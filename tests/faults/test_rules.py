"""A seed gives the same faults again, and only faults that the API server could give."""

from __future__ import annotations

import pytest
from tests.faults.rules import Call, Fault, at_write, fits, sometimes

TABLES = "/apis/hudi-operator.io/v1beta1/namespaces/one/huditables"
JOBS = "/apis/batch/v1/namespaces/one/jobs"


def call(method: str, path: str, write: int | None = None) -> Call:
    return Call(method=method, path=path, write=write)


@pytest.mark.parametrize(
    ("path", "target", "names_an_object"),
    [
        (TABLES, "huditables", False),
        (f"{TABLES}/t", "huditables", True),
        (f"{TABLES}/t/status", "huditables/status", True),
        ("/apis/hudi-operator.io/v1beta1/huditableclasses/c", "huditableclasses", True),
        ("/api/v1/namespaces/one", "namespaces", True),
        ("/apis/batch/v1", "/apis/batch/v1", False),
        (JOBS, "jobs", False),
    ],
)
def test_a_call_says_which_kind_it_is_about(path: str, target: str, *, names_an_object: bool) -> None:
    found = call("GET", path)
    assert (found.target, found.names_an_object) == (target, names_an_object)


def test_a_fault_at_a_write_hits_that_write_alone() -> None:
    rule = at_write(2, Fault.LOST_REPLY)
    calls = [call("POST", JOBS, 1), call("GET", JOBS), call("POST", JOBS, 2), call("POST", JOBS, 3)]
    assert [rule(one) for one in calls] == [None, None, Fault.LOST_REPLY, None]


def test_the_draws_of_a_seed_do_not_depend_on_how_kinds_are_interleaved() -> None:
    jobs, statuses = [call("POST", JOBS)] * 30, [call("PUT", f"{TABLES}/t/status")] * 30
    faults = (Fault.THROTTLED, Fault.SERVER_ERROR)
    first, second = (sometimes(faults, probability=0.5, seed=7) for _ in range(2))

    apart = [first(one) for one in jobs], [first(one) for one in statuses]
    mixed = [(second(job), second(status)) for job, status in zip(jobs, statuses, strict=True)]

    assert apart == ([job for job, _ in mixed], [status for _, status in mixed])
    assert {*apart[0], *apart[1]} == {None, *faults}


def test_other_seeds_draw_other_faults() -> None:
    calls = [call("POST", JOBS)] * 50
    draws = [[rule(one) for one in calls] for rule in (sometimes([*Fault], probability=0.5, seed=n) for n in range(5))]
    assert len({tuple(draw) for draw in draws}) == 5


@pytest.mark.parametrize(
    ("fault", "method", "path", "fitting"),
    [
        (Fault.CONFLICT, "PUT", f"{TABLES}/t/status", True),
        (Fault.CONFLICT, "POST", JOBS, False),
        (Fault.CONFLICT, "GET", f"{TABLES}/t", False),
        (Fault.EXPIRED, "GET", JOBS, True),
        (Fault.EXPIRED, "GET", f"{JOBS}/j", False),
        (Fault.EXPIRED, "POST", JOBS, False),
        (Fault.EXPIRED, "GET", "/apis/batch/v1", False),
        (Fault.SERVER_ERROR, "POST", JOBS, True),
    ],
)
def test_a_call_meets_only_what_the_api_server_could_answer(
    fault: Fault, method: str, path: str, *, fitting: bool
) -> None:
    assert fits(fault, call(method, path)) is fitting
