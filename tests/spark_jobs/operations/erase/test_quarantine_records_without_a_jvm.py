"""Whether a record of the quarantine has a key: one that no run could read, and values that have several texts."""

import base64
import json

import pytest

from hudi_jobs.ingestion.rows import BASE64, BINARY, TIME, TIME_END, TOMBSTONE
from hudi_jobs.operations.erase.keys import Key, Keys
from hudi_jobs.operations.erase.own_folders import has_statistics
from hudi_jobs.operations.erase.quarantine_records import BadRecords, Verdict, meaning, numbers_in
from hudi_jobs.operations.erase.scan import Texts, WholeTexts

STAYS, UNDECIDED, GOES = Verdict
UUID = "d3b07384-d113-4ec6-a7b4-1c6e5f8a9b10"
AVRO = b"\0\0\0\0\xc8\x14customer-7"
LONG = (200).to_bytes(8)
BEGINNINGS = ("", TOMBSTONE, f"{TIME}-1{TIME_END}", f"{TIME}9223372036854775807{TIME_END}")


def keys(*values: Key | str, fields: tuple[str, ...] = ("id",)) -> Keys:
    found = frozenset((value,) if isinstance(value, str) else value for value in values)
    records = frozenset(
        key[0] if len(fields) == 1 else ",".join(map(":".join, zip(fields, key, strict=True))) for key in found
    )
    return Keys(fields=fields, values=found, records=records, digest="")


def unreadable(record: str, *, origin: str = "source_file") -> str:
    return json.dumps({origin: "orders-0:17", "reason": "cannot be read as JSON", "record": record})


def message(value: bytes, *, after: str = "", is_marked: bool = True) -> str:
    """A message that cannot be decoded, as `corrupt_text` stores it; earlier releases did not mark base64."""
    marked = {BINARY: BASE64} if is_marked else {}
    try:
        text = value.decode()
    except UnicodeDecodeError:
        lines = base64.encodebytes(value).strip().replace(b"\n", b"\r\n").decode()  # Spark cuts base64 into lines
        text = f"{BASE64 if is_marked else ''}{lines}"
    return json.dumps({"message": "orders-0:17", "reason": "r", **marked, "record": after + text})


def row(record: object) -> str:
    return json.dumps({"reason": "no ordering value", "record": json.dumps(record)})


def judged(line: str, asked: Keys) -> Verdict:
    return BadRecords(asked).judge(line, is_unreadable="source_file" in line or "message" in line)


@pytest.mark.parametrize(
    ("record", "verdict"),
    [
        ("4711,Ada,too,many", GOES),
        ('{"id": 4711, "na', GOES),
        ('[{"id": 4711}]', GOES),
        ('{"after": {"id": 4711}}', GOES),
        ('{"ID": 4711}', GOES),
        ('{"id": 8, "id": 4711}', GOES),
        ('{"id": null, "key": "4711"}', GOES),
        ('{"id": 4711, "v": {}}', GOES),
        ('{"id": 4711.0, "v": {}}', GOES),
        ('{"id": "04711", "v": {}}', UNDECIDED),
        ("04711,Ada,too,many", UNDECIDED),
        ('{"id": 4.711e3, "na', UNDECIDED),
        ("47\x0011,Ada", UNDECIDED),
        ('{"id": 8, "v": 4711}', STAYS),
        ("4712,Bo,too,many", STAYS),
        ("47110,14711,10:47:11,4711-1,x4711", STAYS),
        ("customer", STAYS),
    ],
)
def test_a_short_key_is_found_in_what_no_run_could_read(record: str, verdict: Verdict) -> None:
    assert judged(unreadable(record), keys("4711", "99")) is verdict


