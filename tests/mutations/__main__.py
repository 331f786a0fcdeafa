"""Runs the pure tests on each mutation in `mutations.json`: `python -m tests.mutations [--draw] [REPORT]`.

All tests are collected once, and one pass records which tests reach which statement. Then each mutation has a process
of its own, which runs the tests that reach it, the cheapest first, until the first fails. The exit code is 1 if a
mutation is missed or gone that was found when it was recorded. `--draw` records new mutations, the same for equal code.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import random
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.mutations.changes import Mutation, draw, find, mutate, take_on, watch

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("mutations.json")
SEED = 47
AREAS = {
    ROOT / "operator/hudi_operator/planning": 25,
    ROOT / "operator/hudi_operator/timeline": 15,
    ROOT / "spark_jobs/hudi_jobs/lease": 5,
    ROOT / "spark_jobs/hudi_jobs/ingestion": 15,
}
"""Where mutations are drawn, and how many."""
CANDIDATES = 5
"""How many times as many are drawn first, because the pure tests do not reach every statement."""
SOURCES = (ROOT / "operator", ROOT / "spark_jobs")
TESTS = ("tests/planning", "tests/timeline", "tests/spark_jobs", "tests/model/test_model.py")
PURE = "not spark and not s3 and not streams and not chart and not cluster and not e2e"
SECONDS = 120
"""Processor seconds for the tests of one mutation; a mutation that takes more has made something endless."""

Json = dict[str, Any]


class Runner:
    """A plugin of pytest that runs the collected tests on each mutation."""

    def __init__(self, report: Path, *, draws: bool) -> None:
        self.report = report
        self.draws = draws
        self.failed: list[str] = []
        self.lost: list[Json] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that fails."""
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run every mutation, and write the results."""
        session.config.pluginmanager.unregister(name="terminalreporter")
        recorded = [] if self.draws else json.loads(LIST.read_text())
        was_found = {Mutation(*one[:3]): one[3] for one in recorded}
        areas = _candidates() if self.draws else {ROOT: list(was_found)}
        candidates = [one for area in areas.values() for one in area]
        reached, seconds = self._record(session, candidates)
        chosen = candidates
        if self.draws:
            reachable = {folder: [one for one in area if reached.get(one)] for folder, area in areas.items()}
            chosen = [one for folder, area in reachable.items() for one in area[: AREAS[folder]]]
        results = []
        for mutation in chosen:
            tests = sorted(reached.get(mutation, ()), key=seconds.__getitem__)
            results.append(self._try(session, mutation, tests))
            self.report.write_text(json.dumps(results, indent=1) + "\n")
            say(f"{len(results):3} {results[-1]['end']:8} {results[-1]['seconds']:6.1f} s  {mutation.function}")
            if results[-1]["end"] != "found" and was_found.get(mutation):
                self.lost.append(results[-1])
        if self.draws:
            rows = [[*one.parts, result["end"] == "found"] for one, result in zip(chosen, results, strict=True)]
            LIST.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
        for end in ("found", "missed", "gone"):
            say(f"{sum(one['end'] == end for one in results)} {end}")
        say(f"missed or gone, and found when they were recorded: {json.dumps(self.lost, indent=1)}")
        return True

    def _record(
        self, session: pytest.Session, mutations: Sequence[Mutation]
    ) -> tuple[Mapping[Mutation, list[int]], Sequence[float]]:
        """Run all tests without a change; return which reach each mutation, and the processor seconds of each.

        A test that fails already finds nothing.
        """

        def run() -> Json:
            hits: set[int] = set()
            builtins.__mutation__ = hits.add  # type: ignore[attr-defined]
            trees: dict[Path, ast.Module] = {}
            for number, mutation in enumerate(mutations):
                for path in find(mutation, SOURCES):
                    watch(trees.setdefault(path, ast.parse(path.read_text())), mutation, f"__mutation__({number})")
            for path, tree in trees.items():
                take_on(path, tree)
            reached: dict[int, list[int]] = defaultdict(list)
            seconds = []
            for index in range(len(session.items)):
                hits.clear()
                began, failures = time.process_time(), len(self.failed)
                _run_test(session, index)
                seconds.append(time.process_time() - began)
                for number in hits if len(self.failed) == failures else ():
                    reached[number].append(index)
            return {"reached": list(reached.items()), "seconds": seconds, "failed": self.failed}

        told, used = in_process(run, seconds=0)
        say(f"{len(session.items)} tests took {used:.0f} s; failed without any change: {told['failed']}")
        return {mutations[number]: tests for number, tests in told["reached"]}, told["seconds"]

    def _try(self, session: pytest.Session, mutation: Mutation, tests: Sequence[int]) -> Json:
        def run() -> Json:
            taken = 0
            for path in find(mutation, SOURCES):
                tree = ast.parse(path.read_text())
                mutate(tree, mutation)
                taken += take_on(path, tree)
            for index in tests if taken else ():
                _run_test(session, index)
                if self.failed:
                    break
            return {"end": "found" if self.failed else "missed" if taken else "gone", "by": self.failed[:1]}

        told, used = in_process(run, seconds=SECONDS)
        result = told or {"end": "found", "by": ["it did not end"]}
        return vars(mutation) | result | {"reached_by": len(tests), "seconds": round(used, 1)}


def _candidates() -> dict[Path, list[Mutation]]:
    dice = random.Random(SEED)
    return {folder: draw([folder], dice)[: CANDIDATES * wanted] for folder, wanted in AREAS.items()}


def _run_test(session: pytest.Session, index: int) -> None:
    session.config.hook.pytest_runtest_protocol(item=session.items[index], nextitem=None)


def in_process(run: Callable[[], Json], *, seconds: int) -> tuple[Json, float]:
    """Call a function in a process of its own; return its result, empty if it was killed, and its processor seconds."""
    with tempfile.TemporaryFile("w+") as file:
        process = os.fork()
        if process == 0:
            if seconds:
                resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
            json.dump(run(), file)
            file.flush()
            os._exit(0)
        _, _, usage = os.wait4(process, 0)
        file.seek(0)
        return json.loads(file.read() or "{}"), usage.ru_utime + usage.ru_stime


def say(text: str) -> None:
    """Print a line that pytest does not capture."""
    print(text, file=sys.__stderr__, flush=True)


def main() -> int:
    """Run the mutations and return the exit code."""
    places = [Path(one) for one in sys.argv[1:] if not one.startswith("-")]
    report = places[0] if places else ROOT / ".dev" / "mutations.json"
    report.parent.mkdir(exist_ok=True)
    runner = Runner(report, draws="--draw" in sys.argv)
    options = ["-q", "-p", "no:cacheprovider", "--no-summary", "--hypothesis-seed", str(SEED), "-m", PURE]
    with tempfile.TemporaryDirectory() as folder:
        # Examples that fail in changed code must not be tried first in later runs of the tests.
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = folder
        code = pytest.main([*options, *TESTS], plugins=[runner])
    return 1 if code or runner.lost else 0


if __name__ == "__main__":
    sys.exit(main())
