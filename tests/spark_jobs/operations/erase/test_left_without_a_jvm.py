"""What is said of files that still hold a key: nobody is told to remove one that the table needs."""

import pytest

from hudi_jobs.operations.erase.remaining import left_said

BASE = "3f0e1c9a-8f4d-4f5e-9d58-0b8e0f6f2c11-0_0-21-35_20260310120000000.parquet"
LOG = ".3f0e1c9a-8f4d-4f5e-9d58-0b8e0f6f2c11-0_20260310120000000.log.1_0-1-0"


def said(*names: str, by_predicate: bool = False) -> str:
    paths = [f"s3a://lake/table/{name}" for name in names]
    return left_said({path: path for path in paths}, by_predicate=by_predicate)


@pytest.mark.parametrize("name", [BASE, f"day=1/{BASE}", LOG, f"day=1/{LOG}", "day=1/.hoodie_partition_metadata"])
def test_of_a_file_of_the_table_nobody_is_told_to_remove_it(name: str) -> None:
    sentences = said(name)
    assert "1 file" in sentences
    assert f"Leave the table's own files as they are: s3a://lake/table/{name}. A dry run" in sentences
    assert "says which savepoints keep them" in sentences
    assert "remove them" not in sentences


@pytest.mark.parametrize("name", [".hoodie/timeline/1.commit", f".hoodie/metadata/{LOG}", ".hudi-operator/x.json"])
def test_of_a_file_of_hudi_and_of_the_operator_neither(name: str) -> None:
    sentences = said(name)
    assert f"Do not remove files in .hoodie or .hudi-operator by hand: s3a://lake/table/{name}." in sentences
    assert "remove them" not in sentences


def test_only_of_strange_files_it_is_said_to_remove_them() -> None:
    sentences = said("export.csv", BASE, ".hoodie/a", "b.parquet")
    assert "4 files" in sentences
    assert "remove them: s3a://lake/table/b.parquet, s3a://lake/table/export.csv. Then" in sentences


def test_after_a_predicate_the_keys_are_to_be_listed_because_it_selects_none_of_them_any_more() -> None:
    assert said("export.csv").endswith("Then erase the same keys again.")
    assert "Then erase the same keys again, listed as keys: the predicate" in said("export.csv", by_predicate=True)


def test_a_path_is_shown_as_it_may_be_and_judged_as_it_is() -> None:
    paths = {f"s3a://lake/table/id=customer-00007/{name}": "s3a://lake/table/..." for name in (BASE, f"x{BASE}")}
    sentences = left_said(paths, by_predicate=False)
    assert "1 file" in sentences
    assert "own files as they are: s3a://lake/table/.... A dry run" in sentences
    assert "customer-00007" not in sentences