@pytest.mark.parametrize(
    ("value", "key", "verdict"),
    [
        (b"\xff\x00" + b"H" + UUID.encode() + b"Hmore", UUID, GOES),
        (b"\xff" * 90 + b"H" + UUID.encode() + b"x" * 50, UUID, GOES),
        (b"\x00\x10H" + UUID.encode() + b"\x06Ada", UUID, GOES),
        (b"H" + UUID.encode() + b"Ada", UUID, UNDECIDED),
        (b"\0AdaH" + UUID.encode() + b"Hmore", UUID, UNDECIDED),
        (b"\xff " + UUID.encode() + b"\x00", UUID, GOES),
        (b"\xff" + b"x" * 40, UUID, UNDECIDED),
        (b"\x00\x10\x06Ada", UUID, UNDECIDED),
        (b"\xff\x084711\x00", "4711", UNDECIDED),
        (b"\xce\x49\x06Ada", "4711", UNDECIDED),
        (b"\x00\x00\x12\x67", "4711", UNDECIDED),
        ("Ada, 4711".encode("utf-16"), "4711", UNDECIDED),
        (b"id=4711", "4711", GOES),
        (b"the words of nobody", "4711", STAYS),
    ],
)
@pytest.mark.parametrize("is_marked", [True, False])
def test_a_binary_message_goes_with_a_long_key_and_else_nothing_tells_what_it_holds(
    value: bytes, key: str, verdict: Verdict, is_marked: bool
) -> None:
    assert judged(message(value, is_marked=is_marked), keys(key)) is verdict


@pytest.mark.parametrize(
    ("value", "key", "verdict"),
    [
        (AVRO, "customer-7", GOES),
        (AVRO, "customer-8", UNDECIDED),
        (LONG, "200", UNDECIDED),
        (b"200", "200", GOES),
        (b'{"id": 200}', "200", GOES),
        (b'{"id": 7, "v": 200}', "200", STAYS),
        (b'{"after": {"id": 200}}', "200", GOES),
        (b"201", "200", STAYS),
        (b"201", "-1", STAYS),
        (b"201", "key", STAYS),
        (b"null", "9999", STAYS),
    ],
)
@pytest.mark.parametrize("after", BEGINNINGS)
@pytest.mark.parametrize("is_marked", [True, False])
def test_words_that_a_run_writes_before_a_key_or_a_value_hide_nothing_of_it_and_are_no_part_of_it(
    value: bytes, key: str, verdict: Verdict, after: str, is_marked: bool
) -> None:
    if (after, is_marked, value) == ("", False, b"null"):
        verdict = UNDECIDED  # it may be bytes
    assert judged(message(value, after=after, is_marked=is_marked), keys(key)) is verdict


@pytest.mark.parametrize("word", ["test", "ping", "null", "deadbeef", "test1234", "heartbeat", "OK", "base64:"])
def test_a_word_is_no_binary_message_unless_an_earlier_release_may_have_written_a_key_so(word: str) -> None:
    for asked in ("customer-00007", UUID, "4711", "2026-01-02"):
        verdict = UNDECIDED if asked == "2026-01-02" else STAYS
        assert judged(message(word.encode()), keys(asked)) is verdict, "a time may be written in any way"
    assert judged(message(word.encode(), is_marked=False), keys("customer-00007", UUID)) is STAYS
    may_be_bytes = word not in {"heartbeat", "OK", "base64:"}
    for asked in ("4711", "cafe-4711", "10.0.0.17", "-281474976710655", "smith"):
        verdict = UNDECIDED if may_be_bytes else STAYS
        assert judged(message(word.encode(), is_marked=False), keys(asked)) is verdict


def test_a_message_without_content_holds_no_key() -> None:
    for told in ("", f"{TOMBSTONE}null", f"{TIME}-1{TIME_END}null"):
        for is_marked in (True, False):
            line = message(b"", after=told, is_marked=is_marked)
            assert judged(line, keys("2026-01-02", "4711", "customer-00007")) is STAYS


def test_a_text_that_looks_like_marked_bytes_never_just_stays() -> None:
    assert judged(message(b"base64:4711"), keys("4711")) is UNDECIDED
    assert judged(message(b"base64:4711 Ada"), keys("4711")) is GOES
    assert judged(message(b"base64:customer-00007"), keys("customer-00007")) is GOES


