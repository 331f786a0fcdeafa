"""What happens to an upstream table between two runs: nothing is passed over, and what cannot be told is refused."""

import shutil
from typing import Any

import pytest
from tests.spark_jobs.operations.asked import commits, done, operate, refusal
from tests.spark_jobs.operations.erase.erasing import erase, erased
from tests.spark_jobs.trials import IN_FULL, crossed
from tests.spark_jobs.upstream.conftest import KINDS, sampled

from hudi_jobs.commit_metadata import ERASED_KEY, OPERATION_KEY
from hudi_jobs.contract import METADATA_PREFIX, FailureReason, Outcome
from hudi_jobs.ingestion.sources.hudi.hudi_source import Hudi
from hudi_jobs.operations.erase.keys import digest_of

pytestmark = pytest.mark.spark


@sampled("COPY_ON_WRITE")
def test_a_commit_that_was_requested_first_and_completes_last_is_read(either: Any) -> None:
    either.write([(1, "a", "there", 1)])
    slow = either.write([(2, "b", "slow", 1)])
    either.write([(3, "c", "fast", 1)])
    [completed] = either.timeline.glob(f"{slow}_*")
    hidden = completed.read_bytes()
    completed.unlink()
    either.follow()
    assert [row[0] for row in either.followed()] == [1, 3]

    last = max(one.name.partition("_")[2].partition(".")[0] for one in either.timeline.glob("*_*"))
    completed.with_name(f"{slow}_{int(last) + 1}{completed.suffix}").write_bytes(hidden)
    assert either.follow().rows_read == 1
    assert either.followed() == either.rows()


@sampled("MERGE_ON_READ")
def test_nothing_is_missing_after_cleaning_and_archival_went_past_what_was_read(either: Any) -> None:
    either.write([(one, "d", "first", 0) for one in range(5)])
    either.follow()
    for at in range(1, 7):
        either.write([(at % 3, "d", f"at {at}", at), (100 + at, "d", "new", at)], **ARCHIVABLE)
    busy(either)
    assert len(either.instants()) < 7, "some of what has not been read is archived"

    result = either.follow()
    assert (result.outcome, result.rows_read) == (Outcome.SUCCEEDED, 9)
    assert either.followed() == either.rows()
    assert either.follow().outcome is Outcome.NOTHING_TO_DO
    either.write([(100, "d", "after", 9)])
    assert either.follow().rows_read == 1
    assert either.followed() == either.rows()


def test_archived_commits_are_read_by_and_by_where_a_run_reads_few(upstream: Any) -> None:
    upstream.write([(0, "d", "first", 0)])
    upstream.follow()
    for at in range(1, 6):
        upstream.write([(at, "d", "new", at)], **ARCHIVABLE)
    busy(upstream)
    counts = []
    while (result := upstream.follow(max_commits=2)).outcome is Outcome.SUCCEEDED:
        counts.append((result.rows_read, result.more_input))
    assert counts == [(2, True), (2, True), (1, False)]
    assert upstream.followed() == upstream.rows()


ARCHIVABLE = {"hoodie__metadata__compact__max__delta__commits": "1"}
"""Hudi archives no commit that the metadata table has not compacted."""


def busy(table: Any) -> None:
    """Clean and archive as much as Hudi does."""
    client = table.client(
        hoodie__clean__commits__retained="1", hoodie__keep__min__commits="2", hoodie__keep__max__commits="3"
    )
    assert client.clean() is not None
    client.archive()
    client.close()


def deleted_by_key(table: Any) -> str:
    return str(table.write([(1, "d", "", 9)], "delete"))


def deleted_by_mark(table: Any) -> str:
    rows = [(1, "d", "", 9, True), (2, "d", "stays", 9, False)]
    frame = table.lake.spark.createDataFrame(rows, "id INT, day STRING, v STRING, at INT, _hoodie_is_deleted BOOLEAN")
    return str(table.write_frame(frame))


def overwritten(table: Any) -> str:
    return str(table.write([(2, "d", "only", 9)], "insert_overwrite"))


def partition_dropped(table: Any) -> str:
    table.write([(7, "other", "new", 9)])
    options = {"hoodie__datasource__write__partitions__to__delete": "day=d"}
    return str(table.write([(1, "d", "", 9)], "delete_partition", **options))


def moved_to_another_partition(table: Any) -> str:
    options = {"hoodie__index__type": "GLOBAL_SIMPLE", "hoodie__simple__index__update__partition__path": "true"}
    return str(table.write([(1, "e", "moved", 9)], **options))


COUNTED = (deleted_by_key, deleted_by_mark, moved_to_another_partition)


