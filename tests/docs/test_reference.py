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

ENTRIES = {
    "a metric": "- `hudi_operator_jobs_total` (counter; labels `service`, `outcome`): Jobs that have ended or",
    "a setting": "- `HUDI_OPERATOR_LOG_LEVEL` (default `INFO`): Log level: DEBUG, INFO, WARNING or ERROR.\n",
    "a setting without a default": "- `HUDI_OPERATOR_SPARK_IMAGE` (required): Image of the Spark jobs.\n",
    "a label": "- `hudi-operator.io/role`: On pods: `driver` or `executor`.\n",
    "an annotation": "- `hudi-operator.io/requested-at`: On a HudiTable:",
    "the finalizer": "- `hudi-operator.io/claim`: Holds a deleted table until",
    "a key of commits": "- `hudi-operator.run`: Name of the Job that made the commit",
    "a condition": "- `Stalled`: A person must change something",
    "a reason": "- `PathNotAllowed` (does not heal; retried: `Intervention`): A path lies outside the prefixes",
    "a reason that is a constant": "- `JobRefused` (heals; retried: `Infrastructure`): The API server refuses",
    "what to do about a reason": " *What to do:* ",
    "an Event": "- `DataDeleted`: The data was removed",
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


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_the_page_holds(entry: str) -> None:
    assert entry in reference.page()


def test_every_setting_is_on_the_page() -> None:
    shown = [line.split("`")[1] for line in reference.page().splitlines() if line.startswith("- `HUDI_OPERATOR_")]
    names = [name for name in definitions(Settings) if name != "model_config"]
    assert shown == [f"HUDI_OPERATOR_{name.upper()}" for name in names]


def test_a_sentence_is_what_stands_below_a_definition(module: ModuleType) -> None:
    assert sentence(module, "FIRST") == "The first one."


@pytest.mark.parametrize("name", ["SECOND", "THIRD"])
def test_a_definition_without_a_sentence_is_an_error_that_names_it(name: str, module: ModuleType) -> None:
    with pytest.raises(NoSentence, match=f"sample_words.{name}"):
        sentence(module, name)
