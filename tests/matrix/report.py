"""Prints the table of docs/reference/compatibility.md from recorded runs.

Usage: `python -m tests.matrix.report RESULTS... [--write]`.

`MATRIX=pairs MATRIX_RESULTS=RESULTS` has a run of the matrix record what came of each case. Of several records of a
case the last counts.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.matrix.cases import STYLES, VERSIONS, MatrixCase, every_case

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "compatibility.md"
BEGIN, END = "<!-- the matrix begins -->\n", "<!-- the matrix ends -->\n"

LONGEST_CELL = 80
LONGEST_TEXT = 330

Outcomes = Mapping[MatrixCase, str]


def read(files: list[Path]) -> Outcomes:
    """Return the outcome of each case that was run, in the order of the matrix."""
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    found = {line["case"]: line["outcome"] for line in lines}
    return {case: found[str(case)] for case in every_case() if str(case) in found}


def summary(outcomes: Outcomes) -> Iterator[str]:
    """Yield a table of releases and styles, with how many cases came out how."""
    yield f"| Written by | {' | '.join(STYLES)} |"
    yield f"|---{'|---' * len(STYLES)}|"
    for version in VERSIONS:
        cells = (_cell([told for case, told in outcomes.items() if (case.version, case.style) == (version, style)])
                 for style in STYLES)  # fmt: skip
        yield f"| {version} | {' | '.join(cells)} |"


def _cell(outcomes: list[str]) -> str:
    words = [re.split(r"[:;]", told)[0] for told in outcomes]
    return ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words)) or "-"


def cases(outcomes: Outcomes) -> Iterator[str]:
    """Yield a table of the cases, and below it the outcomes that are too long for a cell."""
    texts = {case: _text(told) for case, told in outcomes.items()}
    notes = list(dict.fromkeys(text for text in texts.values() if len(text) > LONGEST_CELL))
    yield "| Written by | Type | Made as | Zone | Left with | Metadata table | Outcome |"
    yield "|---|---|---|---|---|---|---|"
    for case, text in texts.items():
        metadata = "yes" if case.metadata_table else "no"
        outcome = f"{_start(text)} ({notes.index(text) + 1})" if text in notes else text
        values = (case.version, case.kind, case.style, case.zone, case.state, metadata, outcome.replace("|", "\\|"))
        yield f"| {' | '.join(values)} |"
    if notes:
        yield ""
        yield from (f"{number}. {text}" for number, text in enumerate(notes, 1))


def _start(text: str) -> str:
    """Return how a long outcome begins: `refused` and the reason."""
    return ": ".join(text.split(": ")[:2])[:LONGEST_CELL]


def _text(told: str) -> str:
    text = re.sub(r"file:/+tmp/\S+/", "", " ".join(told.split()))
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT].rpartition(' ')[0]} ..."


def main() -> None:
    """Print the two tables, or put them into the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    arguments = parser.parse_args()
    outcomes = read(arguments.results)
    text = "\n".join([*summary(outcomes), "", *cases(outcomes)]) + "\n"
    if not arguments.write:
        print(text)  # noqa: T201 - that is what it is for
        return
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