@crossed(("kind", KINDS), ("remove", (*COUNTED, overwritten, partition_dropped)))
def test_removed_rows_stop_ingestion_until_a_person_keeps_them(upstream: Any, kind: str, remove: Any) -> None:
    upstream.kind = kind
    upstream.write([(1, "d", "a", 1), (2, "d", "b", 1)])
    upstream.follow()
    instant = remove(upstream)

    message = upstream.refused(FailureReason.UPSTREAM_ROWS_REMOVED)
    assert instant in message
    assert "set onRemovedRows to Ignore" in message
    assert ("1 of them counted" in message) == (remove in COUNTED)
    assert upstream.follow(on_removed_rows="Ignore").outcome is Outcome.SUCCEEDED
    assert set(upstream.rows()) < set(upstream.followed())
    assert upstream.follow().outcome is Outcome.NOTHING_TO_DO


@IN_FULL
@pytest.mark.parametrize(
    ("fields", "cascaded_from", "is_archived"),
    [
        (("id",), "uid-upstream", False),
        (("day", "id"), "uid-again", False),
        (("id",), "uid-again", True),
        (("id",), None, False),
    ],
    ids=["one_field", "fields_in_another_order_by_another_operation", "archived_by_another_operation", "by_itself"],
)
def test_erasure_done_upstream_and_here_is_no_removal(
    upstream: Any, *, fields: tuple[str, ...], cascaded_from: str | None, is_archived: bool
) -> None:
    def key(number: int) -> dict[str, str]:
        return {field: {"id": str(number), "day": "d"}[field] for field in fields}

    def erases(number: int, uid: str) -> None:
        told = {"cascaded_from": cascaded_from, "upstream": upstream.path}
        erased(erase(upstream.lake, keys=(key(number),), uid=uid, **told))

    upstream.lake.table["recordKey"] = list(fields)
    upstream.write([(1, "d", "a", 1), (2, "d", "b", 1)])
    upstream.follow()
    digest = digest_of(fields[::-1], [tuple(key(1).values())[::-1]], "uid-upstream")
    notes = {ERASED_KEY: digest, OPERATION_KEY: "uid-upstream"}
    erasing = upstream.write(
        [(1, "d", "", 9)], "delete", hoodie__datasource__write__commitmeta__key__prefix=METADATA_PREFIX, **notes
    )
    upstream.write([(3, "d", "c", 9)])
    upstream.refused(FailureReason.UPSTREAM_ROWS_REMOVED)
    erases(2, "uid-of-others")
    upstream.refused(FailureReason.UPSTREAM_ROWS_REMOVED)
    for _ in range(4 * is_archived):
        upstream.write([(3, "d", "c", 9)], **ARCHIVABLE)
    if is_archived:
        busy(upstream)
    assert (erasing in upstream.instants()) is not is_archived
    erases(1, "uid-of-erase")
    assert upstream.follow().outcome is Outcome.SUCCEEDED
    assert [row[0] for row in upstream.followed()] == [3]


@pytest.mark.parametrize("left", ["nothing", "empty folders"])
def test_an_erasure_does_without_an_upstream_table_that_is_gone_and_changes_nothing_where_it_was(
    upstream: Any, left: str
) -> None:
    upstream.write([(1, "d", "a", 1), (2, "d", "b", 1)])
    upstream.follow()
    folder = upstream.timeline.parent
    shutil.rmtree(folder.parent)
    if left == "empty folders":
        (folder / "timeline").mkdir(parents=True)
    keys = ({"id": "1"},)
    for how in ({"dry_run": True}, {}):
        result = erase(upstream.lake, keys=keys, upstream=upstream.path, **how)
        assert result.outcome is Outcome.SUCCEEDED, result
    assert [row[0] for row in upstream.followed()] == [2]
    assert (folder / "timeline").exists() is (left == "empty folders")


def test_removed_rows_are_seen_in_the_archive_too(upstream: Any) -> None:
    upstream.write([(1, "d", "a", 1), (2, "d", "b", 1)])
    upstream.follow()
    instant = deleted_by_key(upstream)
    for at in range(3, 8):
        upstream.write([(at, "d", "new", at)], **ARCHIVABLE)
    busy(upstream)
    assert instant not in upstream.instants()
    assert instant in upstream.refused(FailureReason.UPSTREAM_ROWS_REMOVED)


@sampled("MERGE_ON_READ")
def test_rows_that_were_removed_before_the_first_run_are_nobodys_business(either: Any) -> None:
    either.write([(1, "d", "a", 1), (2, "d", "b", 1)])
    deleted_by_key(either)
    assert either.follow().outcome is Outcome.SUCCEEDED
    assert either.followed() == either.rows() == [(2, "d", "b", 1)]


def restored(table: Any) -> None:
    client = table.client()
    client.savepoint(table.instants()[0], "nobody", "test")
    client.restoreToSavepoint(table.instants()[0])
    client.close()


def made_anew(table: Any) -> None:
    shutil.rmtree(table.path)
    table.write([(1, "d", "anew", 1)])


