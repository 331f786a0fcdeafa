"""What is told of a comparison: those that differ first, as many as a status holds, and no path that is a key."""

from hudi_jobs.contract import OperationPhase
from hudi_jobs.contract.operator_folder import (
    LONGEST_PATH,
    MOST_CHARACTERS,
    MOST_COMPARED,
    TOLD_LIMIT,
    OperationTold,
    decode_told,
    encode_told,
)
from hudi_jobs.journal.records import Part, Rows
from hudi_jobs.operations.operation_run import HIDDEN, compared, partitions


def rows(*parts: tuple[str, int], partitions: int | None = None) -> Rows:
    found = tuple(Part(path=path, rows=count, checksum=-count) for path, count in parts)
    count = len(found) if partitions is None else partitions
    total = sum(part.rows for part in found)
    return Rows(rows=total, checksum=-total, partitions=count, parts=found)


def test_partitions_that_differ_come_first_and_what_is_only_on_one_side_has_no_rows_on_the_other() -> None:
    found = compared(rows(("a", 1), ("b", 2), ("gone", 3)), rows(("a", 1), ("b", 5), ("new", 4)))
    assert (found.different, found.left_out, found.checksum_after) == (3, 0, "-10")
    assert [(each.path, each.rows, each.rows_after, each.checksum_after, each.equal) for each in found.listed] == [
        ("b", 2, 5, "-5", False),
        ("gone", 3, 0, "0", False),
        ("new", 0, 4, "-4", False),
        ("a", 1, 1, "-1", True),
    ]


def test_more_partitions_than_a_status_holds_are_counted() -> None:
    many = rows(*((f"day={number:04}", 1) for number in range(MOST_COMPARED + 7)))
    found = compared(many, many)
    assert (found.different, len(found.listed), found.left_out) == (0, MOST_COMPARED, 7)
    assert found.listed[-1].path == f"day={MOST_COMPARED - 1:04}"
    assert len(partitions(many, many)) == MOST_COMPARED + 7


def test_paths_of_any_length_and_of_half_characters_fit_into_what_the_operator_reads() -> None:
    long = rows(*((f"{number:03}\ud800{chr(0x1F600) * 2000}", 2**52) for number in range(90)))
    found = compared(long, long)
    assert all(len(each.path) == LONGEST_PATH for each in found.listed)
    assert len(found.listed) == MOST_CHARACTERS // LONGEST_PATH
    told = OperationTold(uid="a-uid", run="a-run", phase=OperationPhase.VERIFYING, comparison=found)
    assert len(encode_told(told)) < TOLD_LIMIT
    assert decode_told(encode_told(told)) == told


def test_of_very_many_partitions_only_the_sums_are_compared() -> None:
    expected, found = rows(partitions=2000), rows(("a", 1))
    assert (compared(expected, found).different, compared(expected, found).left_out) == (None, 2000)


def test_an_empty_table_has_no_partition_that_differs() -> None:
    assert (compared(rows(), rows()).different, compared(rows(), rows()).left_out) == (0, 0)


def test_path_with_a_key_is_not_reported() -> None:
    found = compared(rows(("id=4711", 1)), rows(("id=4711", 1)), hides=lambda path: "4711" in path)
    assert [(each.path, each.rows) for each in found.listed] == [(HIDDEN, 1)]


def test_document_of_another_writer_says_nothing() -> None:
    assert decode_told(b"") is None
    assert decode_told(b"[" * 60_000) is None
    assert decode_told(b'{"uid": "u", "run": "r", "phase": "Verifying"}' + b" " * TOLD_LIMIT) is None
    assert decode_told(b'{"uid": "u", "run": "r", "phase": "Verifying", "comparison": {"checksumAfter": "x"}}') is None
