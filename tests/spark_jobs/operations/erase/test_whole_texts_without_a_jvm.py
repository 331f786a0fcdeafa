"""The search for keys in texts: as a whole and not as a part of another text, and of many keys as fast as of one."""

import random
import re
from time import process_time

import pytest
from tests.spark_jobs.operations.erase.wholes import KEY, KEYS, LONGER, WHOLE

from hudi_jobs.operations.erase.keys import Keys
from hudi_jobs.operations.erase.scan import WholeTexts, before_the_name
from hudi_jobs.operations.erase.spellings import for_scanner


def keys(*texts: str) -> Keys:
    values = frozenset((text,) for text in texts)
    return Keys(fields=("id",), values=values, records=frozenset(texts), digest="")


@pytest.mark.parametrize("line", WHOLE)
def test_a_key_that_stands_as_a_whole_in_a_line_is_found(line: str) -> None:
    assert WholeTexts(keys(*KEYS)).are_in(line)


@pytest.mark.parametrize("line", LONGER)
def test_a_key_that_is_a_part_of_a_longer_text_is_not_found(line: str) -> None:
    assert not WholeTexts(keys(*KEYS)).are_in(line)


def test_the_ending_of_a_file_makes_a_key_longer_only_where_no_file_may_be_named() -> None:
    texts = WholeTexts(keys(KEY))
    for line in (f"/landing/{KEY}.csv", f'["/landing/{KEY}.json.gz"]'):
        assert (texts.are_in(line), texts.are_in(line, names_files=True)) == (False, True)
    assert not texts.are_in(f"/landing/{KEY}-b.csv", names_files=True)


def test_a_short_key_is_left_out_of_a_message_and_not_looked_for_in_a_record() -> None:
    asked = keys("short", KEY)
    assert not WholeTexts(asked).are_in("a short text")
    assert WholeTexts(asked, also_short=True).masked(f"a short {KEY} of shorter") == "a *** *** of shorter"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (f"/lake/{KEY}/table/day=1/f1.parquet", None),
        (f"/lake/{KEY}/table/export-of-{KEY}", None),
        (f"/lake/{KEY}/table/day=1/{KEY}.txt", f"/lake/{KEY}/table/day=1/..."),
        (f"/lake/{KEY}/table/id={KEY}/{KEY}.txt", f"/lake/{KEY}/table/..."),
        (f"/lake/{KEY}/table/{KEY}.csv.gz", f"/lake/{KEY}/table/..."),
    ],
)
def test_a_name_that_holds_a_key_is_found_and_not_shown(path: str, shown: str | None) -> None:
    assert before_the_name(path, f"/lake/{KEY}/table", WholeTexts(keys(KEY))) == shown


def test_of_keys_that_begin_with_one_another_each_is_found_that_is_there() -> None:
    chance, found = random.Random(7), 0
    for _ in range(200):
        asked = sorted({"".join(chance.choices("ab ", k=chance.randint(8, 12))) for _ in range(40)})
        line = "".join(chance.choices(("a", "b", " ", *asked), k=16))
        expected = re.search(f"(?<![ab])({'|'.join(asked)})(?![ab])", line) is not None
        assert WholeTexts(keys(*asked)).are_in(line) is expected
        found += expected
    assert 20 < found < 190


def test_keys_that_begin_alike_are_looked_for_as_fast_as_others() -> None:
    texts = WholeTexts(keys("https://exam", *(f"https://example.com/customers/{number}" for number in range(20_000))))
    line = " ".join(f"https://example.com/customers/x{number}" for number in range(4_000))
    begun = process_time()
    assert not texts.are_in(line)
    assert process_time() - begun < 1.5
    assert texts.are_in(f"{line} https://example.com/customers/19999")


def test_the_scanner_is_told_the_script_of_every_character() -> None:
    written = for_scanner([b"customer-00007"])
    count = int.from_bytes(written[:4], "big")
    assert written[4:8] == bytes(4), "the first range begins with the first character"
    assert written[4 + 8 * count :][:8] == (1).to_bytes(4, "big") + (14).to_bytes(4, "big")
