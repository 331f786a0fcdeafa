"""Which tests of operations the stage `faults` runs: those that kill a driver, and their sweep."""

import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With KILLS=only leave the tests that start a driver as a program of its own, which they do to kill it."""
    if os.environ.get("KILLS") != "only":
        return
    others = [one for one in items if HERE in one.path.parents and "program" not in getattr(one, "fixturenames", ())]
    config.hook.pytest_deselected(items=others)
    items[:] = [one for one in items if one not in others]