@pytest.mark.parametrize(
    ("value", "key", "verdict"),
    [
        ("2026-01-02T00:00:00.000Z", "2026-01-02 00:00:00", GOES),
        ("2026-01-02T01:00:00.5+01:00", "2026-01-02 00:00:00.5", GOES),
        ("2026-01-02T00:00:00.123Z", "2026-01-02 00:00:00.123456", UNDECIDED),
        ("2026-01-02T00:00:00.123Z", "2026-01-02 00:00:00.124", STAYS),
        ("+12026-01-02T00:00:00.000Z", "+12026-01-02 00:00:00", GOES),
        ("2026-01-02", "2026-01-02", GOES),
        (10.5, "10.50", GOES),
        (1e22, "1.0E22", GOES),
        (12345678901234567890123456789012345678, "12345678901234567890123456789012345678.00", GOES),
        (12345678901234567890123456789012345678, "12345678901234567890123456789012345679", STAYS),
        (0.0, "-0.00", GOES),
        ("007", "7", STAYS),
        ("7", "7", GOES),
        (None, "7", STAYS),
        ("__null__", "", GOES),
        (True, "true", GOES),
    ],
)
def test_a_row_of_the_quarantine_has_a_key_by_its_value(value: object, key: str, verdict: Verdict) -> None:
    assert judged(row({"id": value, "v": "4711"}), keys(key, "4711")) is verdict


@pytest.mark.parametrize(
    ("content", "verdict"),
    [
        (b'{"ID":"customer-00007"}', GOES),
        ("«customer-00007»".encode(), GOES),
        (b"\xff\x0ecustomer-00007Ada", GOES),
        (b'{"ID":"customer-000070"}', STAYS),
        (b"\xff\x00 nobody", STAYS),
        (b"", STAYS),
    ],
)
def test_a_row_goes_with_a_key_in_its_bytes_which_are_base64_in_the_quarantine(
    content: bytes, verdict: Verdict
) -> None:
    value = base64.b64encode(content).decode()
    for record in ({"value": value}, {"id": "8", "in": {"side": [1, None, {"of": value}]}}):
        assert judged(row(record), keys("customer-00007")) is verdict


def test_bytes_that_escape_a_key_or_hold_all_values_of_one_are_of_it() -> None:
    escaped = base64.b64encode(json.dumps({"id": "Jörg Maßmann"}).encode()).decode()
    assert judged(row({"value": escaped}), keys("Jörg Maßmann")) is GOES
    both = base64.b64encode(b"tenant-0001,x,customer-00007").decode()
    asked = keys(("tenant-0001", "customer-00007"), fields=("tenant", "id"))
    assert judged(row({"value": both}), asked) is GOES
    assert judged(row({"value": base64.b64encode(b"tenant-0002,customer-00007").decode()}), asked) is STAYS


def test_a_line_that_a_run_had_written_half_may_hold_any_key_in_what_is_base64() -> None:
    half = message(b"\xff\x00 and so on, customer-00007")[:-20]
    assert BadRecords(keys("customer-00007")).judge(half, is_unreadable=True) is UNDECIDED
    half = row({"value": base64.b64encode(b"so on: customer-00007").decode()})[:-4]
    assert BadRecords(keys("customer-00007")).judge(half, is_unreadable=False) is UNDECIDED
    assert BadRecords(keys("customer-00007")).judge('{"reason":"r","rec', is_unreadable=True) is STAYS


def test_keys_of_several_fields_are_in_a_text_with_all_their_values() -> None:
    asked = keys(("acme", "4711"), ("acme", ""), ("2026-01-02 00:00:00", "5"), fields=("tenant", "id"))
    assert judged(unreadable("4711,x,acme"), asked) is GOES
    assert judged(unreadable("4711,x,other"), asked) is STAYS
    assert judged(unreadable("5,x,02.01.2026"), asked) is UNDECIDED, "sources write times in many ways"
    assert judged(unreadable("6,x,02.01.2026"), asked) is STAYS
    assert judged(unreadable("6,x,02.01.2026"), keys("2026-01-02 00:00:00")) is UNDECIDED
    assert judged(unreadable('{"id": "02.01.2026", "v": 1}'), keys("2026-01-02 00:00:00")) is UNDECIDED
    assert judged(row({"tenant": "acme"}), asked) is GOES
    assert judged(row({"id": "4711"}), asked) is STAYS


