"""Rows that stay with texts of which a key is a part: the proof takes no more for a key than the check of rows did."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark_jobs.operations.asked import rows
from tests.spark_jobs.operations.erase.erasing import INDEXES, erase, erased
from tests.spark_jobs.operations.erase.test_key_search import keys, seen
from tests.spark_jobs.operations.erase.wholes import ADDRESS, SIXTEEN, TEN

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import Service
from hudi_jobs.frames import local_frame
from hudi_jobs.operations.erase.remaining import mentions
from hudi_jobs.operations.erase.scan import files_below, search

pytestmark = [pytest.mark.spark, pytest.mark.slow]

DIGEST = "0123456789abcdef0123456789abcdef"
LONGER = [f"copy of {DIGEST}-2", f'{{"cc":"{ADDRESS}.au"}}', f"cc {SIXTEEN}.au", f"{TEN}_long-0001", f"x\n{TEN}0"]
"""Each with a length of the key, or its double, as the character before it or as its own length."""

KEYS = (DIGEST, ADDRESS, SIXTEEN, TEN)


def test_a_footer_and_an_index_of_pages_repeat_longer_texts_without_making_keys_of_them(
    lake: Any, tmp_path: Path
) -> None:
    plain: dict[str, Any] = {"compression": "none", "write_page_index": True}
    texts = [*LONGER, f"{'x' * 54}{TEN}0", f"{TEN}{'0' * (len(TEN) << 7)}"]
    for name, values in (("without", texts), ("with", [f"for {KEYS[0]}", f"for {KEYS[1]}."])):
        (tmp_path / name).mkdir()
        for number, value in enumerate(values):
            table = pa.table({"note": [value]})
            pq.write_table(table, tmp_path / name / f"{number}.parquet", **plain)
            noted = table.replace_schema_metadata({"noted": value})
            pq.write_table(noted, tmp_path / name / f"{number}-noted.parquet", write_statistics=False, **plain)
            deltas = {"column_encoding": {"note": "DELTA_BYTE_ARRAY"}, "use_dictionary": False}
            pq.write_table(table, tmp_path / name / f"{number}-delta.parquet", **plain, **deltas)
    (tmp_path / "noted").mkdir()
    for name, note in (("alone", f"for {TEN}."), ("first", f"{TEN} {'x' * 40}")):  # whose length is a digit
        noted = pa.table({"note": ["x"]}).replace_schema_metadata({"noted": note})
        pq.write_table(noted, tmp_path / "noted" / f"{name}.parquet", **plain)
    assert seen(lake, tmp_path / "without", *KEYS) == (set(), set())
    assert seen(lake, tmp_path / "with", *KEYS) == ({path.name for path in (tmp_path / "with").iterdir()}, set())
    assert seen(lake, tmp_path / "noted", *KEYS) == ({"alone.parquet", "first.parquet"}, set())


def test_texts_that_are_stored_by_their_differences_are_searched_as_values_alone(lake: Any, tmp_path: Path) -> None:
    folder, number = tmp_path / "deltas", 12_345_678
    folder.mkdir()
    table = pa.table(
        {"note": ["xa.", f"x{TEN}"], "n": [number, number], "raw": pa.array([b"a" * 10] * 2, pa.binary(10))}
    )
    deltas = {"column_encoding": {"note": "DELTA_BYTE_ARRAY", "raw": "PLAIN"}, "use_dictionary": False}
    pq.write_table(table, folder / "both.parquet", write_statistics=False, compression="none", **deltas)
    assert seen(lake, folder, TEN, str(number)) == (set(), set())
    assert seen(lake, folder, "a" * 10) == ({"both.parquet"}, set())


def test_an_erasure_succeeds_beside_longer_texts_that_indexes_and_statistics_keep(lake: Any) -> None:
    lake.metadata_table, lake.options = True, INDEXES
    ids = [*KEYS, *LONGER[:4], "8"]
    values = [(one, LONGER[0], LONGER[1], LONGER[2], LONGER[4]) for one in ids]
    frame = local_frame(lake.spark, values, "id STRING, a STRING, b STRING, c STRING, d STRING")
    options = lake.request().tasks[0].hudi_options | {"hoodie.datasource.write.operation": "upsert"}
    frame.coalesce(1).write.format("hudi").options(**options).mode("append").save(lake.base_path)
    before = rows(lake)
    context = TaskContext(spark=lake.spark, run="r", task=lake.service_request(Service.CLEANING).tasks[0])
    indexes = files_below(context, f"{lake.base_path}/.hoodie/metadata")
    for asked, holding in ((DIGEST, {"column_stats", "record_index"}), (SIXTEEN, {"record_index"})):
        found = search(context, indexes, keys(asked)).found
        assert {path.split("/metadata/")[1].partition("/")[0] for path in found} - {"partition_stats"} == holding
    _, proof = erased(erase(lake, ids=KEYS))
    assert proof.rows == len(KEYS)
    assert rows(lake) == [row for row in before if row[0] not in KEYS]


def test_a_text_with_what_pages_have_before_a_key_is_refused_as_it_would_be_found(lake: Any, tmp_path: Path) -> None:
    text = f"\n\0\0\0{TEN}0"
    context = TaskContext(spark=lake.spark, run="r", task=lake.service_request(Service.CLEANING).tasks[0])
    assert mentions(context, local_frame(lake.spark, [(text,)], "note STRING"), keys(TEN)) == (1, ["note"])
    (tmp_path / "zeros").mkdir()
    pq.write_table(pa.table({"note": [text]}), tmp_path / "zeros" / "one.parquet", compression="none")
    assert seen(lake, tmp_path / "zeros", TEN) == ({"one.parquet"}, set())


def test_a_character_before_a_key_is_no_length_of_it_behind_the_length_of_the_whole_text(
    lake: Any, tmp_path: Path
) -> None:
    context = TaskContext(spark=lake.spark, run="r", task=lake.service_request(Service.CLEANING).tasks[0])
    for length, character in ((64, "@"), (48, "0"), (95, "_"), (97, "a")):
        key, folder = (DIGEST * 4)[:length], tmp_path / str(length)
        assert len(key) == ord(character)
        folder.mkdir()
        for name, options in (("dictionary", {}), ("plain", {"use_dictionary": False})):
            table = pa.table({"note": [f"{character}{key}"]})
            pq.write_table(table, folder / f"{name}.parquet", compression="none", **options)
            pq.write_table(pa.table({"note": [key]}), folder / f"{name}-alone.parquet", compression="none", **options)
        assert seen(lake, folder, key) == ({"dictionary-alone.parquet", "plain-alone.parquet"}, set())
        frame = local_frame(lake.spark, [(f"{character}{key}",)], "note STRING")
        assert mentions(context, frame, keys(key)) == (0, [])
