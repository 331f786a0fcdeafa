"""The outcome document: small enough for a termination message, whatever it has to say."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hudi_jobs.contract import (
    MOST_AFFECTED,
    TERMINATION_MESSAGE_LIMIT,
    AffectedInstant,
    DriverUsage,
    Effect,
    ExecutorsUsage,
    FailureReason,
    JobOutcome,
    OperationPhase,
    OperationReport,
    Outcome,
    RunUsage,
    TaskResult,
    UnreadableOutcome,
    decode_outcome,
    encode_outcome,
)

ANY_TEXT = st.text(st.characters(), max_size=60)  # lone surrogates included: file names on Linux may hold them
LONG_TEXT = st.builds(lambda text, times: text * times, ANY_TEXT, st.integers(0, 100))
FIGURES = ("files_read", "bytes_read", "rows_read", "rows_quarantined", "checkpoint", "started_at", "finished_at")
LARGEST_USAGE = RunUsage(
    driver=DriverUsage(cpu_seconds=1e11 - 1 / 3, peak_memory_bytes=2**46),
    executors=ExecutorsUsage(number=10_000, reported=10_000, cpu_seconds=1e11 - 1 / 3, peak_memory_bytes=2**46),
    bytes_read=2**60,
    bytes_written=2**60,
)

results = st.builds(
    TaskResult,
    id=st.one_of(st.text(min_size=1, max_size=80), st.integers(1000, 9000).map(lambda length: "x" * length)),
    outcome=st.sampled_from(Outcome),
    reason=st.one_of(st.none(), st.sampled_from(FailureReason)),
    message=LONG_TEXT,
    instant=st.one_of(st.none(), st.just("20260310115900000")),
    checkpoint=st.one_of(st.none(), LONG_TEXT),
    files_read=st.one_of(st.none(), st.integers(0, 2**63)),
    rows_read=st.one_of(st.none(), st.integers(0, 2**63)),
    more_input=st.one_of(st.none(), st.booleans()),
    affected=st.lists(
        st.builds(
            AffectedInstant,
            instant=st.from_regex(r"[0-9]{17}", fullmatch=True),
            action=st.sampled_from(["commit", "clustering"]),
            effect=st.sampled_from(Effect),
            run=st.one_of(st.none(), st.just("flights-clustering-1")),
        ),
        max_size=MOST_AFFECTED,
    ).map(tuple),
    started_at=st.one_of(st.none(), st.just("2026-03-10T12:00:00Z")),
)
outcomes = st.builds(
    JobOutcome, results=st.lists(results, max_size=20).map(tuple), usage=st.one_of(st.none(), st.just(LARGEST_USAGE))
)


def size(text: str) -> int:
    return len(text.encode())


def result(number: int = 0, kind: Outcome = Outcome.SUCCEEDED, **changes: object) -> TaskResult:
    return TaskResult.model_validate({"id": f"team-a/table-{number:03}/ingestion", "outcome": kind, **changes})


@given(outcomes)
@example(JobOutcome(results=(result(message="\ud800" * 3000),)))
@example(JobOutcome(results=(result(message="\x00" * 3000),)))
@example(JobOutcome(results=(result(message="\U0001f6eb" * 3000),)))
def test_every_outcome_fits_into_a_termination_message_and_can_be_read(outcome: JobOutcome) -> None:
    text = encode_outcome(outcome)
    assert size(text) <= TERMINATION_MESSAGE_LIMIT
    read = decode_outcome(text)
    assert read == outcome or read.truncated


@given(outcomes, st.integers(20, 3000))
def test_every_outcome_fits_into_any_limit(outcome: JobOutcome, limit: int) -> None:
    text = encode_outcome(outcome, limit=limit)
    assert size(text) <= limit
    decode_outcome(text)


@given(outcomes)
def test_kept_parts_of_an_outcome_are_true(outcome: JobOutcome) -> None:
    told = [(one.id, one.outcome, one.reason, one.instant) for one in outcome.results]
    for one in decode_outcome(encode_outcome(outcome)).results:
        assert (one.id, one.outcome, one.reason, one.instant) in told


@given(outcomes)
def test_a_failure_is_given_up_only_after_everything_else(outcome: JobOutcome) -> None:
    kept = decode_outcome(encode_outcome(outcome)).results
    failures = [one for one in outcome.results if one.outcome is Outcome.FAILED]
    kept_failures = [one for one in kept if one.outcome is Outcome.FAILED]
    if len(kept_failures) < len(failures):
        assert len(kept) == len(kept_failures)


def test_an_outcome_that_fits_is_kept_whole() -> None:
    whole = JobOutcome(
        results=(
            result(
                message="Wrote 3 rows: Zürich, 東京.",
                instant="20260310115900000",
                checkpoint='{"at": 1}',
                files_read=1,
                bytes_read=2,
                rows_read=3,
                rows_quarantined=0,
                more_input=False,
            ),
        )
    )
    assert decode_outcome(encode_outcome(whole)) == whole


def test_usage_is_kept_when_messages_and_figures_of_a_result_are_dropped() -> None:
    one = result(0, Outcome.FAILED, message="m" * 9000, checkpoint="c" * 9000, rows_read=7)
    kept = decode_outcome(encode_outcome(JobOutcome(results=(one,), usage=LARGEST_USAGE)))
    assert kept.truncated
    assert kept.results[0].checkpoint is None
    assert kept.usage == LARGEST_USAGE


def test_usage_is_dropped_before_any_result() -> None:
    many = JobOutcome(results=tuple(result(number) for number in range(68)), usage=LARGEST_USAGE)
    kept = decode_outcome(encode_outcome(many))
    assert len(kept.results) == 68
    assert kept.usage is None


def test_largest_usage_takes_a_tenth_of_a_termination_message() -> None:
    assert size(LARGEST_USAGE.model_dump_json(by_alias=True)) <= TERMINATION_MESSAGE_LIMIT // 10


def test_one_endless_message_loses_only_its_tail() -> None:
    read = decode_outcome(encode_outcome(JobOutcome(results=(result(message="why " * 5000, rows_read=7),))))
    (kept,) = read.results
    assert read.truncated
    assert kept.message == ("why " * 5000)[:997] + "..."
    assert kept.rows_read == 7


@pytest.mark.parametrize(
    ("tasks", "longest", "figures"),
    [(3, 1000, True), (8, 400, True), (16, 160, True), (27, 60, True), (52, 0, True), (53, 0, False)],
)
def test_parts_of_a_long_outcome_are_dropped_in_order(tasks: int, longest: int, *, figures: bool) -> None:
    many = JobOutcome(
        results=tuple(result(number, Outcome.FAILED, message="m" * 9000, rows_read=10**9) for number in range(tasks))
    )
    read = decode_outcome(encode_outcome(many))

    assert len(read.results) == tasks
    assert max(len(one.message) for one in read.results) <= longest
    assert all((one.rows_read is not None) is figures for one in read.results)


def test_results_of_tasks_that_succeeded_are_given_up_before_failures() -> None:
    mixed = tuple(result(number, Outcome.FAILED if number % 10 == 0 else Outcome.SUCCEEDED) for number in range(200))
    read = decode_outcome(encode_outcome(JobOutcome(results=mixed)))
    assert read.truncated
    assert [one.id for one in read.results if one.outcome is Outcome.FAILED] == [one.id for one in mixed[::10]]
    assert 20 < len(read.results) < 200


def test_an_outcome_of_which_nothing_fits_says_that_it_was_truncated() -> None:
    read = decode_outcome(
        encode_outcome(
            JobOutcome(results=(result(message="m"), TaskResult(id="x" * 9000, outcome=Outcome.FAILED))), limit=40
        )
    )
    assert read == JobOutcome(truncated=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "Killed",
        "null",
        "[]",
        '{"results": 1}',
        '{"results": [{"id": "a"}]}',
        '{"results": [{"id": "a", "outcome": "Perhaps"}]}',
        '{"version": 2, "results": []}',
        '{"results": [',
        "\x00",
        "Exception in thread main java.lang.OutOfMemoryError",
        "[" * 10000,
    ],
)
def test_a_message_that_is_no_outcome_is_refused(text: str) -> None:
    with pytest.raises(UnreadableOutcome):
        decode_outcome(text)


@given(st.text(max_size=300))
def test_no_message_breaks_the_reader(text: str) -> None:
    with suppress(UnreadableOutcome):
        assert isinstance(decode_outcome(text), JobOutcome)


@given(outcomes, st.integers(0, 4095))
def test_a_message_that_was_cut_off_is_refused_or_read_as_what_it_still_says(outcome: JobOutcome, length: int) -> None:
    text = encode_outcome(outcome)
    if length < len(text):
        with pytest.raises(UnreadableOutcome):
            decode_outcome(text[:length])


def test_a_newer_drivers_further_fields_are_ignored() -> None:
    document = {"version": 1, "results": [{"id": "a", "outcome": "Succeeded", "colour": "blue"}], "later": {}}
    assert decode_outcome(json.dumps(document)) == JobOutcome(results=(TaskResult(id="a", outcome=Outcome.SUCCEEDED),))


def affected(number: int = 0) -> AffectedInstant:
    return AffectedInstant(instant=f"{20260310115900000 + number}", action="deltacommit", effect=Effect.ROLLED_BACK)


def test_effects_on_others_are_dropped_after_figures_and_before_results() -> None:
    """It is told nowhere else, while figures stand in the commit."""
    ten = tuple(affected(number) for number in range(MOST_AFFECTED))
    one = result(message="m" * 9000, files_read=7, affected=ten)
    tight = JobOutcome(results=(one, *(result(number, rows_read=10**9) for number in range(1, 45))))
    kept = decode_outcome(encode_outcome(tight))
    assert (kept.results[0].affected, kept.results[0].files_read, len(kept.results)) == (ten, None, 45)
    crowded = JobOutcome(results=(one, *(result(number) for number in range(1, 65))))
    assert not any(each.affected for each in decode_outcome(encode_outcome(crowded)).results)


GOOD = affected().model_dump(mode="json")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([GOOD], 1),
        ([GOOD, {**GOOD, "instant": "../x"}, {**GOOD, "effect": "Eaten"}, {**GOOD, "action": "x" * 33}, 7, None], 1),
        ([{**GOOD, "instant": "1" * 33}], 0),
        ([GOOD] * 5000, MOST_AFFECTED),
        ([{**GOOD, "run": "<script>"}], 1),
        ("RolledBack", 0),
        (None, 0),
        ({"instant": "1"}, 0),
    ],
)
def test_a_line_about_others_that_cannot_be_read_is_left_out_and_the_result_stays(given: object, expected: int) -> None:
    document = {"results": [{"id": "a", "outcome": "Succeeded", "affected": given}]}
    (read,) = decode_outcome(json.dumps(document)).results
    assert read.outcome is Outcome.SUCCEEDED
    assert len(read.affected) == expected
    assert all(one.run is None for one in read.affected)


@pytest.mark.parametrize("limit", [4096, 700, 450])
def test_how_far_an_operation_came_is_kept_when_the_message_is_shortened(limit: int) -> None:
    instant = "20260310115900000"
    report = OperationReport(
        phase=OperationPhase.RUNNING,
        target=instant,
        removed=(instant,) * 20,
        savepoints=(instant,) * 20,
        restore=instant,
    )
    told = JobOutcome(results=(result(kind=Outcome.FAILED, message="x" * 9_000, operation=report),))
    text = encode_outcome(told, limit=limit)
    (kept,) = decode_outcome(text).results
    assert size(text) <= limit
    assert kept.operation is not None
    assert (kept.operation.phase, kept.operation.restore) == (report.phase, report.restore)
