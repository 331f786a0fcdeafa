"""What a failed sync tells: a sentence without secrets."""

from hudi_jobs.catalogs.definition import SyncFailed
from hudi_jobs.contract import SyncTrouble


def test_credentials_in_the_location_of_a_foreign_entry_are_not_shown() -> None:
    failure = SyncFailed(SyncTrouble.TAKEN, "The entry lake.flights points to s3a://AKIAKEY:hunter2@bucket/flights.")

    assert failure.message == "The entry lake.flights points to s3a://[redacted]@bucket/flights."
    assert str(failure) == failure.message
