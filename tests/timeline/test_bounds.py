"""What a tenant puts into its own table costs the operator little, and is a reason on that table."""

from __future__ import annotations

import gc
import importlib.util
import json
import time
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.samples import examples

from hudi_jobs.contract import Location
from hudi_operator.storage import CountingFileSystem, StorageError, StorageErrorKind
from hudi_operator.storage.local import LocalFileSystem
from hudi_operator.timeline import (
    ContentCache,
    ContentTooLarge,
    CorruptContent,
    TableUnreadable,
    TimelineReader,
    UnreadableCause,
)
from hudi_operator.timeline.avro.records import read_avro
from hudi_operator.timeline.content.commits import COMMIT_FIELDS, CommitMetadata, read_commit
from hudi_operator.timeline.content.interpret import FIELDS
from hudi_operator.timeline.files.properties import PROPERTIES_LIMIT, parse_properties
from hudi_operator.timeline.files.reading import FILE_LIMIT, ReadBudget

_SPEC = importlib.util.spec_from_file_location("hostile", Path(__file__).parent / "hostile.py")
assert _SPEC is not None
assert _SPEC.loader is not None
hostile = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(hostile)

MIB = 2**20
PROPERTIES = "/t/.hoodie/hoodie.properties"


def peak_of(call: Callable[[], object]) -> tuple[object, float]:
    """Return what a call returned or raised, and the most memory that the process took for it, in MiB."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = memory("VmRSS")
    try:
        outcome = call()
    except CorruptContent as error:
        outcome = error
    return outcome, memory("VmHWM") - before


def memory(field: str) -> float:
    """Return a figure of this process's memory in MiB."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(f"{field}:")]
    return int(line.split()[1]) / 1024


COMMITS = {
    "a commit of 102 KB that inflates to 100 MiB": lambda: hostile.inflating(100 * MIB),
    "statistics of twenty million files that take a byte each": lambda: hostile.tiny_statistics(20_000_000),
    "statistics that are just too many to keep": lambda: hostile.tiny_statistics(2_900_000),
    "an array of nothing that is asked for": lambda: hostile.items_of_nothing("extraMetadata"),
    "an array of nothing that nobody asks for": lambda: hostile.items_of_nothing("more"),
    "an array of wide records of nothing": hostile.wide_items_of_nothing,
    "a record that holds itself": hostile.endless,
    "five million entries of extra metadata": lambda: hostile.many_entries(5_000_000),
    "a JSON commit of 12 MB of empty statistics": lambda: hostile.json_of(4_000_000),
    "a JSON commit of 11 MB of empty lists": lambda: hostile.json_lists(700_000),
    "a JSON commit with one deep value of 12 MB": lambda: hostile.json_deep(4_000_000),
    "a JSON commit of a million brackets": lambda: hostile.json_nested(MIB),
    "a JSON commit with a text of 60 MB": lambda: hostile.json_text(60 * MIB),
}


@pytest.mark.parametrize("name", COMMITS)
def test_no_commit_costs_more_than_a_bounded_memory(name: str) -> None:
    data = COMMITS[name]()
    assert len(data) <= FILE_LIMIT
    outcome, peak = peak_of(lambda: read_commit(data))
    assert isinstance(outcome, CorruptContent), outcome
    assert peak < 64, f"{peak:.0f} MiB"


def statistics(count: int) -> bytes:
    one = {"fileId": "f" * 36, "path": f"p/{'x' * 100}", "prevCommit": "20260101000000000", "numWrites": 7}
    stats = [{**one, "fileId": f"f{place}", "more": "y" * 400} for place in range(count)]
    document = {"partitionToWriteStats": {"p": stats}, "extraMetadata": {"k": "v"}, "operationType": "UPSERT"}
    return json.dumps(document).encode()


