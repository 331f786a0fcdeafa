"""What the operator shows of a checkpoint: what its driver says for people, and nothing else of it."""

import pytest

from hudi_jobs.contract import checkpoint_display


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (None, None),
        ('{"version": 3, "kind": "files", "display": "2026 a.csv", "state": {"display": "no"}}', "2026 a.csv"),
        ('{"version": 9, "kind": "offsets", "display": "topic 7"}', "topic 7"),
        ('{"version": 2, "display": null}', None),
        ('{"version": 2, "display": {"a": 1}}', None),
        ('{"version": 1, "watermark": {"time": 0, "path": "a"}}', None),
        ("{" * 600, None),
        ("[]", None),
        ("[" * 100_000, None),
        ('{"display": "' + "x" * 10_000_000, None),
        ('{"display": "' + "x" * 10_000_000 + '"}', None),
    ],
)
def test_a_checkpoint_shows_what_its_driver_says_for_people(text: str | None, shown: str | None) -> None:
    assert checkpoint_display(text) == shown


def test_display_of_a_checkpoint_is_cut_to_the_limit_of_a_status() -> None:
    assert len(checkpoint_display('{"display": "' + "x" * 4000 + '"}') or "") == 500
