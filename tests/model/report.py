"""Print what the checker explores and how long it takes to find each defect: `python -m tests.model.report`.

Names of scenarios as arguments choose those, and leave the defects out.
"""

from __future__ import annotations

import sys

from tests.model import scenarios
from tests.model.budget import DEVIATIONS, STATES
from tests.model.defects import DEFECTS
from tests.model.defects_of_operations import OF_OPERATIONS
from tests.model.search import search


def main(chosen: list[str]) -> None:
    if not chosen:
        _find_defects()
    say("\n| Scenario | States | Histories | Deviations | Longest | Processor time | Found |")
    say("|---|---:|---:|---:|---:|---:|---|")
    for scenario in (one for one in scenarios.EVERY if one.name in chosen or not chosen):
        seen = search(scenario, deviations=DEVIATIONS, budget=STATES)
        depth = f"{seen.depth} ({'all' if seen.is_complete else 'some'})"
        found_wrong = seen.sentence() if seen.broken else "nothing"
        say(
            f"| {scenario.name} | {seen.states:,} | {seen.histories:,} | {depth} | {seen.steps} steps | "
            f"{seen.seconds:.1f} s | {found_wrong} |"
        )


def _find_defects() -> None:
    say("| Defect | Found in | States | Processor time | Shortest history |\n|---|---|---:|---:|---|")
    for defect in (*DEFECTS, *OF_OPERATIONS):
        found = defect.find()
        told = "; ".join(f"step {step}: {name} {index}" for step, (name, index) in found.history) or "by itself"
        what = told if found.broken else "NOT FOUND"
        say(f"| {defect.name} | {found.scenario} | {found.states:,} | {found.seconds:.1f} s | {what} |")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
