"""Delays between retries."""

from datetime import timedelta

from hudi_operator.api.spec.table_class import RetrySettings
from hudi_operator.api.values.base import parse_duration


def retry_delay(failures: int, settings: RetrySettings) -> timedelta:
    """Return the wait after this many failures in a row: doubling from the initial delay up to the ceiling."""
    initial, ceiling = parse_duration(settings.initial_delay), parse_duration(settings.max_delay)
    growth: int = 2 ** min(max(failures - 1, 0), 30)
    # Divided, not multiplied: a long delay doubled thirty times is longer than any timedelta.
    return ceiling if initial >= ceiling / growth else initial * growth
