"""Tables that cannot be followed, and requests that ask for it all the same; nothing is written."""

from typing import Any

import pytest

from hudi_jobs.contract import FailureReason, Outcome

pytestmark = pytest.mark.spark


def test_a_table_that_is_not_there_is_named(upstream: Any) -> None:
    assert upstream.path in upstream.refused(FailureReason.SOURCE_NOT_FOUND)
    upstream.write([(1, "d", "a", 1)])
    upstream.follow()
    (upstream.timeline.parent / "hoodie.properties").unlink()
    assert upstream.path in upstream.refused(FailureReason.SOURCE_NOT_FOUND)


def test_a_folder_that_is_no_table_is_left_as_it_is(upstream: Any) -> None:
    upstream.timeline.mkdir(parents=True)
    upstream.refused(FailureReason.SOURCE_NOT_FOUND)
    assert upstream.timeline.is_dir()


def test_a_table_without_a_commit_is_read_from_its_first_one_and_has_none_to_start_behind(upstream: Any) -> None:
    upstream.write([(1, "d", "a", 1)])
    for one in upstream.timeline.glob("2*"):
        one.rename(upstream.timeline.parent / one.name)
    assert upstream.follow().outcome is Outcome.NOTHING_TO_DO
    assert "startingCommit to Earliest" in upstream.refused(FailureReason.SOURCE_NOT_FOUND, starting_commit="Latest")
    for one in upstream.timeline.parent.glob("2*"):
        one.rename(upstream.timeline / one.name)
    assert upstream.follow().rows_read == 1


def test_a_table_of_version_6_is_refused(upstream: Any) -> None:
    options = {"hoodie__write__table__version": "6", "hoodie__write__auto__upgrade": "false"}
    frame = upstream.lake.spark.createDataFrame([(1, "d", "a", 1)], "id INT, day STRING, v STRING, at INT")
    with pytest.raises(IndexError):
        upstream.write_frame(frame, **options)  # its timeline is elsewhere
    message = upstream.refused(FailureReason.UPSTREAM_UNSUPPORTED)
    assert "hoodie.table.version 6" in message
    assert "upgrade it to 8 or 9" in message


def test_a_table_without_meta_fields_is_refused(upstream: Any) -> None:
    upstream.write([(1, "d", "a", 1)], hoodie__populate__meta__fields="false")
    assert "hoodie.populate.meta.fields" in upstream.refused(FailureReason.UPSTREAM_UNSUPPORTED)


@pytest.mark.parametrize("operation", ["Insert", "BulkInsert", "Delete", "InsertOverwrite"])
def test_only_an_upsert_takes_rows_that_may_come_twice(upstream: Any, operation: str) -> None:
    assert "Upsert" in upstream.refused(FailureReason.INVALID_REQUEST, operation=operation)


@pytest.mark.parametrize("place", ["", "/table", "/table/inner"])
def test_a_table_does_not_follow_itself_nor_what_lies_around_or_inside_it(upstream: Any, place: str) -> None:
    upstream.path = f"{upstream.lake.root}{place}"
    assert "are nested" in upstream.refused(FailureReason.INVALID_REQUEST)


def test_the_table_does_not_go_on_with_files(upstream: Any) -> None:
    upstream.write([(1, "d", "a", 1)])
    upstream.follow()
    upstream.lake.put("1.csv", "id,day,v,at\n1,d,a,1\n")
    result = upstream.lake.ingest()
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.TABLE_MISMATCH)


PARTITIONS = {
    "TIMESTAMP'2026-03-01 12:00:00.123456'": "timestamp",  # apache/hudi#11900: readers get 1970 or null
    "TIMESTAMP_NTZ'2026-03-01 12:00:00'": "timestamp_ntz",  # readers fail
    "X'4142'": "binary",  # readers get the text of its digits
}


def partitioned_by(upstream: Any, value: str, **options: str) -> None:
    """Write one row in the partition of a value to an upstream table of its own."""
    upstream.path = f"{upstream.lake.root}/{len(list(upstream.lake.folder.iterdir()))}"
    frame = upstream.lake.spark.sql(f"SELECT 1 AS id, {value} AS day, 'a' AS v, 1 AS at")
    upstream.write_frame(frame, **options)


def test_upstream_partitions_whose_values_no_reader_gets_back_are_refused_and_others_are_exact(upstream: Any) -> None:
    upstream.lake.table["partitionBy"] = []
    for value, kind in PARTITIONS.items():
        partitioned_by(upstream, value)
        message = upstream.refused(FailureReason.UPSTREAM_UNSUPPORTED)
        assert f"partition column day is {kind}" in message
        assert "follow that table" in message
    times = {
        "hoodie__datasource__write__partitionpath__urlencode": "true",
        "hoodie__datasource__write__keygenerator__consistent__logical__timestamp__enabled": "true",
    }
    partitioned_by(upstream, "TIMESTAMP'2026-03-01 12:00:00'", **times)  # in the zone of whichever JVM wrote it
    assert "timestamp" in upstream.refused(FailureReason.UPSTREAM_UNSUPPORTED)
    for value in ("DATE'1500-01-01'", "CAST(-1.50 AS DECIMAL(10,4))", "0.1D"):
        partitioned_by(upstream, value)
        followed = upstream.lake.table["basePath"] = f"{upstream.path}-followed"
        assert upstream.follow().outcome is Outcome.SUCCEEDED
        found = upstream.lake.spark.read.format("hudi").load(followed).where(f"day <=> {value}")
        assert found.count() == 1, value


def test_upstream_partitions_that_readers_decode_although_nobody_encoded_them_are_refused(upstream: Any) -> None:
    """The value a%2Fb comes back as a/b."""
    upstream.lake.table["partitionBy"] = []
    upstream.write([(1, "a/b", "a", 1), (2, "a%b", "a", 1), (3, "a%2", "a", 1)])
    assert upstream.follow().outcome is Outcome.SUCCEEDED
    assert upstream.followed() == upstream.rows()
    upstream.write([(4, "a%2Fb", "a", 1)])
    message = upstream.refused(FailureReason.UPSTREAM_UNSUPPORTED)
    assert "day=a%2Fb" in message
    assert "hoodie.datasource.write.partitionpath.urlencode" in message
    upstream.path, upstream.lake.table["basePath"] = f"{upstream.path}-encoded", f"{upstream.path}-followed"
    upstream.write([(4, "a%2Fb", "a", 1)], hoodie__datasource__write__partitionpath__urlencode="true")
    assert upstream.follow().outcome is Outcome.SUCCEEDED
    followed = upstream.lake.spark.read.format("hudi").load(upstream.lake.table["basePath"])
    assert [row["day"] for row in followed.collect()] == ["a%2Fb"]
