"""What cleaning and archival would find, on timelines of a few names."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import fastavro
import pytest

from hudi_jobs.contract import Location
from hudi_operator.timeline import Timeline, TimelineReader
from hudi_operator.timeline.rules.retention import (
    Archivable,
    ArchivalHold,
    archivable,
    clean_would_find,
    earliest_to_retain,
)


def clean(*, retained: str = "", savepoints: str = "") -> bytes:
    """The content of a completed clean."""
    extra = {"savepointed_timestamps": savepoints} if savepoints else None
    schema = {
        "type": "record",
        "name": "HoodieCleanMetadata",
        "fields": [
            {"name": "earliestCommitToRetain", "type": "string"},
            {"name": "extraMetadata", "type": ["null", {"type": "map", "values": "string"}]},
        ],
    }
    target = BytesIO()
    fastavro.writer(
        target, fastavro.parse_schema(schema), [{"earliestCommitToRetain": retained, "extraMetadata": extra}]
    )
    return target.getvalue()


def commits(first: int, last: int) -> list[str]:
    """Completed delta commits 10, 12, 14, ... by number."""
    return [f"{number}0_{number}1.deltacommit" for number in range(first, last + 1)]


@pytest.fixture
def read(make_table: Any) -> Any:
    def look(names: list[str], contents: Mapping[str, bytes] | None = None, **properties: str) -> Timeline:
        return TimelineReader(make_table(dict.fromkeys(names, b"") | dict(contents or {}), **properties)).read(
            Location.parse("/t")
        )

    return look


@pytest.mark.parametrize(
    ("names", "retain", "expected"),
    [
        (commits(1, 3), 3, None),
        (commits(1, 4), 3, "20"),
        (commits(1, 4), 0, None),
        # Nothing newer than the last commit before what is pending is the earliest to retain.
        ([*commits(1, 5), "15.deltacommit.inflight"], 2, "10"),
        ([*commits(1, 5), "15.compaction.requested"], 2, "10"),
        ([*commits(1, 5), "15.clustering.requested"], 2, "10"),
        ([*commits(1, 5), "05.compaction.requested"], 2, None),
        ([*commits(1, 5), "55.compaction.requested"], 2, "40"),
        # A log compaction, a clean or a rollback holds nothing.
        ([*commits(1, 5), "15.logcompaction.requested", "16.clean.inflight", "17.rollback.inflight"], 2, "40"),
    ],
)
def test_the_oldest_commit_that_a_clean_keeps(names: list[str], retain: int, expected: str | None, read: Any) -> None:
    assert earliest_to_retain(read(names), retain_commits=retain) == expected


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ({}, True),
        ({"45_46.clean": clean(retained="30")}, False),
        ({"45_46.clean": clean(retained="20")}, True),
        # After a clean that names no commit, and before the timeline's first commit, Hudi looks at everything.
        ({"45_46.clean": clean()}, True),
        ({"45_46.clean": clean(retained="05")}, True),
        # Files that a savepoint pinned go once the savepoint is deleted.
        ({"45_46.clean": clean(retained="30", savepoints="20")}, True),
        ({"45_46.clean": clean(retained="30", savepoints="20"), "20_47.savepoint": b""}, False),
        ({"45_46.clean": b"damaged"}, None),
    ],
)
def test_a_clean_finds_what_the_last_one_left(contents: dict[str, bytes], expected: bool | None, read: Any) -> None:
    assert clean_would_find(read(commits(1, 5), contents), retain_commits=3) is expected


def test_a_clean_of_a_table_with_few_commits_finds_nothing(read: Any) -> None:
    assert clean_would_find(read(commits(1, 3)), retain_commits=3) is False
    assert clean_would_find(read([]), retain_commits=1) is False


@pytest.mark.parametrize(
    ("extra", "arguments", "expected"),
    [
        ([], {"max_commits": 9}, Archivable(commits=0, others=0)),
        ([], {}, Archivable(commits=6, others=0)),
        # Cleans and rollbacks go up to the last commit that goes.
        (["15_16.clean", "25_26.rollback", "65_66.clean"], {}, Archivable(commits=6, others=2)),
        # Cleaning keeps more than the minimum: both limits rise to what it needs.
        ([], {"retain_commits": 4}, Archivable(commits=3, others=0)),
        ([], {"retain_commits": 6}, Archivable(commits=0, others=0)),
        (
            ["35.deltacommit.inflight"],
            {},
            Archivable(commits=2, others=0, held=ArchivalHold.PENDING_INSTANT, held_from="30"),
        ),
        (
            ["05.compaction.requested"],
            {},
            Archivable(commits=0, others=0, held=ArchivalHold.PENDING_INSTANT, held_from="05"),
        ),
        (["85.compaction.requested", "35.clean.inflight"], {}, Archivable(commits=6, others=0)),
        (["40_77.savepoint"], {}, Archivable(commits=3, others=0, held=ArchivalHold.SAVEPOINT, held_from="40")),
        (
            [],
            {"compaction_delta_commits": 5},
            Archivable(commits=3, others=0, held=ArchivalHold.COMPACTION, held_from="40"),
        ),
        (
            [],
            {"compaction_delta_commits": 99},
            Archivable(commits=0, others=0, held=ArchivalHold.COMPACTION, held_from="10"),
        ),
        # Too few delta commits since the compaction: it stays itself.
        (
            ["35_36.commit"],
            {"compaction_delta_commits": 6},
            Archivable(commits=3, others=0, held=ArchivalHold.COMPACTION, held_from="35"),
        ),
        (
            ["35_36.replacecommit"],
            {},
            Archivable(commits=3, others=0, held=ArchivalHold.REPLACED_FILES, held_from="35"),
        ),
    ],
)
def test_archival_takes_these_instants(
    extra: list[str], arguments: dict[str, int], expected: Archivable, read: Any
) -> None:
    timeline = read([*commits(1, 8), *extra])
    bounds: dict[str, Any] = {"min_commits": 2, "max_commits": 4, **arguments}
    assert archivable(timeline, **bounds) == expected


@pytest.mark.parametrize(
    ("content", "taken"),
    [
        (clean(retained="40"), 6),
        (clean(retained="30"), 3),
        # Under a policy that names no commit, the clean itself is the limit.
        (clean(), 6),
        # A savepoint that the clean spared may still need files that the replacecommit replaced.
        (clean(retained="60", savepoints="30"), 3),
    ],
)
def test_a_replacecommit_stays_until_its_replaced_files_are_cleaned(content: bytes, taken: int, read: Any) -> None:
    timeline = read([*commits(1, 8), "35_36.replacecommit"], {"85_86.clean": content})
    found = archivable(timeline, min_commits=3, max_commits=4)
    assert found is not None
    assert found.commits == taken


@pytest.mark.parametrize(
    ("metadata", "taken"),
    [
        (["10_11.deltacommit"], 0),
        (["30001_31.commit"], 2),
        (["80001_81.commit"], 6),
    ],
)
def test_nothing_is_archived_that_the_metadata_table_has_not_merged(metadata: list[str], taken: int, read: Any) -> None:
    found = archivable(read(commits(1, 8)), min_commits=2, max_commits=4, metadata=read(metadata))
    assert found is not None
    assert (found.commits, found.held) == (taken, None if taken == 6 else ArchivalHold.METADATA_TABLE)


def test_layout_1_archives_cleans_by_their_own_number(read: Any) -> None:
    one = {"table_version": "6", "timeline_layout_version": "1"}
    names = ["10.deltacommit", *(f"{number}1.clean" for number in range(1, 7))]
    found = archivable(read(names, **one), min_commits=2, max_commits=4)
    assert found == Archivable(commits=0, others=4)
    merged = read(["31001.commit"], **one)
    assert archivable(read(names, **one), min_commits=2, max_commits=4, metadata=merged) == Archivable(
        commits=0, others=3
    )
    assert archivable(read(names, **one), min_commits=2, max_commits=4, metadata=read([], **one)) == Archivable(
        commits=0, others=0
    )


def test_archivable_instants_are_unknown_while_the_last_clean_is(read: Any) -> None:
    damaged = {"85_86.clean": b"damaged"}
    assert archivable(read([*commits(1, 8), "35_36.replacecommit"], damaged), min_commits=2, max_commits=4) is None
    # Without anything that replaced files, the clean does not matter.
    assert archivable(read(commits(1, 8), damaged), min_commits=2, max_commits=4) == Archivable(commits=6, others=0)


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        (5, Archivable(commits=4, others=0, held=ArchivalHold.COMPACTION, held_from="40")),
        # Hudi counts between five and eight delta commits: it keeps none that is older than the sixth from the end.
        (6, Archivable(commits=2, others=0, held=ArchivalHold.COMPACTION, held_from="30")),
        (99, Archivable(commits=3, others=0, held=ArchivalHold.COMPACTION, held_from="35")),
    ],
)
def test_archival_goes_on_where_it_is_not_known_what_compaction_counts(
    threshold: int, expected: Archivable, read: Any
) -> None:
    names = [*(f"{number}0.deltacommit" for number in range(1, 9)), "35.commit"]
    timeline = read(names, table_version="6", timeline_layout_version="1")
    assert timeline.counters.delta_commits_since_compaction is None
    assert archivable(timeline, min_commits=2, max_commits=4, compaction_delta_commits=threshold) == expected