def test_a_large_commit_is_read_whole_and_a_huge_one_for_its_marks_alone() -> None:
    large, huge = statistics(6_000), statistics(30_000)
    assert MIB < len(large) < len(huge) < FILE_LIMIT
    found, peak = peak_of(lambda: read_commit(large))
    assert isinstance(found, CommitMetadata)
    assert (found.complete, len(found.write_stats), found.write_stats[7].file_id) == (True, 6_000, "f7")
    assert found.write_stats[5_999].writes == 7
    assert peak < 60, f"{peak:.0f} MiB"
    marks, peak = peak_of(lambda: read_commit(huge))
    assert isinstance(marks, CommitMetadata)
    assert (marks.complete, marks.write_stats, marks.operation) == (False, (), "UPSERT")
    assert marks.extra_metadata == {"k": "v"}
    assert peak < 60, f"{peak:.0f} MiB"


@pytest.mark.parametrize("size", [0, 1, 7, 3000])
def test_json_that_is_read_piece_by_piece_says_what_it_says_as_a_whole(size: int) -> None:
    document = {
        "operationType": "UPSERT",
        "compacted": False,
        "more": {"a": [1, {"b": [[], {}]}], "c": None},
        "extraMetadata": {f"k{place}": 'é😀\\" ,:{}[]' * place for place in range(size % 100)},
        "partitionToWriteStats": {
            f"p{part}": [{"fileId": f"{place}", "path": "a/b", "numWrites": place} for place in range(size)]
            for part in range(3)
        },
        "partitionToReplaceFileIds": {"p": [f"{place}" for place in range(size)], "q": []},
    }
    padded = {"padding": "x" * 200_000, **document}
    for indent in (None, 1):
        text = json.dumps(padded, ensure_ascii=indent is None, indent=indent).encode()
        assert read_commit(text) == read_commit(json.dumps(document).encode())


