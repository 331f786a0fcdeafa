"""The search for keys: in files of every kind that lie below a table, as a whole and not as a part of another text."""

import bz2
import gzip
import io
import json
import lzma
import os
import random
import threading
import time
import zipfile
from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.parse import quote

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark_jobs.operations.erase.wholes import ADDRESS, KEY, KEYS, LONGER, SIXTEEN, TEN, TWENTY_THREE, WHOLE

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import Service
from hudi_jobs.operations.erase.keys import Keys, _read, where_found, with_key
from hudi_jobs.operations.erase.own_folders import require_no_word_of_metadata
from hudi_jobs.operations.erase.quarantine_files import count_in, erase_from, holding_in
from hudi_jobs.operations.erase.remaining import mentions, require_in_no_other_row, strays, strays_refused
from hudi_jobs.operations.erase.scan import File, files_below, search, unsearched_logs
from hudi_jobs.spark.failures import TaskFailed

pytestmark = [pytest.mark.spark]

OTHERS = [f"customer-{number:05}{end}" for number in range(100) for end in ("0", "-b", "x")]
FIELD = {"type": "record", "name": "r", "fields": [{"name": "id", "type": "string"}]}


def keys(*texts: str) -> Keys:
    values = frozenset((text,) for text in texts)
    return Keys(fields=("id",), values=values, records=frozenset(texts), digest="")


def parquet(folder: Path, name: str, values: list[str], **options: Any) -> None:
    pq.write_table(pa.table({"note": values}), folder / name, **options)


def avro(values: list[str], codec: str) -> bytes:
    written = io.BytesIO()
    fastavro.writer(written, FIELD, [{"id": value} for value in values], codec=codec)
    return written.getvalue()


