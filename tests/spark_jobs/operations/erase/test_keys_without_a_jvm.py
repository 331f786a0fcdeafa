"""Keys of a file, how others write them, and partitions that are named after one."""

import json
import re
from itertools import repeat

import pytest

from hudi_jobs.contract import Location
from hudi_jobs.contract.operations.erase import MOST_ERASED
from hudi_jobs.operations.erase.erase_check import are_named_after
from hudi_jobs.operations.erase.keys import Keys, keys_of, parsed
from hudi_jobs.operations.erase.requested_keys import _is_inside
from hudi_jobs.operations.erase.scan import WholeTexts
from hudi_jobs.operations.erase.spellings import LARGEST_SPELT, require_few, spellings
from hudi_jobs.spark.failures import TaskFailed

_ESCAPED = re.compile(r"\\.")


def keys(*texts: str) -> Keys:
    return keys_of(("id",), frozenset((text,) for text in texts), "uid")


def test_a_file_of_more_keys_than_one_operation_erases_is_refused_and_never_cut() -> None:
    assert len(parsed(["1"] * MOST_ERASED)) == MOST_ERASED
    with pytest.raises(TaskFailed, match="More than 100,000 records"):
        parsed([*["1"] * MOST_ERASED, " "])


def test_keys_with_more_spellings_than_a_driver_holds_are_refused_and_usual_ones_are_not() -> None:
    require_few(repeat("anna@example.com", MOST_ERASED))
    require_few(repeat("d3b07384-d113-4ec6-a7b4-1c6e5f8a9b10", MOST_ERASED))
    link = "https://shop.example.com/item/4711?ref=mail&x=1"
    most = 100 * len(spellings(link))
    require_few(repeat(link, 100), most=most)
    for many in (repeat(link, 101), repeat("x" * 1_048_576, LARGEST_SPELT // 1_048_576 + 1)):
        with pytest.raises(TaskFailed, match="erase them in several operations"):
            require_few(many, most=most)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('"J\ufffdrg"', "not UTF-8"),
        ('{"id": "a", "id": "b"}', "names a field twice"),
        ("[", "not JSON"),
        ("1" * 5_000, "not JSON"),
    ],
)
def test_a_line_that_may_name_another_key_than_its_writer_meant_is_refused(line: str, said: str) -> None:
    with pytest.raises(TaskFailed, match=said):
        parsed(['"customer-00001"', line])
    assert parsed([r'"J\ufffdrg"', '{"id": 1}']) == ["J\ufffdrg", {"id": 1}]


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("müller-0001", r'{"id":"m\u00FCller-0001"}'),
        ("müller-0001", r'{"record":"{\"id\":\"m\\u00FCller-0001\"}"}'),
        ("😀-00001", r'{"id":"\uD83D\uDE00-00001"}'),
        ("anna+x@example.com", r'{"id":"anna\u002Bx@example.com"}'),
        ("anna+x@example.com", r'{"record":"{\u0022id\u0022:\u0022anna\\u002Bx@example.com\u0022}"}'),
        ("shop/4711/a", r'{"id":"shop\/4711\/a"}'),
        ("shop/4711/a", r'{"record":"{\"id\":\"shop\\\/4711\\\/a\"}"}'),
        ("shop/4711/ä", r'{"id":"shop\/4711\/\u00e4"}'),
        ("a&b-000001", r'{"id":"a\u0026b-000001"}'),
        ("a&b-ü00001", r'{"id":"a\u0026b-ü00001"}'),
        ("a=b-000001", r'{"id":"a\u003db-000001"}'),
        ("<a>'b\"-0001", r'{"id":"\u003Ca\u003E\u0027b\u0022-0001"}'),
        ("<a>'b\"-0001", r'{"id":"\u003ca\u003e\u0027b\"-0001"}'),
        (r"a\b\u00fc-01", r'{"id":"a\\b\\u00fc-01"}'),
        ("a\x1f-000001", r'{"id":"a\u001F-000001"}'),
        ("o'brien@x.de", "?id=o'brien%40x.de"),
        ("josé@x.com", "?id=jos%c3%a9%40x.com"),
        ("josé@x.com", "/jos%C3%A9@x.com"),
    ],
)
def test_a_key_is_found_as_usual_writers_of_json_and_urls_spell_it(key: str, line: str) -> None:
    assert WholeTexts(keys(key)).are_in(line)


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("customer-00007", 1),
        ("Jane Doe 0007", 3),
        ("anna@example.com", 2),
        ("anna+x@example.com", 12),
        ("müller-0001", 8),
        ("Müller & Söhne", 40),
        ("".join(map(chr, range(0x2100))), 200),
    ],
)
def test_a_text_has_few_spellings_and_json_reads_each_as_another_one_or_as_the_text(text: str, most: int) -> None:
    found = spellings(text)
    assert text in found
    assert len(found) <= most
    assert {json.loads(f'"{each}"', strict=False) for each in found if '"' not in _ESCAPED.sub("", each)} <= found


@pytest.mark.parametrize(
    ("key", "path", "fields", "is_named"),
    [
        ("category", "category_v2=a", ("category_v2",), False),
        ("category", "category=a", ("category",), True),
        ("20260310", "hour=2026031014", ("hour",), False),
        ("20260310", "day=20260310/hour=14", ("day", "hour"), True),
        ("20260310", "20260310", ("day",), True),
        ("customer-00007", "by=customer-00007", ("by",), True),
        ("customer-00007", "by=customer%2D00007", ("by",), True),
        ("a b:000007", "by=a b%3A000007", ("by",), True),
        ("a b:000007", "by=a%20b%3a000007", ("by",), True),
        ("7", "id=7", ("id",), True),
        ("7", "7", ("id",), True),
        ("/", "id=%2F", ("id",), True),
        ("7", "id=77", ("id",), False),
        ("7", "month=7", ("month",), False),
    ],
)
def test_a_partition_is_named_after_a_key_that_stands_as_a_whole_in_its_path(
    key: str, path: str, fields: tuple[str, ...], is_named: bool
) -> None:
    assert are_named_after(["x=1", path], keys("nobody-at-all", key), fields) is is_named


@pytest.mark.parametrize(
    ("path", "is_inside"),
    [
        ("s3a://lake/t/keys.csv", True),
        ("s3://lake/t/keys.csv", True),
        ("s3n://lake/x%2f../t//keys.csv", True),
        ("s3a://lake/t2/keys.csv", False),
        ("file:///lake/t/keys.csv", False),
    ],
)
def test_file_of_keys_inside_the_table_is_found_in_every_spelling(path: str, *, is_inside: bool) -> None:
    assert _is_inside(path, Location.parse("s3a://lake/t")) is is_inside


def test_file_of_keys_without_an_absolute_path_is_refused() -> None:
    with pytest.raises(TaskFailed, match=r"lake/\.\./t/keys is not the path of a file of keys"):
        _is_inside("s3a://lake/../t/keys", Location.parse("s3a://lake/t"))