@pytest.mark.parametrize("cut", ["}", '"', ",", "[", ""])
def test_large_json_that_is_damaged_is_said_to_be(cut: str) -> None:
    text = statistics(2000).decode()
    for damaged in (text[:-1] + cut + "x", text[: len(text) // 2] + cut, text.replace(", ", ",, ", 1), text + "{}"):
        with pytest.raises(CorruptContent):
            read_commit(damaged.encode())


EVERY_TYPE = {
    "type": "record",
    "name": "org.apache.All",
    "fields": [
        {"name": "path", "type": ["null", "string", "long"]},
        {"name": "fileId", "type": {"type": "string", "avro.java.string": "String"}},
        {"name": "more", "type": {"type": "array", "items": {"type": "map", "values": ["null", "bytes", "double"]}}},
        {"name": "operationType", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "extraMetadata", "type": {"type": "map", "values": {"type": "array", "items": "long"}}},
        {"name": "metrics", "type": ["null", {"type": "map", "values": "double"}]},
        {"name": "compacted", "type": "boolean"},
        {"name": "skipped", "type": {"type": "fixed", "name": "Sum", "size": 4}},
        {"name": "slices", "type": {"type": "array", "items": "org.apache.Kind"}},
        {
            "name": "strategy",
            "type": [
                "null",
                {
                    "type": "record",
                    "name": "S",
                    "fields": [
                        {"name": "strategy", "type": ["null", "S"]},
                        {"name": "numWrites", "type": "int"},
                    ],
                },
            ],
        },
        {"name": "version", "type": "float"},
    ],
}
LONGS = st.integers(-(2**63), 2**63 - 1)
ALL = st.fixed_dictionaries(
    {
        "path": st.one_of(st.none(), st.text(), LONGS),
        "fileId": st.text(),
        "more": st.lists(st.dictionaries(st.text(), st.one_of(st.none(), st.binary(), st.floats(allow_nan=False)))),
        "operationType": st.sampled_from(["A", "B"]),
        "extraMetadata": st.dictionaries(st.text(), st.lists(LONGS)),
        "metrics": st.none() | st.dictionaries(st.sampled_from(["TOTAL_IO_READ_MB", "x"]), st.floats(allow_nan=False)),
        "compacted": st.booleans(),
        "skipped": st.binary(min_size=4, max_size=4),
        "slices": st.lists(st.sampled_from(["A", "B"])),
        "strategy": st.none() | st.just({"strategy": {"strategy": None, "numWrites": 1}, "numWrites": -3}),
        "version": st.just(0.5),
    }
)


@given(value=ALL, codec=st.sampled_from(["null", "deflate"]))
@settings(max_examples=examples(200), deadline=None)
def test_the_wanted_fields_of_a_record_are_what_a_general_reader_gives(value: dict[str, Any], codec: str) -> None:
    target = BytesIO()
    fastavro.writer(target, fastavro.parse_schema(EVERY_TYPE), [value], codec=codec)
    whole: Any = next(fastavro.reader(BytesIO(target.getvalue())))
    expected = {name: one for name, one in whole.items() if name in FIELDS}
    if expected["metrics"] is not None:
        expected["metrics"] = {key: one for key, one in expected["metrics"].items() if key in FIELDS}
    if expected["strategy"] is not None:
        expected["strategy"]["strategy"].setdefault("strategy", None)
    assert read_avro(target.getvalue(), FIELDS) == expected


@given(data=st.data())
@settings(max_examples=examples(300), deadline=None)
def test_damaged_avro_raises_nothing_else(data: Any) -> None:
    target = BytesIO()
    fastavro.writer(target, fastavro.parse_schema(EVERY_TYPE), [data.draw(ALL)])
    damaged = bytearray(target.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(4, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with suppress(CorruptContent):
        read_avro(bytes(damaged), FIELDS)


@pytest.mark.parametrize("codec", [b"snappy", b"bzip2", b"xz", b"zstandard", b"lz4", b"nonsense" * 1000])
def test_a_codec_that_hudi_does_not_write_is_not_inflated(codec: bytes) -> None:
    with pytest.raises(CorruptContent, match="which Hudi does not do"):
        read_avro(hostile.avro_file(hostile.STATISTICS, b"", codec=codec), COMMIT_FIELDS)


@pytest.mark.parametrize(
    "schema",
    [
        b"",
        b"[",
        b"{}",
        b'"nonsense"',
        b'{"type":"record"}',
        b'{"type":"array"}',
        b'{"type":"fixed","name":"x","size":-1}',
        b'{"type":"fixed","name":"x","size":9999999999}',
        b"[" * 60_000,
        b'{"type":' * 5_000 + b'"int"' + b"}" * 5_000,
    ],
)
def test_a_schema_that_makes_no_sense_is_damage(schema: bytes) -> None:
    with pytest.raises(CorruptContent):
        read_avro(hostile.avro_file(schema, b""), COMMIT_FIELDS)


# Properties


@pytest.mark.parametrize(
    "text",
    [
        "k=" + "\\u0041" * (PROPERTIES_LIMIT // 6),
        "\\\n" * (PROPERTIES_LIMIT // 2),
        "a\\\n" * (PROPERTIES_LIMIT // 3),
        "\\" * PROPERTIES_LIMIT,
        " " * PROPERTIES_LIMIT,
        "\\ " * (PROPERTIES_LIMIT // 2),
    ],
    ids=["escapes", "continued", "continued text", "backslashes", "spaces", "escaped spaces"],
)
def test_properties_are_parsed_in_linear_time(text: str) -> None:
    def seconds(part: str) -> float:
        started = time.process_time()
        parse_properties(part)
        return time.process_time() - started

    assert seconds(text) < 0.05 + 40 * max(seconds(text[: len(text) // 8]), 0.01)


def test_properties_with_too_many_keys_are_too_large(make_table: Any) -> None:
    filesystem = make_table(["1_2.commit"])
    filesystem.files[PROPERTIES] += b"".join(b"k%d=\n" % place for place in range(3000))
    with pytest.raises(TableUnreadable, match="more than 2000 keys") as caught:
        TimelineReader(filesystem).read(Location.parse("/t"))
    assert caught.value.cause is UnreadableCause.TOO_LARGE


def test_large_properties_are_refused_by_their_size_and_their_backup_is_not_taken(make_table: Any) -> None:
    filesystem = make_table(["1_2.commit"])
    filesystem.files[f"{PROPERTIES}.backup"] = filesystem.files[PROPERTIES]
    filesystem.files[PROPERTIES] = b"k=" + b"\\u0041" * (4 * MIB // 6)
    counting = CountingFileSystem(filesystem)
    reader = TimelineReader(counting)
    for _ in range(5):
        with pytest.raises(TableUnreadable, match=rf"has \d+ bytes; at most {PROPERTIES_LIMIT} are read") as caught:
            reader.read(Location.parse("/t"))
        assert caught.value.cause is UnreadableCause.TOO_LARGE
    assert (counting.read_bytes, counting.reads) == (0, 1)


# What could not be used is remembered


def test_a_damaged_file_is_read_once_until_it_changes(make_table: Any) -> None:
    filesystem = make_table({"1_2.commit": b"", "3_4.clean": b"damaged"})
    reader = TimelineReader(filesystem)
    first = reader.read(Location.parse("/t"))
    assert first.counters.commits_since_clean is None
    filesystem.reads.clear()
    for _ in range(5):
        assert reader.read(Location.parse("/t")) == first
    assert filesystem.reads == []
    filesystem.files["/t/.hoodie/timeline/3_4.clean"] = b'{"lastCompletedCommitTimestamp": "1"}'
    assert reader.read(Location.parse("/t")).counters.commits_since_clean == 0
    assert "/t/.hoodie/timeline/3_4.clean" in filesystem.reads


@pytest.mark.parametrize("content", [b"damaged", b"hoodie.table.checksum=1\n", b"", b"hoodie.table.name=t\n"])
def test_damaged_properties_are_read_once_until_they_change(content: bytes, make_table: Any) -> None:
    filesystem = make_table(["1_2.commit"])
    whole, filesystem.files[PROPERTIES] = filesystem.files[PROPERTIES], content
    reader = TimelineReader(filesystem)
    for _ in range(5):
        with pytest.raises(TableUnreadable) as caught:
            reader.read(Location.parse("/t"))
        assert caught.value.cause is UnreadableCause.CORRUPT
    assert filesystem.reads.count(PROPERTIES) == 1
    filesystem.files[PROPERTIES] = whole
    assert reader.read(Location.parse("/t")).counters.completed_commits == 1


def test_a_damaged_commit_is_read_once_until_it_changes(make_table: Any) -> None:
    filesystem = make_table({"1_2.commit": b"damaged"})
    reader = TimelineReader(filesystem)
    timeline = reader.read(Location.parse("/t"))
    for _ in range(5):
        with pytest.raises(CorruptContent):
            list(reader.commits(Location.parse("/t"), timeline))
    assert filesystem.reads.count("/t/.hoodie/timeline/1_2.commit") == 1
    filesystem.files["/t/.hoodie/timeline/1_2.commit"] = b"{}"
    assert len(list(reader.commits(Location.parse("/t"), timeline))) == 1


def test_a_commit_beyond_the_bound_is_too_large_and_not_read(make_table: Any) -> None:
    filesystem = make_table(["1_2.commit"])
    filesystem.files["/t/.hoodie/timeline/1_2.commit"] = b" " * (FILE_LIMIT + 1)
    counting = CountingFileSystem(filesystem)
    reader = TimelineReader(counting)
    timeline = reader.read(Location.parse("/t"))
    before = counting.read_bytes
    for _ in range(5):
        with pytest.raises(ContentTooLarge, match="at most"):
            list(reader.commits(Location.parse("/t"), timeline))
    assert counting.read_bytes == before


def test_a_local_file_is_not_read_beyond_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(2**40)  # a hole: a terabyte that takes no space
    with pytest.raises(StorageError) as caught:
        LocalFileSystem().read_file(str(path), limit=MIB)
    assert caught.value.kind is StorageErrorKind.TOO_LARGE
    with pytest.raises(StorageError) as caught:
        LocalFileSystem().read_file("/dev/zero", limit=MIB)
    assert caught.value.kind is StorageErrorKind.TOO_LARGE


# Listings, reads and memory


def test_a_crowded_folder_is_a_reason_and_is_not_listed_at_every_read(tmp_path: Path, make_table: Any) -> None:
    filesystem = make_table({f"{place:017}.commit": b"" for place in range(60_001)})
    reader = TimelineReader(filesystem)
    for _ in range(10):
        with pytest.raises(TableUnreadable, match="more than 60000 files") as caught:
            reader.read(Location.parse("/t"))
        assert caught.value.cause is UnreadableCause.TOO_LARGE
    assert filesystem.lists <= 1
    for name in [name for name in filesystem.files if name.endswith("1.commit")]:
        del filesystem.files[name]
    with pytest.raises(TableUnreadable):
        reader.read(Location.parse("/t"))
    assert reader.read(Location.parse("/t")).counters.completed_commits > 50_000
    for place in range(50):
        (tmp_path / f"{place}").touch()
    with pytest.raises(StorageError, match="more than 49 files"):
        LocalFileSystem().list_directory(str(tmp_path), limit=49)
    assert len(LocalFileSystem().list_directory(str(tmp_path), limit=50).names) == 50


def test_problems_are_reported_up_to_a_number(make_table: Any) -> None:
    problems = (
        TimelineReader(make_table([f"stray{place}" for place in range(5000)])).read(Location.parse("/t")).problems
    )
    assert len(problems) == 201
    assert problems[-1].reason == "4800 more problems are not shown."


def test_read_takes_a_bounded_number_of_files_and_the_next_read_goes_on(make_table: Any) -> None:
    names = {f"{place}.replacecommit.requested": b"{}" for place in range(1000, 2000)}
    done = {f"{place}_{place}.replacecommit": b"{}" for place in range(1000, 2000)}
    filesystem = make_table({**names, **done})
    cache = ContentCache()
    counts = []
    for _ in range(40):
        before = len(filesystem.reads)
        timeline = TimelineReader(filesystem, cache, budget=ReadBudget(files=100)).read(Location.parse("/t"))
        counts.append(len(filesystem.reads) - before)
        if timeline.counters.commits_since_clustering is not None:
            break
    assert max(counts) <= 100
    assert timeline.counters.commits_since_clustering == 1000
    assert timeline.problems == ()


def test_whoever_holds_most_of_the_memory_forgets_first() -> None:
    cache = ContentCache(max_bytes=100 * 1000)
    good, bad = cache.share("team-a"), cache.share("team-b")
    for place in range(10):
        good.put(("last read", f"{place}"), place, size=1000)
    for place in range(5000):
        bad.put(("last read", f"bad-{place}"), place, size=1000)
    assert [good.get(("last read", f"{place}")) for place in range(10)] == list(range(10))
    assert bad.get(("last read", "bad-4999")) == 4999
    assert len(cache) == 100


@pytest.mark.parametrize("layout", ["1", "2"])
@pytest.mark.parametrize("time", ["9" * 33, "0" * 900])
def test_an_instant_of_more_digits_than_hudi_writes_makes_the_timeline_unreadable(
    layout: str, time: str, make_table: Any
) -> None:
    names = ["1.commit", f"{time}.commit"] if layout == "1" else ["1_2.commit", f"1_{time}.commit"]
    filesystem = make_table(names, timeline_layout_version=layout, table_version="6" if layout == "1" else "9")
    with pytest.raises(TableUnreadable, match="more digits than an instant has") as caught:
        TimelineReader(filesystem).read(Location.parse("/t"))
    assert caught.value.cause is UnreadableCause.CORRUPT
