"""In which zone a table's instants are, by its files alone; and how names compare."""

from datetime import UTC, datetime, timedelta

import pytest

from hudi_jobs.contract.instants import InstantFile, newest, wall_time
from hudi_jobs.contract.table.zone import infer_offset, stamped_offset

NOW = datetime(2026, 11, 23, 2, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def stamp(offset: timedelta) -> str:
    moment = NOW - timedelta(days=3)
    wall = (moment + offset).strftime("%a %b %d %H:%M:%S XYZ %Y")
    return f"#Properties saved on {moment:%Y-%m-%dT%H:%M:%S}.575899861Z\n#{wall}\nhoodie.table.name=t\n"


def files(offset: timedelta, *, every: timedelta = timedelta(minutes=7), count: int = 6) -> list[InstantFile]:
    """Return files of commits that each took three seconds, and were written a second later."""
    found = []
    for number in range(count):
        begun = NOW - number * every
        requested, completed = begun + offset, begun + offset + timedelta(seconds=3)
        name = f"{requested:%Y%m%d%H%M%S}123"
        found.append(InstantFile(f"{name}.commit.requested", _ms(begun + timedelta(seconds=1))))
        found.append(InstantFile(f"{name}.inflight", _ms(begun + timedelta(seconds=2))))
        found.append(InstantFile(f"{name}_{completed:%Y%m%d%H%M%S}123.commit", _ms(begun + timedelta(seconds=4))))
    return found


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


@pytest.mark.parametrize("hours", [0, 9, -5, 5.75, 14, -12, 12.75])
def test_files_that_agree_show_the_zone(hours: float) -> None:
    offset = timedelta(hours=hours)
    assert infer_offset("hoodie.table.name=t\n", files(offset)) == offset
    assert infer_offset(stamp(offset), files(offset, every=timedelta(seconds=5), count=1)) == offset
    assert stamped_offset(stamp(offset)) == offset


@pytest.mark.parametrize("late", [timedelta(minutes=4), 9 * HOUR, 9 * HOUR + timedelta(minutes=1), timedelta(days=2)])
@pytest.mark.parametrize("properties", ["", stamp(9 * HOUR)])
def test_a_copy_does_not_show_the_zone(late: timedelta, properties: str) -> None:
    copied = [InstantFile(file.name, _ms(NOW + late) + index) for index, file in enumerate(files(9 * HOUR))]
    assert infer_offset(properties, copied) is None


def test_a_copy_of_instants_that_lie_close_together_shows_no_zone() -> None:
    close = files(9 * HOUR, every=timedelta(seconds=5))
    copied = [InstantFile(file.name, _ms(NOW + 9 * HOUR)) for file in close]
    assert infer_offset("", copied) is None
    assert infer_offset(stamp(9 * HOUR), copied) is None


def test_files_of_two_zones_show_neither() -> None:
    mixed = [*files(9 * HOUR, count=2), *files(0 * HOUR, count=2)]
    assert infer_offset(stamp(9 * HOUR), mixed) is None


def test_one_late_file_among_many_does_not_hide_the_zone() -> None:
    late, *others = files(9 * HOUR)
    assert infer_offset("", [InstantFile(late.name, late.written_ms + 240_000), *others]) == 9 * HOUR


@pytest.mark.parametrize(
    "properties",
    ["", "\n", "#\n#\n", "#Updated at 2026-99-99T00:00:00Z\n#Mon Nov 23 02:56:25 UTC 2026\n", "#a\n" * 9, "\0" * 99],
)
def test_properties_without_two_times_show_nothing(properties: str) -> None:
    assert stamped_offset(properties) is None


def test_a_timeline_without_files_shows_nothing() -> None:
    assert infer_offset(stamp(HOUR), []) is None
    assert newest([]) is None


def test_the_newest_time_is_the_greatest_text_requested_or_completed() -> None:
    names = ["20261123000000000_20261123000500000.commit", "20261123000400000.commit.requested", "hoodie.properties"]
    assert newest([InstantFile(name, 0) for name in names]) == "20261123000500000"
    assert newest([InstantFile("20261123000000.commit", 0)]) == "20261123000000"


@pytest.mark.parametrize(
    ("name", "time"),
    [
        ("20261123020000", NOW),
        ("20261123020000001", NOW + timedelta(milliseconds=1)),
        ("20261123020000001002", NOW + timedelta(milliseconds=1)),
        ("99999999999999999", None),
        ("00000000000000000", None),
        ("1", None),
        ("", None),
    ],
)
def test_a_name_is_a_time_or_is_not(name: str, time: datetime | None) -> None:
    assert wall_time(name) == time
