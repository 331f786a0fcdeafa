"""Durations and quantities as users write them."""

from datetime import timedelta
from decimal import Decimal

import pytest

from hudi_operator.api.resources import InvalidObject, parse_table
from hudi_operator.api.values.base import parse_duration, parse_quantity, quantity_bytes

DURATIONS = {
    "30s": timedelta(seconds=30),
    "1h30m": timedelta(minutes=90),
    "1.5h": timedelta(minutes=90),
    "250ms": timedelta(milliseconds=250),
    "0s": timedelta(0),
    "2562047h": timedelta(hours=2562047),
}
NO_DURATIONS = ["", "5", "m", "5 m", "1d", "-5m", "5m\n", "5M", "\u0665m", "2562048h", "9" * 31 + "h"]

QUANTITIES = {
    "0": Decimal(0),
    "120Mi": Decimal(120 * 2**20),
    "1.5Gi": Decimal(3 * 2**29),
    "500m": Decimal("0.5"),
    "5k": Decimal(5000),
}
NO_QUANTITIES = ["", "Gi", "5K", "5GB", "5 Gi", "-1", "1e3", "1Gi\n", "\u0665Gi", ".5", "1.", "9" * 33, "1" * 5_000]
TOO_LARGE = ["9223372036854775807", "9000000Pi", "9" * 30 + "Gi"]


@pytest.mark.parametrize(("text", "value"), DURATIONS.items())
def test_a_duration_is_read(text: str, value: timedelta) -> None:
    assert parse_duration(text) == value


@pytest.mark.parametrize("text", NO_DURATIONS)
def test_invalid_duration_is_refused_with_its_own_words(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


@pytest.mark.parametrize(("text", "value"), QUANTITIES.items())
def test_a_quantity_is_read(text: str, value: Decimal) -> None:
    assert parse_quantity(text) == value


@pytest.mark.parametrize("text", NO_QUANTITIES)
def test_invalid_quantity_is_refused_with_its_own_words(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        parse_quantity(text)


def test_bytes_are_rounded_down() -> None:
    assert quantity_bytes("1500m") == 1


@pytest.mark.parametrize("text", TOO_LARGE)
def test_a_quantity_that_no_number_of_hudi_holds_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a quantity must be less than"):
        parse_quantity(text)


def test_a_spec_with_a_quantity_of_5000_digits_is_invalid_and_ends_nothing() -> None:
    for value in ("9" * 5_000, 10**5_000):
        spec = {
            "basePath": "s3a://lake/t",
            "type": "CopyOnWrite",
            "recordKey": ["id"],
            "fileSizing": {"maxFileSize": value},
        }
        found = parse_table({"metadata": {"name": "t", "namespace": "team", "uid": "u"}, "spec": spec})
        assert isinstance(found, InvalidObject)
        assert len(found.message) < 1_000