def write_all(folder: Path, values: list[str]) -> None:
    folder.mkdir()
    text = "\n".join(values)
    (folder / "plain.txt").write_text(text)
    (folder / "sentence.txt").write_text("; ".join(f"mail to {value}." for value in values))
    (folder / "json.json").write_text("".join(f'{{"id":"{value}"}}\n' for value in values))
    (folder / "late.txt").write_bytes(b"\0" * ((1 << 20) + 25) + text.encode())
    (folder / "packed.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "null.avro").write_bytes(avro(values, "null"))
    (folder / "deflate.avro").write_bytes(avro(values, "deflate"))
    parquet(folder, "dictionary.parquet", values, compression="zstd")
    parquet(folder, "plain.parquet", values, compression="snappy", use_dictionary=False)
    parquet(folder, "pages.parquet", values, compression="gzip", data_page_version="2.0", write_page_index=True)
    deltas = {"use_dictionary": False, "column_encoding": {"note": "DELTA_BYTE_ARRAY"}, "compression": "none"}
    parquet(folder, "deltas.parquet", values, write_statistics=False, **deltas)


def seen(lake: Any, folder: Path, *texts: str) -> tuple[set[str], set[str]]:
    """The names of the files that hold one of the texts, and of those that cannot be read."""
    context = TaskContext(spark=lake.spark, run="r", task=lake.service_request(Service.CLEANING).tasks[0])
    found = search(context, files_below(context, str(folder)), keys(*texts))
    assert found.files == len(list(folder.iterdir()))
    return tuple({Path(path).name for path in paths} for paths in (found.found, found.unread))  # type: ignore[return-value]


def test_a_key_is_found_in_every_kind_of_file_and_no_longer_text_is_taken_for_it(lake: Any, tmp_path: Path) -> None:
    write_all(tmp_path / "with", [*OTHERS[:150], KEY, *OTHERS[150:]])
    write_all(tmp_path / "without", OTHERS)
    everything = {path.name for path in (tmp_path / "with").iterdir()}
    assert seen(lake, tmp_path / "with", "nobody-at-all", KEY) == (everything, set())
    assert seen(lake, tmp_path / "without", "nobody-at-all", KEY) == (set(), set())


def test_what_cannot_be_read_as_what_it_begins_as_is_said(lake: Any, tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "packed.gz").write_bytes(gzip.compress(b"x" * 1_000)[:20])
    (folder / "log").write_bytes(b"#HUDI#" + b"\0\0")
    (folder / "none.parquet").write_bytes(b"PAR1" + b"x" * 100)
    (folder / "half.hfile").write_bytes(b"DATABLK*" + b"\0" * 100)
    with zipfile.ZipFile(folder / "export.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("customers.csv", KEY)
    (folder / "export.bz2").write_bytes(bz2.compress(50 * KEY.encode()))
    (folder / "export.xz").write_bytes(lzma.compress(50 * KEY.encode()))
    (folder / "export.zst").write_bytes(b"\x28\xb5\x2f\xfd" + b"\0" * 20)
    (folder / "list.txt").write_text("ORC, goblin and BZh9")
    assert seen(lake, folder, KEY) == (set(), {path.name for path in folder.iterdir()} - {"list.txt"})


def test_what_the_operator_writes_meanwhile_is_read_again_and_never_taken_for_damaged(
    lake: Any, tmp_path: Path
) -> None:
    folder = tmp_path / ".hudi-operator"
    folder.mkdir()
    over = threading.Event()

    def write_again_and_again() -> None:
        while not over.is_set():
            with (folder / "lease.json").open("wb") as file:
                time.sleep(0.001)
                file.write(b"\x1f\x8b" if random.random() < 0.3 else b"{}" * 100)
            (folder / "draft").write_bytes(gzip.compress(b"x"))
            (folder / "draft").replace(folder / "lease.json")

    writer = threading.Thread(target=write_again_and_again)
    writer.start()
    try:
        context = TaskContext(spark=lake.spark, run="r", task=lake.service_request(Service.CLEANING).tasks[0])
        listed = [File(str(folder / name), 10) for name in ("lease.json", "draft")] * 100
        assert search(context, listed, keys(KEY)).unread == set()
        for _ in range(300):
            assert {file.name for file in files_below(context, str(tmp_path))} <= {"lease.json", "draft"}
    finally:
        over.set()
        writer.join()


def test_a_key_is_found_as_documents_and_paths_spell_it(lake: Any, tmp_path: Path) -> None:
    name, folder = 'Jörg "J" Maß: a/b', tmp_path / "spelt"
    folder.mkdir()
    inner = json.dumps({"id": name})
    (folder / "ascii.json").write_text(inner)
    (folder / "utf8.json").write_text(json.dumps({"id": name}, ensure_ascii=False))
    (folder / "twice.json").write_text(json.dumps({"record": inner}))
    (folder / "mixed.json").write_text(json.dumps({"record": inner}, ensure_ascii=False))
    (folder / "folder.txt").write_text("name=Jörg %22J%22 Maß%3A a%2Fb/part.parquet")
    (folder / "rows.csv").write_text('"Jörg ""J"" Maß: a/b",1\n')
    (folder / "lines.json").write_text(json.dumps({"note": f"paid\n{name}\tlate"}))
    (folder / "inside.txt").write_text(f"next=%3Fname%3D{quote(name, safe='')}")
    (folder / "url.txt").write_text(f"?name={quote(name, safe='')}&")
    (folder / "net.json").write_text(r'{"id":"J\u00F6rg \u0022J\u0022 Ma\u00DF: a/b"}')
    (folder / "php.json").write_text(r'{"id":"J\u00f6rg \"J\" Ma\u00df: a\/b"}')
    everything = {path.name for path in folder.iterdir()}
    (folder / "other.json").write_text(json.dumps({"id": f"{name}x"}))
    assert seen(lake, folder, name) == (everything, set())


def test_a_key_in_a_file_is_a_whole_where_it_is_one_in_a_record_of_the_quarantine(lake: Any, tmp_path: Path) -> None:
    folder = tmp_path / "lines"
    folder.mkdir()
    for number, line in enumerate((*WHOLE, *LONGER)):
        (folder / f"{number}-{line in WHOLE}").write_bytes(line.encode())
    for number, beside in enumerate((b"\xe9", b"\xa9", b"\xc0\xa0", b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\xff")):
        (folder / f"before-{number}-True").write_bytes(beside + KEY.encode())
        (folder / f"behind-{number}-True").write_bytes(KEY.encode() + beside)
    assert seen(lake, folder, *KEYS) == ({path.name for path in folder.glob("*True")}, set())


def test_where_a_file_is_cut_for_reading_a_key_is_as_whole_as_elsewhere(lake: Any, tmp_path: Path) -> None:
    folder = tmp_path / "cut"
    folder.mkdir()
    for place in range(-5, 40):
        filling = b" " * ((1 << 20) + place)
        (folder / f"whole-{place}.gz").write_bytes(gzip.compress(filling + f"«{KEY}. x{KEY}".encode(), 1))
        (folder / f"longer-{place}.gz").write_bytes(gzip.compress(filling + f"ß{KEY}.é {KEY}ß".encode(), 1))
    assert seen(lake, folder, KEY) == ({path.name for path in folder.glob("whole-*")}, set())


def test_a_text_that_ends_with_a_key_is_found_whatever_the_length_of_the_next_one(lake: Any, tmp_path: Path) -> None:
    plain: dict[str, Any] = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    (tmp_path / "with").mkdir()
    (tmp_path / "without").mkdir()
    sizes = (1, 10, 45, 46, 48, 57, 65, 97, 122, 255, 256, 304, 353, 3_888)
    for size in sizes:
        parquet(tmp_path / "with", f"{size}.parquet", [f"call {KEY}", "x" * size], **plain)
        longer = [f"call {KEY}{more}" for more in ("1", "a", ".x")]
        parquet(
            tmp_path / "without", f"{size}.parquet", [text for one in longer for text in (one, "x" * size)], **plain
        )
    assert seen(lake, tmp_path / "with", KEY) == ({f"{size}.parquet" for size in sizes}, set())
    assert seen(lake, tmp_path / "without", KEY) == (set(), set())


def test_a_byte_before_a_key_is_its_length_in_bytes_and_in_no_text(lake: Any, tmp_path: Path) -> None:
    asked = ("order-1234", SIXTEEN, ADDRESS, TWENTY_THREE)
    texts = [
        "order-1234_line-0001",
        f"cc {SIXTEEN}.au",
        f'{{"cc":"{ADDRESS}.au"}}',
        f"john.{TWENTY_THREE}",
        "x\norder-12340",
    ]
    write_all(tmp_path / "texts", texts)
    for binary in ("late.txt", "null.avro", "deflate.avro"):
        (tmp_path / "texts" / binary).unlink()
    deltas = {"use_dictionary": False, "column_encoding": {"note": "DELTA_LENGTH_BYTE_ARRAY"}}
    parquet(tmp_path / "texts", "lengths.parquet", texts, write_page_index=True, **deltas)
    parquet(tmp_path / "texts", "one.parquet", texts[:1])
    assert seen(lake, tmp_path / "texts", *asked) == (set(), set())

    folder, payload = tmp_path / "bytes", b"\x06Ada\x14order-1234Hd3b07384-d113-4ec6-a7b4-1c6e5f8a9b10"
    folder.mkdir()
    (folder / "payload").write_bytes(payload)
    (folder / "payload.gz").write_bytes(gzip.compress(payload))
    pq.write_table(pa.table({"payload": [payload]}), folder / "plain.parquet", compression="none")
    columns = {"use_dictionary": False, "column_encoding": {"payload": "DELTA_BYTE_ARRAY"}, "write_statistics": False}
    pq.write_table(pa.table({"payload": [payload]}), folder / "deltas.parquet", **columns)
    assert seen(lake, folder, *asked) == ({path.name for path in folder.iterdir()}, set())


def test_an_offset_or_a_size_in_the_timeline_is_no_key_and_a_name_of_digits_is(lake: Any, tmp_path: Path) -> None:
    numbers = ("[12345678,1]", "[1, 12345678]", '"size" : 12345678,', '{\\"a\\":12345678}', '"a": 12345678\n}')
    names = ('"12345678"', "s3://lake/12345678/a.csv", "id=12345678", "12345678 ")
    for folder, expected in (
        (".hoodie/timeline", names),
        (".hoodie/metadata", numbers + names),
        ("p", numbers + names),
    ):
        place = tmp_path / folder
        place.mkdir(parents=True)
        for number, text in enumerate((*numbers, *names)):
            (place / f"{number}").write_text(f"so {text}")
        first = len(numbers + names) - len(expected)
        assert seen(lake, place, "12345678") == ({f"{number}" for number in range(first, len(numbers + names))}, set())


def test_the_ending_of_a_file_makes_a_key_longer_only_where_no_file_is_named(lake: Any, tmp_path: Path) -> None:
    named, longer = f'["s3://lake/{KEY}.csv.gz"]', f'["s3://lake/{KEY}-b.csv"]'
    for folder, names_files in (
        (".hoodie/timeline", True),
        (".hoodie/archived", True),
        (".hudi-operator/files", True),
        (".hoodie/metadata", False),
        ("p", False),
    ):
        place = tmp_path / folder
        place.mkdir(parents=True)
        (place / "named").write_text(named)
        (place / "longer").write_text(longer)
        pq.write_table(pa.table({"plan": [named.encode()]}), place / "named.parquet")
        assert seen(lake, place, KEY) == ({"named", "named.parquet"} if names_files else set(), set()), folder


def processor_seconds(spark: Any) -> float:
    """Processor seconds of the JVM: unlike the time on the clock, what else the machine does is not in them."""
    process = spark._jvm.java.lang.ProcessHandle.current().pid()
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def test_keys_that_end_alike_are_looked_for_as_fast_as_others(lake: Any, tmp_path: Path) -> None:
    folder = tmp_path / "alike"
    folder.mkdir()
    (folder / "all.txt").write_text("".join(f"{number}-x@example.com\n" for number in range(120_000)))
    forms = ("example.com-{}", "{}@example.com")
    took = dict.fromkeys(forms, 0.0)
    for form in forms * 3:
        begun = processor_seconds(lake.spark)
        assert seen(lake, folder, *(form.format(f"{number:05}") for number in range(30_000))) == (set(), set())
        took[form] += processor_seconds(lake.spark) - begun
    others, alike = took.values()
    assert alike < 5 * others


def test_keys_are_whole_where_they_have_several_fields_and_short_ones_are_not_for_bytes() -> None:
    several = Keys(
        fields=("tenant", "id"),
        values=frozenset({("a", "1234567")}),
        records=frozenset({"tenant:a,id:1234567"}),
        digest="",
    )
    assert set(several.in_bytes) == {
        b"tenant:a,id:1234567",
        b"tenant%3Aa,id%3A1234567",
        b"tenant%3Aa%2Cid%3A1234567",
        b"tenant%3aa%2cid%3a1234567",
    }
    assert keys("1234567", "12345678").in_bytes == [b"12345678"]
    assert not keys("1234567", "12345678").are_all_in_bytes


def test_a_file_of_keys_with_blank_lines_is_read_to_its_end(lake: Any, tmp_path: Path) -> None:
    context = TaskContext(spark=lake.spark, run="r", task=lake.service_request(Service.CLEANING).tasks[0])
    file = tmp_path / "keys.jsonl"
    file.write_text("".join(f"{number}\n\n \u00a0\r\n" for number in range(60_000)))
    assert sorted(map(int, map(str, _read(context, str(file))))) == list(range(60_000))


def test_a_short_key_is_found_as_a_value_whatever_the_folder_and_the_columns_are_called(
    lake: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "at=[2026]{a}*"
    folder.mkdir()
    pq.write_table(pa.table({"_hoodie_record_key": ["7", "8"], "v": ["x", "y"]}), folder / "with.parquet")
    pq.write_table(pa.table({"_hoodie_record_key": ["8"], "v": ["7"]}), folder / "without.parquet")
    assert seen(lake, folder, "7") == ({"with.parquet"}, set())
    rows = lake.spark.createDataFrame([("7", "x"), ("8", "7")], "_hoodie_record_key STRING, erased STRING")
    assert [row["erased"] for row in with_key(rows, keys("7")).collect()] == ["x"]
    assert [row["erased"] for row in with_key(rows, keys("7"), without=True).collect()] == ["7"]


def test_rows_that_hold_a_key_in_some_text_are_counted_with_the_columns_of_these(lake: Any) -> None:
    context = TaskContext(spark=lake.spark, run="r", task=lake.service_request(Service.CLEANING).tasks[0])
    inside = "named_struct('n', 1, 'of', array(map('x', named_struct('by', {}))))"
    values = [
        ("by", f"'{KEY}'", f"'{KEY}'", f"'{KEY}0'", "NULL", "'x'"),
        ("note", "NULL", f"'for {KEY}.'", f"'{KEY}-b'", "NULL", "NULL"),
        ("raw", "X'00'", "X'00'", f"encode('{KEY}', 'UTF-8')", "NULL", "X'00'"),
        ("in.side", *(inside.format(by) for by in ("NULL", "'-'", "'-'", f"'{KEY}'")), "NULL"),
        ("n", "1", "1", "1", "1", "1"),
    ]
    names, *cells = zip(*values, strict=True)
    selects = ((f"{value} AS `{name}`" for value, name in zip(row, names, strict=True)) for row in cells)
    rows = lake.spark.sql(" UNION ALL ".join(f"SELECT {', '.join(select)}" for select in selects))
    assert mentions(context, rows, keys("nobody-at-all", KEY)) == (4, ["by", "note", "raw", "in.side"])
    assert mentions(context, rows, keys("nobody-at-all")) == (0, [])
    other = lake.spark.sql(
        f"SELECT array('x', '{TEN}0') AS many, 'cc {SIXTEEN}.au' AS cc, 'a.{TWENTY_THREE}' AS `by`, "
        f"""named_struct('of', '{{"cc":"{ADDRESS}.au"}}', 'raw', X'00') AS `in`, """
        f"concat(X'14', encode('{TEN}0', 'UTF-8')) AS payload"
    )
    assert mentions(context, other, keys(TEN, SIXTEEN, ADDRESS, TWENTY_THREE)) == (1, ["payload"])
    assert mentions(context, rows.limit(0), keys(KEY)) == (0, [])


def test_beside_a_metadata_table_a_word_of_its_schema_is_no_key_that_could_be_shown_to_be_gone(lake: Any) -> None:
    context = TaskContext(spark=lake.spark, run="r", task=lake.service_request(Service.CLEANING).tasks[0])
    with pytest.raises(TaskFailed, match="word of the schema of Hudi's metadata table"):
        require_no_word_of_metadata(context, keys("nobody-at-all", "filesystemMetadata"))
    require_no_word_of_metadata(context, keys("nobody-at-all", "key"))


def test_rows_are_looked_at_in_files_that_hold_a_key_or_are_unknown(lake: Any) -> None:
    context = TaskContext(spark=lake.spark, run="r", task=lake.service_request(Service.CLEANING).tasks[0])
    names = ["f1-0_0-1-2_20260310.parquet", "f2-0_0-1-2_20260310.parquet", "f3-0", "f9-0_0-1-2_20260310.parquet", None]
    rows = lake.spark.createDataFrame([(name, KEY) for name in names], "_hoodie_file_name STRING, v STRING")
    data = [File(f"/t/{name}", 1) for name in (*names[:2], ".f3-0_20260310.log.1_0-1-0")]
    for holding, found in (([], 3), ([data[0].path], 4), ([data[0].path, data[1].path], 5)):
        with pytest.raises(TaskFailed, match=f"^{found} rows with other keys hold .*\\(v\\)"):
            require_in_no_other_row(context, rows, data, holding, keys(KEY))
    require_in_no_other_row(context, rows, data, [], keys("short"))


def test_log_files_that_are_left_cannot_tell_whether_they_hold_a_short_key() -> None:
    log = ".f1_20260310120000000.log.1_0-1-0"
    files = [File(f"/table/{path}", 1) for path in (log, f".hoodie/metadata/{log}", "app.log.1", "f1.parquet")]
    assert unsearched_logs(files, keys("7", KEY)) == {f"/table/{log}"}
    assert unsearched_logs(files, keys(KEY)) == set()


BASE_FILE = "3f0e1c9a-8f4d-4f5e-9d58-0b8e0f6f2c11-0_0-21-35_20260310120000000.parquet"


def test_every_file_that_is_not_the_tables_own_is_one_that_nothing_shows_to_hold_no_key() -> None:
    own = (
        BASE_FILE,
        f"day=1/{BASE_FILE.replace('000000000.', '00000000.')}",
        "00000003-8f4d-4f5e-9d58-0b8e0f6f2c11-0_0-21-35_00000000000001.parquet",
        "f1_1_20160501010101.parquet",
        "day=1/.f1-0_20260310120000000.log.1_0-1-0",
        ".f1-0_20260310120000.log.12",
        ".hoodie_partition_metadata",
        "day=1/.hoodie_partition_metadata.parquet",
        "day=1/.hoodie_partition_metadata_3f0e1c9a-8f4d-4f5e-9d58-0b8e0f6f2c11.parquet",
        ".hoodie/hoodie.properties.backup",
        ".hoodie/20260310120000000.savepoint",
        ".hoodie/timeline/history/manifest_1",
        ".hoodie/.temp/20260310120000000/MARKERS0",
        ".hoodie/metadata/column_stats/col-stats-0000-0_0-1-2_20260310120000000001.hfile",
        ".hudi-operator/keys-of-uid.sealed",
    )
    others = (
        "export.csv",
        "app.log.1",
        ".app.log.csv",
        "day=1/part-00000-3f0e1c9a-8f4d-4f5e-9d58-0b8e0f6f2c11-c000.snappy.parquet",
        f"{BASE_FILE}.bak",
        "backup/.hoodie/hoodie.properties",
        ".hoodie-old/hoodie.properties",
        "_delta_log/00000000000000000000.json",
        "export.deflate",
        "day=1/export.csv.gz.gz",
    )
    files = [File(f"s3a://lake/table/{path}", 1) for path in (*own, *others)] + [File("s3a://lake/table/_SUCCESS", 0)]
    for base in ("s3a://lake/table", "s3a://lake/table/"):
        assert strays(files, base) == {f"s3a://lake/table/{path}" for path in others}


def test_a_refusal_beside_strange_files_names_a_few_and_no_key() -> None:
    asked = keys("4711", KEY)
    sentence = strays_refused([f"/lake/{name}.csv" for name in "edcba"], "/lake", asked)
    assert "/lake/a.csv, /lake/b.csv, /lake/c.csv and 2 more. Move" in sentence
    for path in ("/lake/4711.csv", "/lake/id=4711/export.csv", f"/lake/{KEY}.csv"):
        sentence = strays_refused({path, "/lake/b.csv"}, "/lake", asked)
        assert "/lake/..., /lake/b.csv (... is a name with a key in it)" in sentence
        assert "4711" not in sentence
        assert KEY not in sentence


def test_a_file_is_no_base_file_by_its_name_alone(lake: Any, tmp_path: Path) -> None:
    folder = tmp_path / "named"
    folder.mkdir()
    pq.write_table(pa.table({"_hoodie_record_key": ["8"]}), folder / BASE_FILE)
    pq.write_table(pa.table({"id": [7, 123_456_789]}), folder / "sales_2026_20260310.parquet")
    pq.write_table(pa.table({"_hoodie_record_key": ["8", None]}), folder / "half_2026_20260310.parquet")
    pq.write_table(pa.table({"id": ["7"]}), folder / "others.parquet")
    for asked in (("7", KEY), (KEY,), ("123456789",)):
        assert seen(lake, folder, *asked) == (set(), {"sales_2026_20260310.parquet", "half_2026_20260310.parquet"})


@pytest.mark.parametrize(
    ("fields", "key", "text", "others"),
    [
        (("id",), ("1",), "id:1", [("id:1",)]),
        (("a", "b"), ("1,b:2", "3"), "a:1,b:2,b:3", [("1", "2,b:3")]),
        (("a", "b"), ("1", ""), "a:1,b:__null__", []),
        (("a", "b"), ("1", "__empty__"), "a:1,b:__empty__", []),
    ],
)
def test_a_record_whose_key_is_the_same_text_is_another_one(
    lake: Any, fields: tuple[str, ...], key: tuple[str, ...], text: str, others: list[tuple[str, ...]]
) -> None:
    asked = Keys(fields=fields, values=frozenset((key,)), records=frozenset((text,)), digest="")
    own = tuple(None if value in {"", "__empty__"} else value for value in key)
    columns = ", ".join(f"{field} STRING" for field in ("_hoodie_record_key", "_hoodie_partition_path", *fields))
    alone = [(text, "p", *own), ("another", "q", *own)]
    assert where_found(lake.spark.createDataFrame(alone, columns), asked) == (frozenset({"p"}), False)
    beside = [*alone, *((text, "q", *other) for other in others)]
    found = where_found(lake.spark.createDataFrame(beside, columns), asked)
    assert found == (frozenset({"p", *("q" for _ in others)}), bool(others))


def test_records_of_a_quarantine_go_by_keys_of_parts_without_a_value_and_inside_of_others(
    lake: Any, tmp_path: Path
) -> None:
    context = TaskContext(spark=lake.spark, run="r", task=lake.service_request(Service.CLEANING).tasks[0])
    folder = tmp_path / f"run-[1]/{context.task.id}"
    folder.mkdir(parents=True)
    records = [{"a": {"b": 7}, "c": None}, {"a": {"b": 7}}, {"a.b": "7", "c": ""}]
    others = [{"a": {"b": 7}, "c": "x"}, {"a": {"b": 8}}, {"c": None}, ["a"], "a", None]
    lines = [json.dumps({"reason": "r", "record": json.dumps(record)}) for record in (*records, *others)]
    (folder / "part.json").write_text("".join(f"{line}\n" for line in lines))
    asked = Keys(fields=("a.b", "c"), values=frozenset({("7", "")}), records=frozenset({"a.b:7,c:__null__"}), digest="")
    other = Keys(fields=("a.b", "c"), values=frozenset({("8", "")}), records=frozenset({"a.b:8,c:__null__"}), digest="")
    assert holding_in(context, (str(tmp_path),), asked)
    assert count_in(context, (str(tmp_path),), asked) == len(records)
    erase_from(context, (str(tmp_path),), asked)
    assert holding_in(context, (str(tmp_path),), asked) == set()
    (first,) = folder.glob("*.json")
    assert first.read_text().splitlines() == lines[len(records) :]
    erase_from(context, (str(tmp_path),), other)
    (second,) = folder.glob("*.json")
    assert second.name != first.name, "a run that is killed while it writes leaves the former file"
    assert len(second.read_text().splitlines()) == len(others) - 1
    assert count_in(context, (str(tmp_path),), other) == 0


def test_a_record_that_no_run_could_read_goes_with_its_key_or_the_erasure_is_refused(lake: Any, tmp_path: Path) -> None:
    context = TaskContext(spark=lake.spark, run="r", task=lake.service_request(Service.CLEANING).tasks[0])
    folder = tmp_path / f"run-1/{context.task.id}/unreadable"
    folder.mkdir(parents=True)
    uuid = "d3b07384-d113-4ec6-a7b4-1c6e5f8a9b10"
    records = ("4711,Ada,too,many", '{"id": 4711, "na', f"H{uuid}\x06Ada", b64encode(b"\xffH" + uuid.encode()).decode())
    lines = [json.dumps({"message": "orders-0:17", "reason": "r", "record": each}) for each in (*records, "4712,Bo")]
    (folder / "part.json").write_text("".join(f"{line}\n" for line in lines))
    asked, folders = keys("4711", uuid), (str(tmp_path),)
    assert count_in(context, folders, asked) == len(records)
    erase_from(context, folders, asked)
    assert holding_in(context, folders, asked) == set()
    (left,) = folder.glob("*.json")
    assert left.read_text().splitlines() == lines[len(records) :]
    left = folder / "other.json"
    left.write_text(json.dumps({"message": "orders-0:18", "reason": "r", "record": b64encode(b"\xff\x08").decode()}))
    with pytest.raises(TaskFailed, match="Inspect the file, remove such records from it or delete it"):
        count_in(context, folders, asked)
    assert holding_in(context, folders, asked) == {f"file:{left}"}
    left.unlink()
    dead = folder / "_temporary/0/task_1/part 1%.json"
    dead.parent.mkdir(parents=True)
    dead.write_text(json.dumps({"message": "orders-0:19", "reason": "r", "record": '{"after": {"id": 4711}}'}))
    assert count_in(context, folders, asked) == 1, "a run that died left it"
    erase_from(context, folders, asked)
    assert not dead.exists()
    assert holding_in(context, folders, asked) == set()
    left.write_text("4712,Bo")
    left.rename(folder / "part.json.deflate")
    with pytest.raises(TaskFailed, match="written by no run; inspect the file, and delete it"):
        count_in(context, folders, asked)