def test_a_character_that_could_not_be_read_hides_no_key_of_plain_letters() -> None:
    assert judged(unreadable("1,J\ufffdrg"), keys("4711")) is STAYS
    assert judged(unreadable("1,J\ufffdrg"), keys("Jörg")) is UNDECIDED


def test_numbers_stand_alone_and_are_no_parts_of_times() -> None:
    assert numbers_in('7, {"a":8.0} [-1e2] x9 1.2.3 2026-01-02 10:11:12') == {"7", "8", "-1E+2"}
    assert meaning("100") == meaning("1e2") == meaning(" 100.00 ")


@pytest.mark.parametrize(("size", "before"), [(36, "\0\0\0$"), (8, "\x10"), (200, "\0\0\0\xc8"), (14, "\x1c")])
def test_a_length_before_a_key_makes_it_whole_in_binary_content_alone(size: int, before: str) -> None:
    key = "k" * size
    assert Texts([key], encoding="latin-1").are_in(f"x{before}{key}y")
    assert not Texts([key], encoding="latin-1").are_in(f"xI{key}y")
    assert not WholeTexts(keys(key)).are_in(f"x{before}{key}y")


@pytest.mark.parametrize(("size", "before"), [(36, "xH"), (69, '"E'), (5, "\0\n"), (17, '\0"')])
def test_what_may_be_a_length_or_a_character_of_a_text_makes_no_key_of_a_part_of_it(size: int, before: str) -> None:
    assert not Texts(["k" * size], encoding="latin-1").are_in(f"{before}{'k' * size}y")


@pytest.mark.parametrize(
    ("key", "other"),
    [
        ("customer-7", "customer-70"),
        ("anna@example.com", "anna@example.com.au"),
        ("alice@example.com", "alice@example.com.au"),
        ("customer-12345678", "customer-123456789"),
        ("smith@longcompany.co.uk", "john.smith@longcompany.co.uk"),
    ],
)
def test_a_record_of_a_longer_key_stays_whatever_stands_before_it(key: str, other: str) -> None:
    for line in (row({"id": other}), row({"id": "8", "v": [f"x\n{other}", f"cc {other}"]})):
        assert judged(line, keys(key)) is STAYS
    for text in (f'{{"id":"{other}","na', f"x {other}", f"x\n{other}"):
        assert judged(unreadable(text), keys(key)) is STAYS
        assert judged(message(text.encode()), keys(key)) is STAYS
    assert judged(message(b'\0\0\0\0\7{"id":"' + other.encode() + b'"}'), keys(key)) is UNDECIDED
    assert judged(row({"id": key}), keys(key)) is GOES


def test_a_message_of_visible_characters_may_be_a_length_and_the_key() -> None:
    assert judged(message(f"H{UUID}".encode()), keys(UUID)) is UNDECIDED
    assert judged(message(f"H{UUID}\x06Ada".encode()), keys(UUID)) is GOES
    assert judged(unreadable(f"H{UUID}"), keys(UUID)) is STAYS


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ({"val": {"_hoodie_record_key": {"minValue": "1"}}}, True),
        ({"_hoodie_record_key": {"minValue": "1"}}, True),
        ({"val": None}, False),
        ({"val": {}}, False),
        (None, False),
    ],
)
def test_a_commit_has_statistics_only_where_they_are_of_a_column(told: object, found: bool) -> None:
    commit = {"partitionToWriteStats": {"": [{"fileId": "f1"}, {"recordsStats": told}]}}
    assert has_statistics(json.dumps(commit)) is found
    assert has_statistics("recordsStats, but no JSON")
