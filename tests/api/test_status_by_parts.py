"""A stored status is read by parts: what this release cannot read is left out, and everything beside it is kept."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.samples import examples

from hudi_jobs.contract import MOST_AFFECTED
from hudi_operator.api.crd.definitions import Schema, structural_schema
from hudi_operator.api.resources import HudiTable, InvalidObject, parse_table
from hudi_operator.api.status.cost import DAY_PATTERN
from hudi_operator.api.status.memory import INSTANT_PATTERN, joined
from hudi_operator.api.status.table_status import HudiTableStatus

SPEC = {"basePath": "s3a://lake/team-a/t", "type": "CopyOnWrite", "recordKey": ["id"]}
Path = tuple[int | str, ...]


def sample(schema: Schema) -> Any:
    """A value for every field of a schema, two for every list."""
    if schema["type"] == "object":
        return {name: sample(part) for name, part in schema["properties"].items()}
    if schema["type"] == "array":
        return [sample(schema["items"]), sample(schema["items"])]
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("pattern") == INSTANT_PATTERN:
        return "20260310120000000 commit COMPLETED"
    if schema.get("pattern") == DAY_PATTERN:
        return "2026-03-10 1 2 3 4 5"
    moment = "2026-11-21T05:00:00Z" if schema.get("format") == "date-time" else "Word"
    return {"integer": 3, "boolean": True}.get(schema["type"], moment)


FULL: dict[str, Any] = sample(structural_schema(HudiTableStatus, as_value=True))


def leaves(node: Any, at: Path = ()) -> Iterator[Path]:
    if isinstance(node, dict | list):
        for part, inner in node.items() if isinstance(node, dict) else enumerate(node):
            yield from leaves(inner, (*at, part))
    else:
        yield at


LEAVES = sorted(leaves(FULL), key=str)
NODES = sorted({path[:length] for path in LEAVES for length in range(1, len(path) + 1)}, key=str)
# The API server keeps no null: a field without a value is absent.
ANYTHING = st.recursive(
    st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("x" * 5000),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def changed(path: Path, value: Any) -> dict[str, Any]:
    document = copy.deepcopy(FULL)
    holder: Any = document
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1]] = value
    return document


def without(path: Path) -> dict[str, Any]:
    document = copy.deepcopy(FULL)
    holder: Any = document
    for part in path[:-1]:
        holder = holder[part]
    del holder[path[-1]]
    return document


def read(status: Any) -> HudiTable:
    table = parse_table({"metadata": {"name": "t", "namespace": "n"}, "spec": SPEC, "status": status})
    assert isinstance(table, HudiTable)
    return table


def strictly(document: Any) -> HudiTableStatus | None:
    try:
        return HudiTableStatus.model_validate(document)
    except ValidationError:
        return None


def test_the_full_document_is_read_whole() -> None:
    table = read(FULL)
    assert table.unreadable == ()
    assert table.status.model_dump(mode="json", by_alias=True, exclude_none=True) == joined(FULL)
    assert HudiTableStatus.model_validate(table.status.to_document()) == table.status


def expected(path: Path, value: Any) -> tuple[HudiTableStatus, ...]:
    """What may be read after one change: all of it, or all but the smallest part without which the rest is valid.

    A text for people that is too long is cut to what fits.
    """
    whole = strictly(changed(path, value))
    if whole is not None:
        return (whole,)
    if path[-1] in {"message", "blockedBy", "blocks"} and isinstance(value, str):
        cut = (strictly(changed(path, value[:length])) for length in (256, 512, 1024, 2000))
        return tuple(found for found in cut if found is not None)[-1:]
    return (next(found for length in range(len(path), 0, -1) if (found := strictly(without(path[:length])))),)


@settings(max_examples=examples(100), deadline=None)
@given(path=st.sampled_from(LEAVES), value=ANYTHING)
def test_all_other_parts_survive_an_unreadable_field(path: Path, value: Any) -> None:
    table = read(changed(path, value))
    assert (strictly(changed(path, value)) is None) == bool(table.unreadable)
    assert table.status in expected(path, value)


@settings(max_examples=examples(60), deadline=None)
@given(paths=st.lists(st.sampled_from(NODES), min_size=2, max_size=6), values=st.lists(ANYTHING, min_size=6))
def test_reading_ends_and_names_the_parts_that_it_left_out(paths: list[Path], values: list[Any]) -> None:
    document = copy.deepcopy(FULL)
    for path, value in zip(paths, values, strict=False):
        holder: Any = document
        try:
            for part in path[:-1]:
                holder = holder[part]
            holder[path[-1]] = value
        except (LookupError, TypeError):
            continue  # an earlier change took the place away
    before = copy.deepcopy(document)
    table = read(document)
    assert str(document) == str(before), "what was read from is left as it was"
    assert (strictly(document) is None) == bool(table.unreadable)
    assert strictly(table.status.to_document()) == table.status


@pytest.mark.parametrize("status", ["text", 7, ["a", "list"], True])
def test_a_status_that_is_no_object_is_left_out_whole(status: Any) -> None:
    table = read(status)
    assert (table.status, table.unreadable) == (HudiTableStatus(), ("(all)",))


@pytest.mark.parametrize(
    ("path", "value", "dropped"),
    [
        (("conditions", 1, "type"), "Exhausted", "conditions.1.type"),
        (("services", "compaction", "lastRun", "outcome"), "Postponed", "services.compaction.lastRun.outcome"),
        (("history", 0, "service"), "LogCompaction", "history.0.service"),
        (("activeJobs", 1, "service"), "LogCompaction", "activeJobs.1.service"),
        (("activeJobs", 1, "runMode"), "Preview", "activeJobs.1.runMode"),
        (("timeline", "instants", 0), "x" * 200, "timeline.instants.0"),
        (("services", "ingestion", "failures"), "many", "services.ingestion.failures"),
        (("services", "compaction", "lastRun", "reason"), "no word", "services.compaction.lastRun.reason"),
        (("services", "compaction", "reason"), "\u0663", "services.compaction.reason"),
        (("activeJobs", 1, "state"), "not yet", "activeJobs.1.state"),
        (("services", "cleaning"), "gone", "services.cleaning"),
    ],
)
def test_value_of_a_later_release_costs_only_its_own_part(path: Path, value: Any, dropped: str) -> None:
    table = read(changed(path, value))
    assert dropped in table.unreadable
    status = table.status
    assert status.last_handled_reconcile_at == "Word"
    assert status.timeline is not None
    assert status.timeline.verified_up_to == "Word"
    assert status.services.clustering.failures == 3
    assert len(status.conditions) + len(status.history) + len(status.active_jobs) >= 5


def test_a_list_that_is_too_long_loses_only_its_end() -> None:
    runs = [{**FULL["history"][0], "job": f"job-{number}"} for number in range(12)]
    table = read(changed(("history",), runs))
    assert [run.job for run in table.status.history] == [f"job-{number}" for number in range(10)]
    assert table.unreadable == ("history",)


def test_of_a_list_of_any_length_a_bounded_number_of_entries_is_looked_at() -> None:
    table = read(changed(("history",), [{}] * 200_000))
    assert 0 < len(table.unreadable) <= 1_000
    assert table.status.services.ingestion.failures == 3


def test_the_status_of_a_table_whose_spec_cannot_be_read_is_read_by_parts_too() -> None:
    document = {"metadata": {"name": "t"}, "spec": {}, "status": changed(("conditions", 0, "type"), "Newer")}
    invalid = parse_table(document)
    assert isinstance(invalid, InvalidObject)
    assert invalid.unreadable[0] == "conditions.0.type"
    assert invalid.status.services.ingestion.failures == 3


def test_the_longest_run_is_read_back_from_its_text() -> None:
    instant, longest = "9" * 32, "\x01" * 1024
    affected = {"time": instant, "action": "a" * 32, "effect": "RolledBack", "owner": "ThisTable", "run": "r" * 63}
    run = {"job": "j" * 63, "service": "Ingestion", "outcome": "Failed", "reason": "R" * 64, "message": longest}
    lists = {"affected": [affected] * MOST_AFFECTED, "skipped": [longest[:128]] * 3}
    status = HudiTableStatus.model_validate({"history": [{**run, **lists, "instant": instant, "undoneBy": instant}]})
    text = status.to_document()["memory"]["history"]
    assert text.count("\n") == 1, "one line, which kubectl does not break"
    assert read(status.to_document()).status == status
