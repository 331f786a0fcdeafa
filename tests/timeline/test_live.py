"""Tables made just now by real Hudi, data and all, against Hudi's own classes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.spark_jobs.trials import IN_FULL

from hudi_operator.storage import open_filesystem
from hudi_operator.timeline import TimelineReader
from hudi_operator.timeline.archive import read_archive
from hudi_operator.timeline.output import timeline_document

GENERATOR = Path(__file__).parents[1] / "fixtures" / "timeline" / "generator" / "make_fixtures.py"
SETTINGS = ("minCommits", "maxCommits", "retainCommits", "deltaCommits")
SCENARIOS = ("mor-compaction", "writes-in-progress", "cow-clustering", "cow-archived")


def load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_fixtures", GENERATOR)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_fixtures"] = module
    spec.loader.exec_module(module)
    return module


@IN_FULL  # otherwise `test_oracle.py` has such tables, packed beside the generator
@pytest.mark.spark
@pytest.mark.slow
def test_the_reader_agrees_with_hudi_on_tables_that_were_just_made(tmp_path: Path, would_do: Any) -> None:
    generator = load_generator()
    generator.make_tables(tmp_path, [generator.RELEASES["1.2.0"]], SCENARIOS)
    verdicts = generator.judge(tmp_path)
    assert len(verdicts) == len(SCENARIOS) + 1, "one of the tables has a metadata table"
    for base, verdict in verdicts.items():
        filesystem, path = open_filesystem(str(base))
        timeline = TimelineReader(filesystem).read(path)
        archive = read_archive(filesystem, path, timeline.properties)
        document = timeline_document(path.path, timeline, archived=archive.instants, archive_problems=archive.problems)
        assert document["problems"] == []
        for one in verdict["judge"].pop("services", ()):
            assert one == would_do(path, {key: one[key] for key in SETTINGS})
        assert {key: document[key] for key in verdict["judge"]} == verdict["judge"]
        assert document["instants"] == verdict["writer"]["instants"]
