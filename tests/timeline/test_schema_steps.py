"""The columns of real tables, by the schemas in their commits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hudi_operator.cli.base.store_reads import read_schema_history
from hudi_operator.storage import S3Options


@pytest.mark.parametrize("name", ["0.14.0-mor-compaction", "1.2.0-mor-compaction"])
def test_commits_of_any_layout_show_the_columns_of_the_table(name: str, real_table: Callable[[str], Path]) -> None:
    found = read_schema_history(str(real_table(name)), S3Options())
    assert found.first is not None
    kinds = {one.name: str(one.kind) for one in found.newest}
    assert kinds == {"id": "int", "ts": "bigint", "word": "string", "part": "string"}
    assert found.steps == ()