@pytest.mark.parametrize("undo", [restored, made_anew])
def test_a_table_of_which_read_commits_are_gone_is_refused_until_all_of_it_is_read_again(
    upstream: Any, undo: Any
) -> None:
    upstream.write([(1, "d", "a", 1)])
    upstream.write([(1, "d", "undone", 2), (2, "d", "undone", 2)])
    upstream.follow()
    last = upstream.instants()[-1]
    undo(upstream)

    assert last in upstream.refused(FailureReason.UPSTREAM_REWOUND)
    upstream.write([(3, "d", "later", 3)])
    assert last in upstream.refused(FailureReason.UPSTREAM_REWOUND)
    again = upstream.follow(rescan="read")
    assert (again.outcome, again.rescan) == (Outcome.SUCCEEDED, "read")
    assert again.rows_read == len(upstream.rows())
    assert {(2, "d", "undone", 2), (3, "d", "later", 3)} <= set(upstream.followed())
    assert upstream.follow(rescan="read").outcome is Outcome.NOTHING_TO_DO
    assert upstream.follow(rescan="read#2").rows_read == len(upstream.rows())


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Do something between the reading of the rows and the last look at the upstream table."""

    def do(something: Any) -> None:
        original = Hudi._require_unchanged

        def first(self: Hudi, *arguments: Any) -> None:
            monkeypatch.setattr(Hudi, "_require_unchanged", original)
            something()
            original(self, *arguments)

        monkeypatch.setattr(Hudi, "_require_unchanged", first)

    return do


@sampled("MERGE_ON_READ")
def test_a_commit_that_completes_while_a_run_reads_comes_with_the_next_one(either: Any, meanwhile: Any) -> None:
    either.write([(1, "d", "a", 1), (2, "d", "b", 1)])
    meanwhile(lambda: either.write([(1, "d", "meanwhile", 2)]))
    assert either.follow().rows_read == 2
    assert either.follow().rows_read == 1
    assert either.followed() == either.rows()


def test_a_commit_that_is_undone_while_it_is_read_is_noticed(upstream: Any, meanwhile: Any) -> None:
    upstream.write([(1, "d", "a", 1)])
    upstream.follow()
    upstream.write([(1, "d", "undone", 2)])
    meanwhile(lambda: restored(upstream))
    upstream.refused(FailureReason.UPSTREAM_REWOUND)
    assert upstream.followed() == [(1, "d", "a", 1)]


@pytest.mark.parametrize(
    ("policy", "completes"),
    [("KEEP_LATEST_COMMITS", True), ("KEEP_LATEST_COMMITS", False), ("KEEP_LATEST_FILE_VERSIONS", True)],
)
def test_a_cleaning_that_takes_what_is_read_is_noticed(
    upstream: Any,
    meanwhile: Any,
    policy: str,
    completes: bool,
) -> None:
    upstream.write([(1, "d", "a", 1)])

    def write_and_clean() -> None:
        for at in (2, 3, 4):
            upstream.write([(1, "d", "later", at)])
        client = upstream.client(
            hoodie__clean__policy=policy,
            hoodie__clean__commits__retained="1",
            hoodie__clean__fileversions__retained="1",
        )
        client.clean()
        client.close()
        for one in () if completes else upstream.timeline.glob("2*_*.clean"):
            one.unlink()

    meanwhile(write_and_clean)
    assert "retainCommits" in upstream.refused(FailureReason.UPSTREAM_CLEANED)
    upstream.follow()
    assert upstream.followed() == upstream.rows()


def test_a_cleaning_that_leaves_what_is_read_is_none_of_its_business(upstream: Any, meanwhile: Any) -> None:
    for at in range(1, 5):
        upstream.write([(1, "d", "a", at)])

    def clean() -> None:
        client = upstream.client(hoodie__clean__commits__retained="1")
        assert client.clean().getTotalFilesDeleted()
        client.close()

    meanwhile(clean)
    assert upstream.follow().outcome is Outcome.SUCCEEDED


def test_rows_undone_by_a_restore_are_read_again_unless_removed_upstream(upstream: Any) -> None:
    upstream.write([(1, "d", "a", 1)])
    upstream.follow()
    upstream.write([(2, "d", "b", 1)])
    upstream.follow()
    lake, target, read = upstream.lake, commits(upstream.lake)[0], upstream.followed()
    ingestion = lake.request(**upstream.task(on_removed_rows="Ignore")).tasks[0].ingestion

    done(operate(lake, target, ingestion=ingestion, uid="uid-of-restore"))
    assert upstream.followed() == [(1, "d", "a", 1)]
    assert upstream.follow().rows_read == 1
    assert upstream.followed() == read == upstream.rows()

    upstream.write([(2, "d", "c", 2)])
    before = lake.instants()
    assert operate(lake, target, ingestion=ingestion, dry_run=True).outcome is Outcome.SUCCEEDED
    instant = deleted_by_key(upstream)
    said = refusal(operate(lake, target, ingestion=ingestion))
    assert f"removed rows since they were read (1 of them counted): {instant}" in said
    restored(upstream)
    assert "are no longer in the timeline" in refusal(operate(lake, target, ingestion=ingestion))
    assert lake.instants() == before
