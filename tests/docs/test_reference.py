"""The reference page, which is made from the code."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from hudi_operator.control.settings import Settings
from toolkit.generated import reference
from toolkit.generated.sentences import NoSentence, definitions, sentence

ROOT = Path(__file__).parents[2]

ROWS = {
    "a metric": "| `hudi_operator_jobs_total` | counter | `service`, `outcome` | Jobs that have ended or were refused",
    "a setting": "| `HUDI_OPERATOR_LOG_LEVEL` | `INFO` | Log level: DEBUG, INFO, WARNING or ERROR. |",
    "a setting without a default": "| `HUDI_OPERATOR_SPARK_IMAGE` | required | Image of the Spark jobs. |",
    "a label": "| `hudi-operator.io/role` | On pods: `driver` or `executor`. |",
    "an annotation": "| `hudi-operator.io/requested-at` | On a HudiTable:",
    "the finalizer": "| `hudi-operator.io/claim` | Holds a deleted table until",
    "a key of commits": "| `hudi-operator.run` | Name of the Job that made the commit",
    "a condition": "| `Stalled` | A person must change something",
    "a reason": "| `PathNotAllowed` | A path lies outside the prefixes that the class allows, is itself such a prefix",
    "a reason that is a constant": "| `JobRefused` | The API server refuses",
    "an Event": "| `DataDeleted` | The data was removed",
}


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module with one definition that has a sentence and one that has none."""
    (tmp_path / "sample_words.py").write_text('FIRST = "First"\n"""The first\n\none."""\n\nSECOND = "Second"\n')
    monkeypatch.syspath_prepend(tmp_path)
    import sample_words  # type: ignore[import-not-found]  # noqa: PLC0415 - written just now

    del sys.modules["sample_words"]
    assert isinstance(sample_words, ModuleType)
    return sample_words


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_the_page_holds(row: str) -> None:
    assert row in reference.page()


def test_every_setting_is_on_the_page() -> None:
    shown = [line.split("`")[1] for line in reference.page().splitlines() if line.startswith("| `HUDI_OPERATOR_")]
    names = [name for name in definitions(Settings) if name != "model_config"]
    assert shown == [f"HUDI_OPERATOR_{name.upper()}" for name in names]


def test_a_sentence_is_what_stands_below_a_definition(module: ModuleType) -> None:
    assert sentence(module, "FIRST") == "The first one."


@pytest.mark.parametrize("name", ["SECOND", "THIRD"])
def test_a_definition_without_a_sentence_is_an_error_that_names_it(name: str, module: ModuleType) -> None:
    with pytest.raises(NoSentence, match=f"sample_words.{name}"):
        sentence(module, name)
