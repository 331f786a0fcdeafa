"""The real writers of other releases do what the matrix asks of them."""

from pathlib import Path

import pytest
from tests.matrix.cases import extent

from toolkit.writers import COMPACTED_ELSEWHERE, RELEASES, Writer, WriterFailed

pytestmark = [pytest.mark.spark, pytest.mark.matrix]

OPTIONS = {
    **COMPACTED_ELSEWHERE,
    "hoodie.table.name": "flights",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "part",
}


@pytest.mark.skipif(extent() == "sample", reason="the sample of the matrix uses three of them")
@pytest.mark.parametrize("version", RELEASES)
def test_a_release_writes_plans_compacts_and_is_interrupted(version: str, tmp_path: Path) -> None:
    table = tmp_path / "flights"
    with Writer(version, zone="Asia/Tokyo") as writer:
        writer.upsert(table, [("k0", "a", "first", 1), ("k1", "a", "first", 1)], options=OPTIONS)
        writer.upsert(table, [("k0", "a", "second", 2)], options=OPTIONS)
        assert f"hoodie.table.version={writer.release.table_version}\n" in properties(table)
        plan = writer.schedule(table, "compaction", {"hoodie.compact.inline.max.delta.commits": "1"})
        assert plan
        writer.upsert(table, [("k0", "a", "third", 3)], options=OPTIONS)
        assert (plan, "compaction", "REQUESTED") in writer.timeline(table)
        expected = [("k0", "third"), ("k1", "first")]
        assert writer.rows(table, "id", "word") == expected

        writer.service(table, "compact", plan)
        assert writer.completed(table, "commit") == [plan]
        begun = writer.begin(table, [("k2", "a", "late", 4)], options=OPTIONS)
        assert [one[2] for one in writer.timeline(table)].count("INFLIGHT") == 1
        assert writer.rows(table, "id", "word") == expected
        writer.finish(begun)
        assert writer.rows(table, "id", "word") == [*expected, ("k2", "late")]

        writer.fail(writer.begin(table, [("k3", "a", "lost", 5)], options=OPTIONS))
        assert [one[2] for one in writer.timeline(table)].count("INFLIGHT") == 1
        savepoint = writer.completed(table)[-1]
        writer.service(table, "rollback", next(one[0] for one in writer.timeline(table) if one[2] == "INFLIGHT"))
        writer.service(table, "savepoint", savepoint)
        writer.upsert(table, [("k0", "a", "fourth", 6)], options=OPTIONS)
        writer.service(table, "restore", savepoint)
        assert writer.rows(table, "id", "word") == [*expected, ("k2", "late")]
        with pytest.raises(WriterFailed, match="no_such_thing"):
            writer.sql("SELECT * FROM no_such_thing")


def properties(table: Path) -> str:
    return (table / ".hoodie" / "hoodie.properties").read_text()
